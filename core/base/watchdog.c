/*
 * watchdog.c - notices that a thread stays in one activity. The watched thread
 * only counts its turns: two stores an activity, no system call, no lock. The
 * watchdog's thread looks at the count ten times within the limit, and takes
 * the time itself; it sleeps while the count says that nothing is under way.
 */
#include "base/watchdog.h"

#include "base/mem.h"
#include "base/thread.h"
#include "kubelua/log.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    LOOKS = 10,       /* within the limit; a report is late by one at most */
    ANSWER_MS = 100,  /* how long a report waits for kl_watchdog_tell */
    PATIENCE_MS = 400 /* what an activity may take after a signal, unnamed */
};

struct kl_watchdog {
    kl__forks made_in;
    kl__clock *clock;
    kl_watchdog_options options;
    kl__thread thread;

    /* Stored by the watched thread. The turn is odd during an activity. */
    _Atomic(const kl_activity *) activity;
    atomic_ullong turn;

    /*
     * Stored by the watchdog's thread, with the mutex locked, before it loads
     * the turn; the watched thread loads them after it has stored the turn. All
     * of these are sequentially consistent, so at least one of the two threads
     * sees what the other stored: no wake-up is lost, and an activity that the
     * watchdog reads cannot end meanwhile.
     */
    atomic_bool is_asleep;  /* enter wakes it */
    atomic_bool is_holding; /* leave waits for the mutex */

    atomic_int signal; /* of kl_watchdog_hurry; relaxed: a number by itself */

    kl__mutex mutex; /* rank WATCHDOG; guards the rest */
    kl__cond cond;   /* is_stopped, has_where, or the turn has changed */
    bool is_stopped;
    bool has_where;
    char where[1200];
};

/* The turn that the watchdog's thread follows; its own. */
typedef struct sighting {
    unsigned long long turn;
    int64_t since_ms;  /* when it was seen first */
    int64_t due_ms;    /* the duration at which it is reported */
    int64_t answer_ms; /* when a report goes without an answer; 0: not asked */
    bool is_reported;
    bool is_hurried; /* a signal's line was written */
    char name[512];  /* once reported */
} sighting;

static bool is_inside(unsigned long long turn)
{
    return turn % 2 == 1;
}

/* True: the watched thread is in that turn, and stays in it until let_go. */
static bool hold(kl_watchdog *self, unsigned long long turn)
{
    atomic_store(&self->is_holding, true);
    if (atomic_load(&self->turn) == turn) {
        return true;
    }
    atomic_store(&self->is_holding, false);
    return false;
}

static void let_go(kl_watchdog *self)
{
    atomic_store(&self->is_holding, false);
}

static bool read_name(kl_watchdog *self, sighting *seen)
{
    const kl_activity *activity;

    if (!hold(self, seen->turn)) {
        return false;
    }
    activity = atomic_load_explicit(&self->activity, memory_order_relaxed);
    snprintf(seen->name, sizeof(seen->name), "%s%s%s", activity->what,
             activity->subject != NULL ? " for " : "",
             activity->subject != NULL ? activity->subject : "");
    let_go(self);
    return true;
}

/* Writes a line about the turn, with what was told of where it is, or was. The
 * mutex is unlocked meanwhile: the log may be slow. */
static void write_line(kl_watchdog *self, const sighting *seen,
                       const char *claim, int64_t ms)
{
    char where[sizeof(self->where) + 1] = "";

    if (self->has_where) {
        snprintf(where, sizeof(where), "\n%s", self->where);
        self->has_where = false;
    }
    kl__mutex_unlock(&self->mutex);
    kl_log(KL_LOG_WARN, "%s %s %.1f s%s", seen->name, claim, (double)ms / 1000,
           where);
    kl__mutex_lock(&self->mutex);
}

/* Another turn has begun, or none is under way: says so of a reported one. */
static void follow(kl_watchdog *self, sighting *seen, int64_t now_ms,
                   unsigned long long turn)
{
    if (seen->is_reported) {
        write_line(self, seen, "let the loop go on after",
                   now_ms - seen->since_ms);
    }
    self->has_where = false;
    *seen = (sighting){
        .turn = turn, .since_ms = now_ms, .due_ms = self->options.limit_ms};
}

/* True once a report need not wait for an answer any more. */
static bool has_asked(kl_watchdog *self, sighting *seen, int64_t now_ms)
{
    if (self->options.ask == NULL || self->has_where) {
        return true;
    }
    if (seen->answer_ms == 0 && hold(self, seen->turn)) {
        self->options.ask(self->options.context);
        let_go(self);
        seen->answer_ms = now_ms + ANSWER_MS;
    }
    return now_ms >= seen->answer_ms;
}

static void report(kl_watchdog *self, sighting *seen, int64_t now_ms)
{
    if (!has_asked(self, seen, now_ms) || !read_name(self, seen)) {
        return;
    }
    seen->is_reported = true;
    seen->answer_ms = 0;
    while (seen->due_ms <= now_ms - seen->since_ms) {
        seen->due_ms *= 2;
    }
    write_line(self, seen, "has blocked the loop for", now_ms - seen->since_ms);
}

