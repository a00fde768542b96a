/*
 * queue_spec.c - a key is in the queue once, is handed out to one run at a
 * time, in the order of its lane, and how a queue ends; with threads that add
 * beside threads that work, no key is lost and none runs twice at once, and a
 * loop that sleeps is woken.
 */
#include "queue_rig.h"

#include "base/thread.h"
#include "kubelua/handler.h"
#include "kubelua/memory.h"
#include "kubelua/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void adds_of_a_waiting_key_are_coalesced(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    queue_rig_add(&rig, "b");
    queue_rig_add(&rig, "a");
    queue_rig_add_related(&rig, "a");
    assert_int_equal(queue_rig_status(&rig).waiting, 2);
    assert_string_equal(queue_rig_take_all(&rig), "a b");
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_DONE, 0), -1);
    assert_int_equal(queue_rig_done(&rig, "b", KL_RESULT_DONE, 0), -1);
    assert_string_equal(queue_rig_take_all(&rig), "");
    queue_rig_end(&rig);
}

static void a_key_in_progress_is_not_handed_out_twice(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    (void)queue_rig_take(&rig, "a");
    queue_rig_add(&rig, "a");
    queue_rig_add(&rig, "a");
    assert_string_equal(queue_rig_take_all(&rig), "");
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_DONE, 0), 0);
    assert_string_equal(queue_rig_take_all(&rig), "a");
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_DONE, 0), -1);
    assert_string_equal(queue_rig_take_all(&rig), "");
    queue_rig_end(&rig);
}

static void a_key_added_during_its_run_waits_behind_the_others(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    (void)queue_rig_take(&rig, "a");
    queue_rig_add(&rig, "a");
    queue_rig_add(&rig, "b");
    queue_rig_done(&rig, "a", KL_RESULT_DONE, 0);
    assert_string_equal(queue_rig_take_all(&rig), "b a");
    queue_rig_end(&rig);
}

static void done_of_a_key_that_is_not_in_progress_is_an_error(void **state)
{
    queue_rig rig;
    int64_t again_ms = 0;

    (void)state;
    queue_rig_begin(&rig, 0);
    assert_int_equal(
        kl_queue_done(rig.queue, "a", KL_RESULT_DONE, 0, &again_ms), KL_EINVAL);
    assert_int_equal(again_ms, -1);
    queue_rig_add(&rig, "a");
    assert_int_equal(kl_queue_done(rig.queue, "a", KL_RESULT_FAILED, 0, NULL),
                     KL_EINVAL);
    assert_string_equal(queue_rig_take_all(&rig), "a");
    queue_rig_end(&rig);
}

static void the_rear_lane_runs_after_the_whole_front_lane(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_rear(&rig, "r1");
    queue_rig_add(&rig, "f1");
    queue_rig_add_rear(&rig, "r2");
    queue_rig_add(&rig, "f2");
    assert_int_equal(queue_rig_status(&rig).waiting_rear, 2);
    assert_int_equal(queue_rig_take(&rig, "f1").lane, KL_LANE_FRONT);
    queue_rig_add(&rig, "f3");
    assert_string_equal(queue_rig_take_all(&rig), "f2 f3 r1 r2");
    queue_rig_end(&rig);
}

static void an_add_to_the_front_lane_moves_a_rear_key_there(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_rear(&rig, "r1");
    queue_rig_add_rear(&rig, "r2");
    queue_rig_add(&rig, "f1");
    queue_rig_add(&rig, "r2");
    queue_rig_add_rear(&rig, "f1"); /* never back */
    assert_int_equal(queue_rig_status(&rig).waiting_rear, 1);
    assert_string_equal(queue_rig_take_all(&rig), "f1 r2 r1");
    queue_rig_end(&rig);
}

static void a_key_added_during_its_run_keeps_the_lane(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    queue_rig_add(&rig, "b");
    assert_string_equal(queue_rig_take_all(&rig), "a b");
    queue_rig_add_rear(&rig, "a"); /* a resync */
    queue_rig_add_rear(&rig, "b");
    queue_rig_add(&rig, "b"); /* and news */
    queue_rig_done(&rig, "a", KL_RESULT_DONE, 0);
    queue_rig_done(&rig, "b", KL_RESULT_DONE, 0);
    assert_string_equal(queue_rig_take_all(&rig), "b a");
    queue_rig_end(&rig);
}

