/*
 * scene.c - see scene.h.
 */
#include "scene.h"

#include "base/thread.h"
#include "base/wakeup.h"
#include "kubelua/memory.h"
#include "oracle.h"
#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDERS_MAX = 3, WORKERS_MAX = 3, HELD_MAX = 3, SETTLE_LOOKS = 4000 };

uint64_t scene_counts[SCENE_COUNT_KINDS];

typedef struct scene {
    kl_queue *queue;
    oracle oracle; /* while is_exact */
    /* while is_exact: makes a call and the oracle's call one step */
    kl__mutex order;
    kl__wakeup wakeup;
    bool is_exact;
    bool is_loop;
    bool is_calm;     /* all runs succeed from now on */
    bool has_ended;   /* drained or shut down while threads add */
    bool moves_clock; /* kl_queue_advance may be called */
    int64_t ahead_ms; /* how far the clock was moved */
    int keys;         /* keys in use */
    int timers;       /* adds in 1000 that set a timer */
    int operations;   /* operations of each adder */
    int written[ORACLE_KEYS];
    int seen[ORACLE_KEYS];
    bool runs[ORACLE_KEYS];
    uint64_t wakes;
    uint64_t misses; /* how often kl_queue_next said false */
} scene;

static const char *const names[ORACLE_KEYS] = {"a", "b", "c", "d",
                                               "e", "f", "g", "h"};

static int key_of(const char *name)
{
    return name[0] - 'a';
}

static int64_t begin_step(scene *self)
{
    if (self->is_exact) {
        kl__mutex_lock(&self->order);
    }
    return schedule_now() + self->ahead_ms;
}

static void end_step(scene *self)
{
    if (self->is_exact) {
        kl__mutex_unlock(&self->order);
    }
}

static void sleep_for(uint64_t bound)
{
    schedule_wait_until(schedule_now() + (int64_t)schedule_random(bound));
}

static kl_lane draw_lane(void)
{
    return schedule_chance(400) ? KL_LANE_REAR : KL_LANE_FRONT;
}

/* ---- threads that add ---- */

typedef enum add_kind { ADD_EVENT, ADD_RELATED, ADD_AFTER } add_kind;

static add_kind draw_kind(const scene *self)
{
    if (schedule_chance(self->timers)) {
        return ADD_AFTER;
    }
    return schedule_chance(300) ? ADD_RELATED : ADD_EVENT;
}

static void add_one(scene *self)
{
    int key = (int)schedule_random((uint64_t)self->keys);
    add_kind kind = draw_kind(self);
    int64_t ms = (int64_t)schedule_random(400);
    kl_lane lane = draw_lane();
    int64_t now;
    kl_code code;

    now = begin_step(self);
    self->written[key]++;
    if (kind == ADD_RELATED) {
        code = kl_queue_add_related(self->queue, names[key], lane, NULL);
    } else if (kind == ADD_AFTER) {
        code = kl_queue_add_after(self->queue, names[key], ms, NULL);
    } else {
        code = kl_queue_add(self->queue, names[key], lane, NULL);
    }
    schedule_note("add %s kind %d lane %d ms %lld: %d", names[key], kind, lane,
                  (long long)ms, code);
    schedule_check(code == KL_OK || (code == KL_ECLOSED && self->has_ended),
                   "closed: an add says %s", kl_code_name(code));
    if (self->is_exact && code == KL_OK && kind == ADD_AFTER) {
        oracle_add_after(&self->oracle, key, ms, now);
    } else if (self->is_exact && code == KL_OK) {
        oracle_add(&self->oracle, key, lane, kind == ADD_RELATED, now);
    }
    end_step(self);
    scene_counts[code == KL_OK ? SCENE_ADDS : SCENE_REFUSED]++;
}

static void forget_one(scene *self)
{
    int key = (int)schedule_random(ORACLE_KEYS);

    (void)begin_step(self);
    kl_queue_forget(self->queue, names[key]);
    if (self->is_exact) {
        oracle_forget(&self->oracle, key);
    }
    end_step(self);
}

static void move_clock(scene *self)
{
    int64_t ms = 1 + (int64_t)schedule_random(500);

    (void)begin_step(self);
    kl_queue_advance(self->queue, ms);
    self->ahead_ms += ms;
    end_step(self);
}

static void compare_status(scene *self)
{
    kl_queue_status is;
    kl_queue_status wanted;
    int64_t due;
    int64_t now = begin_step(self);

    kl_queue_get_status(self->queue, &is);
    due = kl_queue_due_in(self->queue);
    if (self->is_exact) {
        oracle_status(&self->oracle, now, &wanted);
        schedule_check(memcmp(&is, &wanted, sizeof(is)) == 0,
                       "status: %zu (%zu) wait, %zu run, %zu are delayed, %zu "
                       "fail, %lld ms; not %zu (%zu), %zu, %zu, %zu, %lld ms",
                       is.waiting, is.waiting_rear, is.in_progress, is.delayed,
                       is.failing, (long long)is.oldest_wait_ms, wanted.waiting,
                       wanted.waiting_rear, wanted.in_progress, wanted.delayed,
                       wanted.failing, (long long)wanted.oldest_wait_ms);
        schedule_check(due == oracle_due_in(&self->oracle, now),
                       "due: in %lld ms", (long long)due);
    }
    end_step(self);
}