static void report_hurry(kl_watchdog *self, sighting *seen, int number)
{
    if (!read_name(self, seen)) {
        return;
    }
    seen->is_hurried = true;
    kl__mutex_unlock(&self->mutex);
    kl_log(KL_LOG_WARN,
           "%s waits for %s, which blocks the loop; another signal ends the "
           "process at once",
           number == SIGINT ? "SIGINT" : "SIGTERM", seen->name);
    kl__mutex_lock(&self->mutex);
}

/* Looks once. Returns when to look again; -1: not before an activity. */
static int64_t look(kl_watchdog *self, sighting *seen)
{
    int64_t now_ms = kl__clock_now(self->clock);
    int64_t period_ms = self->options.limit_ms / LOOKS + 1;
    int number = atomic_load_explicit(&self->signal, memory_order_relaxed);
    unsigned long long turn = atomic_load(&self->turn);
    int64_t lasted_ms;

    if (turn != seen->turn) {
        follow(self, seen, now_ms, turn);
    }
    if (!is_inside(seen->turn)) {
        return -1;
    }
    lasted_ms = now_ms - seen->since_ms;
    if (lasted_ms >= seen->due_ms || (seen->is_reported && self->has_where)) {
        report(self, seen, now_ms);
    }
    if (number != 0 && !seen->is_hurried && lasted_ms >= PATIENCE_MS) {
        report_hurry(self, seen, number);
    }
    period_ms = number != 0 ? PATIENCE_MS / 4 : period_ms;
    return now_ms + (seen->answer_ms != 0 ? ANSWER_MS / 4 : period_ms);
}

static void *watch(void *arg)
{
    kl_watchdog *self = arg;
    sighting seen = {0};

    kl__mutex_lock(&self->mutex);
    while (!self->is_stopped) {
        int64_t next_ms = look(self, &seen);

        if (self->is_stopped) {
            break; /* while a line was written */
        }
        if (next_ms >= 0) {
            kl__clock_wait(self->clock, &self->cond, &self->mutex, next_ms);
            continue;
        }
        atomic_store(&self->is_asleep, true);
        if (atomic_load(&self->turn) == seen.turn) {
            kl__cond_wait(&self->cond, &self->mutex, -1);
        }
        atomic_store(&self->is_asleep, false);
    }
    kl__mutex_unlock(&self->mutex);
    return NULL;
}

kl_watchdog *kl__watchdog_start(const kl_watchdog_options *options,
                                kl__clock *clock, kl_error *err)
{
    kl_watchdog *self;

    if (options->limit_ms < 1 || options->limit_ms > INT64_MAX / 4) {
        kl_error_set(err, KL_EINVAL, "a watchdog's limit of %lld ms",
                     (long long)options->limit_ms);
        return NULL;
    }
    self = kl__calloc(1, sizeof(*self));
    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a watchdog");
        return NULL;
    }
    self->made_in = kl__process_here();
    self->clock = clock;
    self->options = *options;
    kl__mutex_init(&self->mutex, KL__RANK_WATCHDOG);
    kl__cond_init(&self->cond);
    if (kl__thread_start(&self->thread, "kl-watchdog", watch, self, err) !=
        KL_OK) {
        kl__cond_deinit(&self->cond);
        kl__mutex_deinit(&self->mutex);
        kl__free(self);
        return NULL;
    }
    return self;
}

kl_watchdog *kl_watchdog_start(const kl_watchdog_options *options,
                               kl_error *err)
{
    return kl__watchdog_start(options, kl__clock_real(), err);
}

void kl_watchdog_stop(kl_watchdog *self)
{
    if (self == NULL || kl__check_process(self->made_in, NULL) != KL_OK) {
        return; /* in a child of fork() the thread does not exist */
    }
    kl__mutex_lock(&self->mutex);
    self->is_stopped = true;
    kl__cond_signal(&self->cond);
    kl__mutex_unlock(&self->mutex);
    kl__thread_join(&self->thread);
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
    kl__free(self);
}

static void wake_watchdog(kl_watchdog *self)
{
    if (kl__check_process(self->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&self->mutex);
    kl__cond_signal(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

static void await_mutex(kl_watchdog *self)
{
    if (kl__check_process(self->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&self->mutex);
    kl__mutex_unlock(&self->mutex);
}

void kl_watchdog_enter(kl_watchdog *self, const kl_activity *activity)
{
    unsigned long long turn;

    kl_watchdog_leave(self);
    turn = atomic_load_explicit(&self->turn, memory_order_relaxed);
    atomic_store_explicit(&self->activity, activity, memory_order_relaxed);
    atomic_store(&self->turn, turn + 1);
    if (atomic_load(&self->is_asleep)) {
        wake_watchdog(self);
    }
}

void kl_watchdog_leave(kl_watchdog *self)
{
    unsigned long long turn =
        atomic_load_explicit(&self->turn, memory_order_relaxed);

    if (!is_inside(turn)) {
        return;
    }
    atomic_store(&self->turn, turn + 1);
    if (atomic_load(&self->is_holding)) {
        await_mutex(self);
    }
}

void kl_watchdog_tell(kl_watchdog *self, const char *where)
{
    if (kl__check_process(self->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&self->mutex);
    snprintf(self->where, sizeof(self->where), "%s", where);
    self->has_where = true;
    kl__cond_signal(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

void kl_watchdog_hurry(kl_watchdog *self, int signal)
{
    atomic_store_explicit(&self->signal, signal, memory_order_relaxed);
}