static void an_unknown_lane_is_an_error(void **state)
{
    queue_rig rig;
    kl_error err = {0};

    (void)state;
    queue_rig_begin(&rig, 0);
    assert_int_equal(kl_queue_add(rig.queue, "a", KL_LANES, &err), KL_EINVAL);
    assert_string_equal(err.message, "a queue has no lane 2");
    assert_int_equal(queue_rig_status(&rig).adds, 0);
    queue_rig_end(&rig);
    assert_null(kl_queue_new(&(kl_queue_options){.gather_ms = -1}, &err));
    assert_int_equal(err.code, KL_EINVAL);
}

static void status_counts_keys_by_state(void **state)
{
    queue_rig rig;
    kl_queue_status status;

    (void)state;
    queue_rig_begin(&rig, 0);
    for (int i = 0; i < 5; i++) {
        queue_rig_add(&rig, (const char *[]){"a", "b", "c", "d", "e"}[i]);
    }
    queue_rig_fail(&rig, "a");
    (void)queue_rig_take(&rig, "b");
    queue_rig_done(&rig, "b", KL_RESULT_PACED, -1);
    (void)queue_rig_take(&rig, "c");
    kl_queue_advance(rig.queue, 50);
    queue_rig_add_rear(&rig, "f");
    queue_rig_add_after(&rig, "g", 1000);
    status = queue_rig_status(&rig);
    assert_int_equal(status.waiting, 3);
    assert_int_equal(status.waiting_rear, 1);
    assert_int_equal(status.in_progress, 1);
    assert_int_equal(status.delayed, 3);
    assert_int_equal(status.failing, 1);
    assert_int_equal(status.adds, 7);
    assert_int_equal(status.retries, 2);
    assert_int_equal(status.oldest_wait_ms, 50);
    queue_rig_end(&rig);
}

static void a_key_that_changes_lanes_keeps_its_waiting_time(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    assert_int_equal(queue_rig_status(&rig).oldest_wait_ms, 0);
    queue_rig_add_rear(&rig, "r");
    kl_queue_advance(rig.queue, 10);
    queue_rig_add(&rig, "f");
    kl_queue_advance(rig.queue, 10);
    queue_rig_add(&rig, "r");
    assert_int_equal(queue_rig_status(&rig).oldest_wait_ms, 20);
    assert_int_equal(queue_rig_take(&rig, "f").waited_ms, 10);
    assert_int_equal(queue_rig_take(&rig, "r").waited_ms, 20);
    queue_rig_end(&rig);
}

static void a_drained_queue_hands_out_what_waits_and_takes_no_more(void **state)
{
    queue_rig rig;
    kl_error err = {0};

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "run");
    queue_rig_add(&rig, "again");
    assert_string_equal(queue_rig_take_all(&rig), "run again");
    queue_rig_add(&rig, "again");
    queue_rig_add(&rig, "waits");
    queue_rig_add_after(&rig, "later", 10);
    kl_queue_drain(rig.queue);
    assert_int_equal(kl_queue_add(rig.queue, "new", KL_LANE_FRONT, &err),
                     KL_ECLOSED);
    assert_string_equal(err.message, "the queue takes no more keys: it was "
                                     "drained or shut down");
    assert_int_equal(kl_queue_add_after(rig.queue, "new", 1, NULL), KL_ECLOSED);
    assert_int_equal(queue_rig_done(&rig, "run", KL_RESULT_FAILED, -1), -1);
    assert_int_equal(queue_rig_done(&rig, "again", KL_RESULT_AFTER, 10), 0);
    kl_queue_advance(rig.queue, 1000);
    assert_string_equal(queue_rig_take_all(&rig), "waits again");
    queue_rig_done(&rig, "waits", KL_RESULT_DONE, 0);
    assert_false(kl_queue_is_finished(rig.queue));
    queue_rig_done(&rig, "again", KL_RESULT_DONE, 0);
    assert_true(kl_queue_is_finished(rig.queue));
    assert_int_equal(kl_queue_wait(rig.queue, -1), KL_ECLOSED);
    queue_rig_end(&rig);
}

