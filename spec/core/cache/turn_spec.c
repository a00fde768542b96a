/*
 * turn_spec.c - the consumers of a delta queue take turns: one batch is applied
 * at a time, in the order of the queue, on whichever thread popped it.
 */
#include "cache/delta_fifo.h"

#include "gate.h"
#include "base/mem.h"
#include "base/thread.h"
#include "pods.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    FOR_EVER = -1,
    MAX = 1000,
    EVENTS = 6000,
    BURST = 5,
    GIVEN_BACK = 7,
    PATIENCE_MS = 60000
};

static void add(kl__delta_fifo *fifo, int version)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", version);
    assert_int_equal(kl__delta_fifo_push(fifo, KL__DELTA_ADDED,
                                         pod("a", text, version), FOR_EVER,
                                         NULL),
                     KL_OK);
}

static int version_of(const kl__delta *delta)
{
    return atoi(kl_object_resource_version(delta->object));
}

static void expect_none(kl__delta_fifo *fifo)
{
    kl__delta_batch batch = {0};

    assert_int_equal(kl__delta_fifo_pop(fifo, &batch, MAX, 0), KL_ETIMEOUT);
    assert_int_equal(kl__delta_fifo_pop_objects(fifo, &batch, MAX),
                     KL_ETIMEOUT);
    assert_int_equal(kl__delta_fifo_wait(fifo, 0), KL_ETIMEOUT);
    assert_null(batch.items);
}

static void no_second_batch_is_popped_during_a_turn(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);
    kl__delta_batch batch = {0};

    (void)state;
    add(fifo, 1);
    add(fifo, 2);
    assert_int_equal(kl__delta_fifo_pop_objects(fifo, &batch, 1), KL_OK);
    expect_none(fifo);
    kl__delta_batch_clear(&batch);
    assert_int_equal(kl__delta_fifo_wait(fifo, 0), KL_OK);
    assert_int_equal(kl__delta_fifo_pop(fifo, &batch, MAX, 0), KL_OK);
    assert_int_equal(version_of(&batch.items[0]), 2);
    kl__delta_batch_clear(&batch);
    expect_none(fifo);
    kl__delta_fifo_free(fifo);
}

static void a_queue_is_not_over_while_a_batch_may_come_back(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);
    kl__delta_batch batch = {0};

    (void)state;
    add(fifo, 1);
    assert_int_equal(kl__delta_fifo_pop_objects(fifo, &batch, MAX), KL_OK);
    kl__delta_fifo_close(fifo);
    expect_none(fifo);
    kl__delta_fifo_give_back(fifo, &batch);
    assert_int_equal(kl__delta_fifo_pop(fifo, &batch, MAX, 0), KL_OK);
    assert_int_equal(batch.count, 1);
    kl__delta_batch_clear(&batch);
    assert_int_equal(kl__delta_fifo_wait(fifo, FOR_EVER), KL_ECLOSED);
    assert_int_equal(kl__delta_fifo_pop(fifo, &batch, MAX, FOR_EVER),
                     KL_ECLOSED);
    kl__delta_fifo_free(fifo);
}

static void a_batch_that_is_given_back_comes_first(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);
    kl__delta_batch batch = {0};

    (void)state;
    add(fifo, 1);
    add(fifo, 2);
    assert_int_equal(kl__delta_fifo_pop_objects(fifo, &batch, MAX), KL_OK);
    add(fifo, 3);
    assert_int_equal(kl__delta_fifo_length(fifo), 1);
    kl__delta_fifo_give_back(fifo, &batch);
    assert_null(batch.items);
    assert_int_equal(kl__delta_fifo_length(fifo), 3);
    assert_int_equal(kl__delta_fifo_pop_objects(fifo, &batch, MAX),
                     KL_ETIMEOUT); /* it may have to wait for memory */
    assert_int_equal(kl__delta_fifo_pop(fifo, &batch, MAX, 0), KL_OK);
    assert_int_equal(batch.count, 2);
    assert_int_equal(version_of(&batch.items[0]), 1);
    kl__delta_fifo_give_back(fifo, &batch);
    kl__delta_fifo_free(fifo); /* drops it */
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void
lists_errors_and_resyncs_are_left_to_the_thread_that_waits(void **state)
{
    const kl_error error = {.code = KL_EGONE};
    kl__delta_fifo *fifo = kl__delta_fifo_new(0, NULL);
    kl__delta_batch batch = {0};
    kl__listed list = {0};

    (void)state;
    add(fifo, 1);
    assert_int_equal(kl__delta_fifo_bookmark(fifo, "2"), KL_OK);
    assert_int_equal(kl__delta_fifo_error(fifo, &error, 1), KL_OK);
    assert_int_equal(kl__delta_fifo_resync(fifo), KL_OK);
    assert_int_equal(kl__delta_fifo_replace(fifo, &list, "3", 0, NULL), KL_OK);
    assert_int_equal(kl__delta_fifo_pop_objects(fifo, &batch, MAX), KL_OK);
    assert_int_equal(batch.count, 2);
    kl__delta_batch_clear(&batch);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kl__delta_fifo_pop_objects(fifo, &batch, MAX),
                         KL_ETIMEOUT);
        assert_int_equal(kl__delta_fifo_pop(fifo, &batch, MAX, 0), KL_OK);
        kl__delta_batch_clear(&batch);
    }
    expect_none(fifo);
    kl__delta_fifo_free(fifo);
}

