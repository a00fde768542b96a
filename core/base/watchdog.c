/*
 * watchdog.c - reports that a thread (the host's event loop) stays in one
 * activity for too long. The watched thread only increments a counter, the
 * turn, when an activity begins and when it ends. It takes the lock only if the
 * watchdog's thread sleeps, or reads the activity at this moment. The
 * watchdog's thread looks at the turn ten times within the limit and reads the
 * clock itself; it sleeps when it finds no activity.
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
    LOOKS = 10,       /* looks within the limit: a report is one late at most */
    ANSWER_MS = 100,  /* how long a report waits for kl_watchdog_tell */
    PATIENCE_MS = 400 /* after a signal: a longer activity is logged */
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
    atomic_bool is_asleep;  /* kl_watchdog_enter must wake the thread */
    atomic_bool is_holding; /* kl_watchdog_leave must wait for the mutex */

    atomic_int signal; /* from kl_watchdog_hurry; relaxed: orders nothing */

    kl__mutex mutex; /* rank WATCHDOG; guards the rest */
    kl__cond cond;   /* is_stopped, has_where, or the turn has changed */
    bool is_stopped;
    bool has_where;
    char where[1200];
};

/* What the watchdog's thread knows about the current turn. Only that thread
 * uses it. */
typedef struct sighting {
    unsigned long long turn;
    int64_t since_ms;  /* when the thread first saw this turn */
    int64_t due_ms;    /* the duration at which it is reported */
    int64_t answer_ms; /* end of the wait for kl_watchdog_tell, or 0 */
    bool is_reported;
    bool is_hurried; /* the line about a signal was written */
    char name[512];  /* what the activity is called; set by a report */
} sighting;

static bool is_inside(unsigned long long turn)
{
    return turn % 2 == 1;
}

/* True: the watched thread is in that turn, and kl_watchdog_leave does not
 * return before release_turn and the unlock of the mutex. */
static bool hold_turn(kl_watchdog *self, unsigned long long turn)
{
    atomic_store(&self->is_holding, true);
    if (atomic_load(&self->turn) == turn) {
        return true;
    }
    atomic_store(&self->is_holding, false);
    return false;
}

static void release_turn(kl_watchdog *self)
{
    atomic_store(&self->is_holding, false);
}

static bool read_activity(kl_watchdog *self, unsigned long long turn,
                          char *name, size_t size)
{
    const kl_activity *activity;

    if (!hold_turn(self, turn)) {
        return false;
    }
    activity = atomic_load_explicit(&self->activity, memory_order_relaxed);
    snprintf(name, size, "%s%s%s", activity->what,
             activity->subject != NULL ? " for " : "",
             activity->subject != NULL ? activity->subject : "");
    release_turn(self);
    return true;
}

/* Writes a log line about the turn, with the place in the script that
 * kl_watchdog_tell gave. The mutex is unlocked meanwhile: the log may be
 * slow. */
static void write_line(kl_watchdog *self, const sighting *seen,
                       const char *claim, int64_t ms)
{
    char where[sizeof(self->where) + 2] = "";

    if (self->has_where) {
        snprintf(where, sizeof(where), "; %s", self->where);
        self->has_where = false;
    }
    kl__mutex_unlock(&self->mutex);
    kl_log(KL_LOG_WARN, "%s %s %.1f s%s", seen->name, claim, (double)ms / 1000,
           where);
    kl__mutex_lock(&self->mutex);
}

/* The turn has changed. Logs the end of a turn that was reported, and starts to
 * follow the new one. */
static void follow_turn(kl_watchdog *self, sighting *seen, int64_t now_ms,
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

/* Asks the watched thread where it is. True if the report can be written now:
 * the answer has come, or the time to wait for it is over. */
static bool has_asked(kl_watchdog *self, sighting *seen, int64_t now_ms)
{
    if (self->options.ask == NULL || self->has_where) {
        return true;
    }
    if (seen->answer_ms == 0 && hold_turn(self, seen->turn)) {
        self->options.ask(self->options.context);
        release_turn(self);
        seen->answer_ms = now_ms + ANSWER_MS;
    }
    return now_ms >= seen->answer_ms;
}

static void report_turn(kl_watchdog *self, sighting *seen, int64_t now_ms)
{
    if (!has_asked(self, seen, now_ms) ||
        !read_activity(self, seen->turn, seen->name, sizeof(seen->name))) {
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
    if (!read_activity(self, seen->turn, seen->name, sizeof(seen->name))) {
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

/* Looks once. Returns the time of the next look; -1: look again when an
 * activity begins. */
static int64_t check_turn(kl_watchdog *self, sighting *seen)
{
    int64_t now_ms = kl__clock_now(self->clock);
    int64_t period_ms = self->options.limit_ms / LOOKS + 1;
    int number = atomic_load_explicit(&self->signal, memory_order_relaxed);
    unsigned long long turn = atomic_load(&self->turn);
    int64_t lasted_ms;

    if (turn != seen->turn) {
        follow_turn(self, seen, now_ms, turn);
    }
    if (!is_inside(seen->turn)) {
        return -1;
    }
    lasted_ms = now_ms - seen->since_ms;
    if (lasted_ms >= seen->due_ms || (seen->is_reported && self->has_where)) {
        report_turn(self, seen, now_ms);
    }
    if (number != 0 && !seen->is_hurried && lasted_ms >= PATIENCE_MS) {
        report_hurry(self, seen, number);
    }
    period_ms = number != 0 ? PATIENCE_MS / 4 : period_ms;
    return now_ms + (seen->answer_ms != 0 ? ANSWER_MS / 4 : period_ms);
}

/* The entry of the watchdog's thread. It reads what the watched thread stores,
 * keeps its sighting on its own stack, and writes the log. */
static void *run_watchdog(void *arg)
{
    kl_watchdog *self = arg;
    sighting seen = {0};

    kl__mutex_lock(&self->mutex);
    while (!self->is_stopped) {
        int64_t next_ms = check_turn(self, &seen);

        if (self->is_stopped) {
            break; /* it was stopped while a line was written */
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
    if (kl__thread_start(&self->thread, "kl-watchdog", run_watchdog, self,
                         err) != KL_OK) {
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

static void wait_for_mutex(kl_watchdog *self)
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
        wait_for_mutex(self);
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

void kl_watchdog_current(kl_watchdog *self, char *name, size_t size)
{
    unsigned long long turn;

    name[0] = '\0';
    if (kl__check_process(self->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&self->mutex);
    turn = atomic_load(&self->turn);
    if (is_inside(turn)) {
        (void)read_activity(self, turn, name, size);
    }
    kl__mutex_unlock(&self->mutex);
}