static void a_drain_hands_out_gathered_keys_at_once(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 1000);
    queue_rig_add(&rig, "a");
    assert_string_equal(queue_rig_take_all(&rig), "");
    kl_queue_drain(rig.queue);
    assert_string_equal(queue_rig_take_all(&rig), "a");
    queue_rig_end(&rig);
}

static void a_shut_down_queue_hands_out_no_keys(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "run");
    (void)queue_rig_take(&rig, "run");
    queue_rig_add(&rig, "run");
    queue_rig_add(&rig, "waits");
    queue_rig_add_after(&rig, "later", 10);
    kl_queue_drain(rig.queue);
    kl_queue_shut_down(rig.queue);
    kl_queue_drain(rig.queue); /* too late */
    assert_int_equal(kl_queue_add(rig.queue, "new", KL_LANE_FRONT, NULL),
                     KL_ECLOSED);
    assert_int_equal(kl_queue_wait(rig.queue, -1), KL_ECLOSED);
    assert_false(kl_queue_is_finished(rig.queue));
    assert_int_equal(queue_rig_done(&rig, "run", KL_RESULT_AFTER, 5), -1);
    assert_true(kl_queue_is_finished(rig.queue));
    assert_string_equal(queue_rig_take_all(&rig), "");
    assert_int_equal(kl_queue_due_in(rig.queue), -1);
    queue_rig_end(&rig);
}

static void finished_keys_take_no_memory(void **state)
{
    queue_rig rig;
    kl_queue_status status;
    char key[32];

    (void)state;
    queue_rig_begin(&rig, 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "web/shop-%d", i);
        queue_rig_add(&rig, key);
        (void)queue_rig_take(&rig, key);
        queue_rig_done(&rig, key, KL_RESULT_FAILED, -1);
    }
    assert_int_equal(queue_rig_status(&rig).failing, 1000);
    kl_queue_advance(rig.queue, 1000);
    for (int i = 0; i < 1000; i++) {
        kl_queue_item item;

        assert_true(kl_queue_next(rig.queue, &item));
        queue_rig_done(&rig, item.key, KL_RESULT_DONE, 0);
    }
    status = queue_rig_status(&rig);
    assert_int_equal(status.failing + status.delayed + status.waiting +
                         status.in_progress,
                     0);
    queue_rig_end(&rig);
}

enum { KEYS = 32, ADDERS = 3, WORKERS = 3, ROUNDS = 2000, PATIENCE_MS = 20000 };

typedef struct world {
    kl_queue *queue;
    kl_event_queue *events;
    atomic_int written[KEYS]; /* what the cluster has */
    atomic_int seen[KEYS];    /* what the last run of the key saw of it */
    atomic_int inside[KEYS];  /* runs at once */
    atomic_int breaches;
    atomic_int runs;
    atomic_int numbers; /* of the adders */
} world;

static void *add_many(void *arg)
{
    world *self = arg;
    unsigned random = 77u + (unsigned)atomic_fetch_add(&self->numbers, 1);

    for (int i = 0; i < ROUNDS; i++) {
        char key[8];
        int n;

        random = random * 1103515245u + 12345u;
        n = (int)(random >> 16) % KEYS;
        snprintf(key, sizeof(key), "%d", n);
        atomic_fetch_add(&self->written[n], 1);
        if (i % 3 == 0) {
            kl_queue_add_related(self->queue, key, KL_LANE_FRONT, NULL);
        } else if (i % 7 == 0) {
            kl_queue_add_after(self->queue, key, i % 5, NULL);
        } else {
            kl_queue_add(self->queue, key, (kl_lane)(i % 2), NULL);
        }
    }
    return NULL;
}

static void run_key(world *self, const kl_queue_item *item)
{
    int n = atoi(item->key);
    int run = atomic_fetch_add(&self->runs, 1);
    kl_queue_result result = run % 11 == 0   ? KL_RESULT_FAILED
                             : run % 13 == 0 ? KL_RESULT_AFTER
                                             : KL_RESULT_DONE;

    if (atomic_fetch_add(&self->inside[n], 1) != 0) {
        atomic_fetch_add(&self->breaches, 1);
    }
    atomic_store(&self->seen[n], atomic_load(&self->written[n]));
    atomic_fetch_sub(&self->inside[n], 1);
    kl_queue_done(self->queue, item->key, result,
                  result == KL_RESULT_AFTER ? 1 : -1, NULL);
}