typedef struct consumer {
    kl__delta_fifo *fifo;
    kl__thread thread;
    atomic_int number; /* gettid of the thread; 0 before it runs */
    /* Only the thread that has the turn uses these: with ThreadSanitizer, this
     * shows that the turn orders their use. */
    int last;
    int applied;
    bool is_ordered;
} consumer;

static void apply(consumer *self, kl__delta_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        int version = version_of(&batch->items[i]);

        self->is_ordered = self->is_ordered && version == self->last + 1;
        self->last = version;
        self->applied++;
    }
    kl__delta_batch_clear(batch);
}

static void *consume(void *arg)
{
    consumer *self = arg;
    kl__delta_batch batch = {0};

    atomic_store(&self->number, gettid());
    while (kl__delta_fifo_pop(self->fifo, &batch, MAX, FOR_EVER) == KL_OK) {
        apply(self, &batch);
    }
    return NULL;
}

/* Waits until the other thread has popped all; true: it has. */
static bool await_empty(kl__delta_fifo *fifo)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;

    while (kl__delta_fifo_length(fifo) > 0 &&
           kl__clock_now(kl__clock_real()) < deadline) {
        sched_yield();
    }
    return kl__delta_fifo_length(fifo) == 0;
}

/* Nothing but the end of the turn wakes the consumer: both events are queued
 * before it waits. */
static void the_end_of_a_turn_wakes_the_thread_that_waits_for_it(void **state)
{
    consumer self = {.fifo = kl__delta_fifo_new(0, NULL), .is_ordered = true};
    kl__delta_batch batch = {0};
    bool was_woken;

    (void)state;
    add(self.fifo, 1);
    add(self.fifo, 2);
    assert_int_equal(kl__delta_fifo_pop_objects(self.fifo, &batch, 1), KL_OK);
    assert_int_equal(
        kl__thread_start(&self.thread, "consumer", consume, &self, NULL),
        KL_OK);
    while (atomic_load(&self.number) == 0 ||
           !is_asleep(atomic_load(&self.number))) {
        sched_yield();
    }
    apply(&self, &batch);
    was_woken = await_empty(self.fifo);
    kl__delta_fifo_close(self.fifo);
    kl__thread_join(&self.thread);
    assert_true(was_woken);
    assert_int_equal(self.applied, 2);
    assert_true(self.is_ordered);
    kl__delta_fifo_free(self.fifo);
}

/* A reflector pushes bursts, and applies them itself or leaves them; some
 * batches it gives back. */
static void two_threads_take_turns_in_the_order_of_the_queue(void **state)
{
    consumer self = {.fifo = kl__delta_fifo_new(0, NULL), .is_ordered = true};
    kl__delta_batch batch = {0};

    (void)state;
    assert_int_equal(
        kl__thread_start(&self.thread, "consumer", consume, &self, NULL),
        KL_OK);
    for (int i = 1; i <= EVENTS; i++) {
        kl__delta_fifo_gather(self.fifo, true);
        add(self.fifo, i);
        if (i % BURST != 0) {
            continue;
        }
        if (kl__delta_fifo_pop_objects(self.fifo, &batch, MAX) == KL_OK) {
            if (i % GIVEN_BACK == 0) {
                kl__delta_fifo_give_back(self.fifo, &batch);
            } else {
                apply(&self, &batch);
            }
        }
        kl__delta_fifo_gather(self.fifo, false);
    }
    kl__delta_fifo_close(self.fifo);
    kl__thread_join(&self.thread);
    assert_int_equal(self.applied, EVENTS);
    assert_true(self.is_ordered);
    kl__delta_fifo_free(self.fifo);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void an_idle_queue_has_room_and_any_other_has_none(void **state)
{
    kl__delta_fifo *fifo = kl__delta_fifo_new(3, NULL);
    kl__delta_batch batch = {0};

    (void)state;
    assert_int_equal(kl__delta_fifo_idle_room(fifo), 3);
    add(fifo, 1);
    assert_int_equal(kl__delta_fifo_idle_room(fifo), 0);
    assert_int_equal(kl__delta_fifo_pop_objects(fifo, &batch, MAX), KL_OK);
    assert_int_equal(kl__delta_fifo_idle_room(fifo), 0); /* a turn */
    kl__delta_fifo_give_back(fifo, &batch);
    assert_int_equal(kl__delta_fifo_idle_room(fifo), 0);
    assert_int_equal(kl__delta_fifo_pop(fifo, &batch, MAX, 0), KL_OK);
    kl__delta_batch_clear(&batch);
    assert_int_equal(kl__delta_fifo_idle_room(fifo), 3);
    kl__delta_fifo_close(fifo);
    assert_int_equal(kl__delta_fifo_idle_room(fifo), 0);
    kl__delta_fifo_free(fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_second_batch_is_popped_during_a_turn),
        cmocka_unit_test(a_queue_is_not_over_while_a_batch_may_come_back),
        cmocka_unit_test(a_batch_that_is_given_back_comes_first),
        cmocka_unit_test(
            lists_errors_and_resyncs_are_left_to_the_thread_that_waits),
        cmocka_unit_test(the_end_of_a_turn_wakes_the_thread_that_waits_for_it),
        cmocka_unit_test(two_threads_take_turns_in_the_order_of_the_queue),
        cmocka_unit_test(an_idle_queue_has_room_and_any_other_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
