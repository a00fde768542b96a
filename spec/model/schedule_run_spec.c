/*
 * schedule_run_spec.c - runs without a fault: the same seed makes the same run,
 * preemptions stay within their bound, and time is virtual.
 */
#include "schedule.h"

#include "base/clock.h"
#include "base/thread.h"
#include "base/wakeup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 2000, EPOCH_MS = 1000000, HOUR_MS = 3600000 };

typedef struct world {
    kl__mutex mutex;
    kl__cond cond;
    kl__thread threads[4];
    int count;
} world;

static void open_world(world *self)
{
    memset(self, 0, sizeof(*self));
    kl__mutex_init(&self->mutex, KL__RANK_FIFO);
    kl__cond_init(&self->cond);
}

static void close_world(world *self)
{
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
}

/* A correct example: a counter behind a mutex, a sleep, a wake-up. */
static void *count_up(void *arg)
{
    world *self = arg;

    for (int i = 0; i < 20; i++) {
        kl__mutex_lock(&self->mutex);
        self->count++;
        kl__cond_signal(&self->cond);
        kl__mutex_unlock(&self->mutex);
        if (schedule_chance(100)) {
            schedule_wait_until(schedule_now() + 5);
        }
    }
    return NULL;
}

static void count(void *arg)
{
    world *self = arg;

    open_world(self);
    for (int i = 0; i < 4; i++) {
        kl__thread_start(&self->threads[i], "counter", count_up, self, NULL);
    }
    kl__mutex_lock(&self->mutex);
    while (self->count < 80) {
        kl__cond_wait(&self->cond, &self->mutex, -1);
    }
    kl__mutex_unlock(&self->mutex);
    for (int i = 0; i < 4; i++) {
        kl__thread_join(&self->threads[i]);
    }
    close_world(self);
}

static schedule_outcome run_count(uint64_t seed, int preemptions)
{
    static world state;
    schedule_options options = {
        .seed = seed, .preemptions = preemptions, .spurious_per_mille = 20};
    schedule_outcome outcome;

    schedule_run(&options, count, &state, &outcome);
    if (outcome.failed) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, outcome.message);
    }
    return outcome;
}

static void the_same_seed_makes_the_same_run(void **state)
{
    int different = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        schedule_outcome first = run_count(seed, -1);
        schedule_outcome again = run_count(seed, -1);

        assert_true(first.hash == again.hash);
        assert_true(first.steps == again.steps);
        different += first.hash != run_count(seed + 1, -1).hash;
    }
    assert_true(different > SEEDS * 9 / 10);
}

static void preemptions_are_as_many_as_allowed(void **state)
{
    uint64_t most = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
        uint64_t free = run_count(seed, -1).preemptions;

        most = free > most ? free : most;
        assert_true(run_count(seed, 3).preemptions <= 3);
        assert_int_equal(run_count(seed, 0).preemptions, 0);
    }
    assert_true(most > 100);
}

static void *wait_for_an_hour(void *arg)
{
    world *self = arg;

    kl__mutex_lock(&self->mutex);
    while (kl__clock_wait(kl__clock_real(), &self->cond, &self->mutex,
                          EPOCH_MS + HOUR_MS)) {
    }
    kl__mutex_unlock(&self->mutex);
    self->count = (int)(schedule_now() - EPOCH_MS);
    return NULL;
}

static void pass_an_hour(void *arg)
{
    world *self = arg;

    open_world(self);
    kl__thread_start(self->threads, "sleeper", wait_for_an_hour, self, NULL);
    schedule_wait_idle(EPOCH_MS + HOUR_MS - 1);
    schedule_check(schedule_now() == EPOCH_MS, "time went on");
    kl__thread_join(self->threads);
    schedule_check(self->count == HOUR_MS, "woken at %d ms", self->count);
    close_world(self);
}

static void time_goes_on_to_the_deadline_when_nobody_can_run(void **state)
{
    static world world_state;
    schedule_options options = {.seed = 1, .preemptions = -1};
    schedule_outcome outcome;

    (void)state;
    schedule_run(&options, pass_an_hour, &world_state, &outcome);
    assert_string_equal(outcome.message, "");
    assert_int_equal(outcome.now_ms, EPOCH_MS + HOUR_MS);
}

static void *set_wakeup(void *arg)
{
    kl__wakeup_set(arg);
    return NULL;
}

static void wait_for_wakeup(void *arg)
{
    kl__wakeup wakeup;
    kl__thread thread;

    (void)arg;
    kl__wakeup_init(&wakeup, NULL);
    schedule_check(kl__wakeup_wait(&wakeup, 10) == KL_ETIMEOUT, "not set");
    kl__thread_start(&thread, "setter", set_wakeup, &wakeup, NULL);
    schedule_check(kl__wakeup_wait(&wakeup, -1) == KL_OK, "set");
    schedule_check(kl__wakeup_wait(&wakeup, -1) == KL_OK, "it stays set");
    kl__thread_join(&thread);
    kl__wakeup_clear(&wakeup);
    schedule_check(kl__wakeup_wait(&wakeup, 0) == KL_ETIMEOUT, "cleared");
    kl__wakeup_deinit(&wakeup);
}

static void a_wakeup_wakes_and_stays_set(void **state)
{
    schedule_outcome outcome;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
        schedule_options options = {.seed = seed, .preemptions = -1};

        schedule_run(&options, wait_for_wakeup, NULL, &outcome);
        assert_string_equal(outcome.message, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_makes_the_same_run),
        cmocka_unit_test(preemptions_are_as_many_as_allowed),
        cmocka_unit_test(time_goes_on_to_the_deadline_when_nobody_can_run),
        cmocka_unit_test(a_wakeup_wakes_and_stays_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