static void *work(void *arg)
{
    world *self = arg;
    kl_queue_item item;

    while (kl_queue_wait(self->queue, -1) == KL_OK) {
        while (kl_queue_next(self->queue, &item)) {
            run_key(self, &item);
        }
    }
    return NULL;
}

static void open_world(world *self, const kl_queue_options *options)
{
    *self = (world){.queue = kl_queue_new(options, NULL)};
    assert_non_null(self->queue);
}

static void close_world(world *self)
{
    for (int i = 0; i < KEYS; i++) {
        assert_int_equal(atomic_load(&self->seen[i]),
                         atomic_load(&self->written[i]));
    }
    assert_int_equal(atomic_load(&self->breaches), 0);
    kl_queue_free(self->queue);
    assert_int_equal(kl_live_count(KL_LIVE_WORKQUEUE), 0);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

static void start_threads(world *self, kl__thread *threads, int count,
                          void *(*entry)(void *arg))
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(
            kl__thread_start(&threads[i], "spec", entry, self, NULL), KL_OK);
    }
}

static void join_threads(kl__thread *threads, int count)
{
    for (int i = 0; i < count; i++) {
        kl__thread_join(&threads[i]);
    }
}

/* Waits for what is delayed: no more is added. */
static void settle(world *self)
{
    kl_queue_status status;

    do {
        kl_queue_advance(self->queue, 1000);
        kl_queue_get_status(self->queue, &status);
    } while (status.waiting + status.delayed + status.in_progress > 0);
}

static void workers_lose_no_key_and_never_share_one(void **state)
{
    kl__thread adders[ADDERS];
    kl__thread workers[WORKERS];
    world self;

    (void)state;
    open_world(&self, NULL);
    start_threads(&self, workers, WORKERS, work);
    start_threads(&self, adders, ADDERS, add_many);
    join_threads(adders, ADDERS);
    settle(&self);
    kl_queue_drain(self.queue);
    join_threads(workers, WORKERS);
    assert_true(kl_queue_is_finished(self.queue));
    close_world(&self);
}

static void wake_loop(void *context)
{
    kl_event_queue_wake(((world *)context)->events);
}

/* As a script's loop does: pulls, and sleeps until what is due or a wake-up. */
static void *loop(void *arg)
{
    world *self = arg;
    kl_queue_item item;

    while (!kl_queue_is_finished(self->queue)) {
        while (kl_queue_next(self->queue, &item)) {
            run_key(self, &item);
        }
        (void)kl_event_queue_wait(self->events, kl_queue_due_in(self->queue));
        (void)kl_event_queue_next(self->events);
    }
    return NULL;
}

static void a_sleeping_loop_is_woken_for_each_key(void **state)
{
    kl__thread adders[ADDERS];
    kl__thread looper;
    world self;

    (void)state;
    open_world(&self, &(kl_queue_options){
                          .gather_ms = 1, .wake = wake_loop, .context = &self});
    self.events = kl_event_queue_new(NULL);
    start_threads(&self, &looper, 1, loop);
    start_threads(&self, adders, ADDERS, add_many);
    join_threads(adders, ADDERS);
    settle(&self);
    kl_queue_drain(self.queue);
    join_threads(&looper, 1);
    kl_event_queue_free(self.events);
    close_world(&self);
}

static void *wait_for_a_key(void *arg)
{
    world *self = arg;

    atomic_store(&self->runs, 1);
    atomic_store(&self->seen[0],
                 (int)kl_queue_wait(self->queue, PATIENCE_MS) + 100);
    return NULL;
}

/* Runs `act` while a thread waits; what the wait said. */
static int wait_while(world *self, void (*act)(kl_queue *queue))
{
    kl__thread waiter;

    atomic_store(&self->runs, 0);
    start_threads(self, &waiter, 1, wait_for_a_key);
    while (atomic_load(&self->runs) == 0) {
    }
    act(self->queue);
    kl__thread_join(&waiter);
    return atomic_load(&self->seen[0]) - 100;
}

static void act_add(kl_queue *queue)
{
    kl_queue_add(queue, "a", KL_LANE_REAR, NULL);
}

static void act_advance(kl_queue *queue)
{
    kl_queue_advance(queue, 60000);
}