static void *add_many(void *arg)
{
    scene *self = arg;

    for (int i = 0; i < self->operations; i++) {
        int kind = (int)schedule_random(20);

        if (kind < 12) {
            add_one(self);
        } else if (kind < 13) {
            forget_one(self);
        } else if (kind < 15) {
            compare_status(self);
        } else if (kind < 16 && self->moves_clock) {
            move_clock(self);
        } else {
            sleep_for(kind < 18 ? 20 : 600);
        }
    }
    return NULL;
}

/* ---- threads that work ---- */

static void compare_item(const kl_queue_item *is, const kl_queue_item *wanted,
                         int key)
{
    schedule_check(key >= 0 && key_of(is->key) == key,
                   "order: key %s comes, not %s", is->key,
                   key >= 0 ? names[key] : "none");
    schedule_check(is->lane == wanted->lane && is->attempt == wanted->attempt,
                   "item: %s of lane %d, attempt %llu; not %d, %llu", is->key,
                   is->lane, (unsigned long long)is->attempt, wanted->lane,
                   (unsigned long long)wanted->attempt);
    schedule_check(is->waited_ms == wanted->waited_ms &&
                       is->has_timer == wanted->has_timer &&
                       is->timer_ms == wanted->timer_ms,
                   "item: %s waited %lld ms, timer %d %lld; not %lld, %d %lld",
                   is->key, (long long)is->waited_ms, is->has_timer,
                   (long long)is->timer_ms, (long long)wanted->waited_ms,
                   wanted->has_timer, (long long)wanted->timer_ms);
}

/* Takes the next key: its number, or -1. `slept`: the worker has slept since it
 * last found no key. */
static int take_key(scene *self, bool slept)
{
    kl_queue_item item;
    kl_queue_item wanted;
    int64_t now = begin_step(self);
    bool has = kl_queue_next(self->queue, &item);
    int key = has ? key_of(item.key) : -1;

    if (self->is_exact) {
        int expected = oracle_next(&self->oracle, now, &wanted);

        if (has) {
            compare_item(&item, &wanted, expected);
        }
        schedule_check(has || expected < 0, "lost: %s waits, none comes",
                       names[expected < 0 ? 0 : expected]);
    }
    end_step(self);
    if (!has) {
        self->misses++;
        return -1;
    }
    schedule_note("take %s", item.key);
    schedule_check(!self->runs[key], "twice: key %s runs at once", item.key);
    schedule_check(!slept || self->moves_clock || item.waited_ms == 0,
                   "late: key %s waited %lld ms while its worker slept",
                   item.key, (long long)item.waited_ms);
    self->runs[key] = true;
    self->seen[key] = self->written[key];
    scene_counts[SCENE_RUNS]++;
    scene_counts[SCENE_REAR_RUNS] += item.lane == KL_LANE_REAR ? 1 : 0;
    scene_counts[SCENE_RETRIES] += item.attempt > 1 ? 1 : 0;
    scene_counts[SCENE_TIMED] += item.has_timer ? 1 : 0;
    scene_counts[SCENE_SLEPT] += slept ? 1 : 0;
    return key;
}

static void end_key(scene *self, int key)
{
    kl_queue_result result =
        self->is_calm ? KL_RESULT_DONE : (kl_queue_result)schedule_random(4);
    int64_t ms = schedule_chance(500) ? -1 : (int64_t)schedule_random(900);
    int64_t again = -2;
    int64_t now = begin_step(self);
    kl_code code;

    self->runs[key] = false;
    code = kl_queue_done(self->queue, names[key], result, ms, &again);
    schedule_note("done %s %d: %lld", names[key], result, (long long)again);
    schedule_check(code == KL_OK, "twice: key %s was not in progress",
                   names[key]);
    if (self->is_exact) {
        const oracle_done done = {result, ms, again};

        oracle_end_run(&self->oracle, key, &done, now);
    }
    end_step(self);
}

static void *work(void *arg)
{
    scene *self = arg;

    for (;;) {
        int64_t began = schedule_now();
        int64_t timeout =
            schedule_chance(700) ? -1 : (int64_t)schedule_random(100);
        kl_code code = kl_queue_wait(self->queue, timeout);
        int key;

        if (code == KL_ECLOSED) {
            return NULL;
        }
        schedule_check(code == KL_OK || (code == KL_ETIMEOUT && timeout >= 0 &&
                                         schedule_now() - began >= timeout),
                       "wait: it says %s", kl_code_name(code));
        key = take_key(self, schedule_now() > began);
        if (key >= 0) {
            sleep_for(schedule_chance(500) ? 1 : 300);
            end_key(self, key);
        }
    }
}

static void wake_loop(void *context)
{
    scene *self = context;

    self->wakes++;
    kl__wakeup_set(&self->wakeup);
}

/* The loop: takes keys until none waits or it holds as many as it may; ends the
 * run of one of them; sleeps if it holds none. */
static void *loop(void *arg)
{
    scene *self = arg;
    size_t limit = 1 + (size_t)schedule_random(HELD_MAX);
    int held[HELD_MAX];
    size_t count = 0;
    bool slept = false;

    while (count > 0 || !kl_queue_is_finished(self->queue)) {
        int64_t began;
        int key;

        while (count < limit && (key = take_key(self, slept)) >= 0) {
            held[count++] = key;
            slept = false;
        }
        began = schedule_now();
        slept = false;
        if (count > 0) {
            size_t i = (size_t)schedule_random(count);

            sleep_for(200);
            end_key(self, held[i]);
            held[i] = held[--count];
        } else {
            kl__wakeup_wait(&self->wakeup, kl_queue_due_in(self->queue));
            kl__wakeup_clear(&self->wakeup);
            slept = schedule_now() > began;
        }
    }
    return NULL;
}

/* ---- the whole ---- */

static void end_queue(scene *self)
{
    bool is_shut = schedule_chance(500);
    int64_t now;

    self->has_ended = true;
    now = begin_step(self);
    schedule_note("end %d", is_shut);
    if (is_shut) {
        kl_queue_shut_down(self->queue);
    } else {
        kl_queue_drain(self->queue);
    }
    if (self->is_exact) {
        oracle_end_all(&self->oracle, is_shut, now);
    }
    end_step(self);
}

/* Checks that every key runs after its last add, within a time limit that is
 * longer than the longest backoff. */
static void check_settled(scene *self)
{
    kl_queue_status status;
    int looks = 0;

    self->is_calm = true;
    do {
        schedule_check(looks++ < SETTLE_LOOKS, "lost: keys are never run");
        schedule_wait_until(schedule_now() + 100);
        kl_queue_get_status(self->queue, &status);
    } while (status.waiting + status.in_progress + status.delayed > 0);
    for (int i = 0; i < ORACLE_KEYS; i++) {
        schedule_check(self->seen[i] == self->written[i],
                       "lost: the last run of %s saw %d of %d", names[i],
                       self->seen[i], self->written[i]);
    }
    schedule_check(status.failing == 0, "status: %zu fail", status.failing);
}

static void open_scene(scene *self)
{
    kl_queue_options options = {.gather_ms = 0};

    *self = (scene){.is_exact = schedule_chance(600),
                    .is_loop = schedule_chance(400),
                    .moves_clock = schedule_chance(300),
                    .keys = 1 + (int)schedule_random(ORACLE_KEYS),
                    .timers = schedule_chance(300) ? 900 : 250,
                    .operations = 5 + (int)schedule_random(30)};
    if (schedule_chance(400)) {
        options.gather_ms = (int64_t)schedule_random(200);
    }
    if (self->is_loop) {
        options.wake = wake_loop;
        options.context = self;
    }
    kl__mutex_init(&self->order, KL__RANK_LIFECYCLE);
    kl__wakeup_init(&self->wakeup, NULL);
    self->queue = kl_queue_new(&options, NULL);
    oracle_init(&self->oracle, options.gather_ms);
    scene_counts[self->is_exact ? SCENE_EXACT : SCENE_FREE]++;
    scene_counts[SCENE_LOOPS] += self->is_loop ? 1 : 0;
}

static void close_scene(scene *self)
{
    schedule_check(kl_queue_is_finished(self->queue),
                   "closed: it is not finished");
    schedule_check(self->wakes <= self->misses + 2,
                   "wakes: %llu, though it found nothing %llu times",
                   (unsigned long long)self->wakes,
                   (unsigned long long)self->misses);
    scene_counts[SCENE_WAKES] += self->wakes;
    kl_queue_free(self->queue);
    kl__wakeup_deinit(&self->wakeup);
    kl__mutex_deinit(&self->order);
    schedule_check(kl_live_count(KL_LIVE_WORKQUEUE) == 0, "left: a queue");
}

void scene_run(void *arg)
{
    scene self;
    kl__thread adders[ADDERS_MAX];
    kl__thread workers[WORKERS_MAX];
    size_t adder_count = 1 + (size_t)schedule_random(ADDERS_MAX);
    size_t worker_count = 1 + (size_t)schedule_random(WORKERS_MAX);
    bool is_cut = schedule_chance(250);

    (void)arg;
    open_scene(&self);
    worker_count = self.is_loop ? 1 : worker_count;
    for (size_t i = 0; i < worker_count; i++) {
        kl__thread_start(&workers[i], "worker", self.is_loop ? loop : work,
                         &self, NULL);
    }
    for (size_t i = 0; i < adder_count; i++) {
        kl__thread_start(&adders[i], "adder", add_many, &self, NULL);
    }
    if (is_cut) {
        scene_counts[SCENE_CUT]++;
        sleep_for(3000);
        end_queue(&self);
    }
    for (size_t i = 0; i < adder_count; i++) {
        kl__thread_join(&adders[i]);
    }
    if (!is_cut) {
        check_settled(&self);
    }
    end_queue(&self);
    for (size_t i = 0; i < worker_count; i++) {
        kl__thread_join(&workers[i]);
    }
    close_scene(&self);
}