static void a_wait_ends_at_a_key_an_advance_or_a_shutdown(void **state)
{
    kl_queue_item item;
    world self;

    (void)state;
    open_world(&self, NULL);
    assert_int_equal(wait_while(&self, act_add), KL_OK);
    assert_true(kl_queue_next(self.queue, &item));
    assert_int_equal(kl_queue_wait(self.queue, 0), KL_ETIMEOUT);
    kl_queue_add_after(self.queue, "b", 60000, NULL);
    assert_int_equal(wait_while(&self, act_advance), KL_OK);
    assert_true(kl_queue_next(self.queue, &item));
    assert_int_equal(wait_while(&self, kl_queue_shut_down), KL_ECLOSED);
    kl_queue_free(self.queue);
}

static void a_wait_ends_when_a_timer_is_due(void **state)
{
    world self;

    (void)state;
    open_world(&self, NULL);
    kl_queue_add_after(self.queue, "a", 60000, NULL);
    assert_int_equal(kl_queue_wait(self.queue, 1), KL_ETIMEOUT);
    kl_queue_add_after(self.queue, "a", 5, NULL);
    assert_int_equal(kl_queue_wait(self.queue, PATIENCE_MS), KL_OK);
    kl_queue_free(self.queue);
}

/* Takes keys until the queue is shut down. */
static void *take_until_the_end(void *arg)
{
    kl_queue *queue = arg;
    kl_queue_item item;
    size_t taken = 0;

    while (kl_queue_take(queue, &item, -1) == KL_OK) {
        assert_int_equal(
            kl_queue_done(queue, item.key, KL_RESULT_DONE, -1, NULL), KL_OK);
        taken++;
    }
    return (void *)taken;
}

/* Two workers block; each key wakes both, and one of them finds none. */
static void a_take_blocks_until_it_has_a_key(void **state)
{
    enum { ADDED = 200 };
    kl_queue *queue = kl_queue_new(NULL, NULL);
    kl_queue_item item;
    pthread_t workers[2];
    size_t taken = 0;
    void *each;

    (void)state;
    assert_int_equal(kl_queue_take(queue, &item, 0), KL_ETIMEOUT);
    assert_int_equal(kl_queue_take(queue, &item, 2), KL_ETIMEOUT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            pthread_create(&workers[i], NULL, take_until_the_end, queue), 0);
    }
    for (int i = 0; i < ADDED; i++) {
        char key[16];

        snprintf(key, sizeof(key), "web/k%d", i);
        assert_int_equal(kl_queue_add(queue, key, KL_LANE_FRONT, NULL), KL_OK);
    }
    kl_queue_drain(queue);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(workers[i], &each), 0);
        taken += (size_t)each;
    }
    assert_int_equal(taken, ADDED);
    assert_int_equal(kl_queue_take(queue, &item, -1), KL_ECLOSED);
    kl_queue_free(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_of_a_waiting_key_are_coalesced),
        cmocka_unit_test(a_key_in_progress_is_not_handed_out_twice),
        cmocka_unit_test(a_key_added_during_its_run_waits_behind_the_others),
        cmocka_unit_test(done_of_a_key_that_is_not_in_progress_is_an_error),
        cmocka_unit_test(the_rear_lane_runs_after_the_whole_front_lane),
        cmocka_unit_test(an_add_to_the_front_lane_moves_a_rear_key_there),
        cmocka_unit_test(a_key_added_during_its_run_keeps_the_lane),
        cmocka_unit_test(an_unknown_lane_is_an_error),
        cmocka_unit_test(status_counts_keys_by_state),
        cmocka_unit_test(a_key_that_changes_lanes_keeps_its_waiting_time),
        cmocka_unit_test(
            a_drained_queue_hands_out_what_waits_and_takes_no_more),
        cmocka_unit_test(a_drain_hands_out_gathered_keys_at_once),
        cmocka_unit_test(a_shut_down_queue_hands_out_no_keys),
        cmocka_unit_test(finished_keys_take_no_memory),
        cmocka_unit_test(workers_lose_no_key_and_never_share_one),
        cmocka_unit_test(a_sleeping_loop_is_woken_for_each_key),
        cmocka_unit_test(a_wait_ends_at_a_key_an_advance_or_a_shutdown),
        cmocka_unit_test(a_wait_ends_when_a_timer_is_due),
        cmocka_unit_test(a_take_blocks_until_it_has_a_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
