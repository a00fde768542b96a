/*
 * queue_calls_spec.c - every public call on workqueues, with each of its
 * allocations failing: only a new key needs memory, and one that has none
 * leaves the queue as it was.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "kubelua/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct world {
    kl_queue *queue; /* of one run */
} world;

static kl_code make_queue(void *world_, kl_error *err)
{
    (void)world_;
    kl_queue_free(kl_queue_new(NULL, err));
    return err->code;
}

static kl_code begin_empty(void *world_, kl_error *err)
{
    world *self = world_;

    self->queue = kl_queue_new(&(kl_queue_options){.clock_stands = true}, err);
    return self->queue != NULL ? KL_OK : err->code;
}

/* Of a code, with the queue as it then has to be. */
static kl_code end_add(world *self, kl_code code)
{
    kl_queue_status status;
    size_t keys = code == KL_OK ? 1 : 0;

    kl_queue_get_status(self->queue, &status);
    assert_int_equal(status.waiting + status.delayed, keys);
    assert_int_equal(status.adds, keys);
    assert_int_equal(kl_queue_due_in(self->queue) >= 0, keys);
    kl_queue_free(self->queue);
    return code;
}

static kl_code add_key(void *world_, kl_error *err)
{
    world *self = world_;

    return end_add(self, kl_queue_add(self->queue, "a", KL_LANE_REAR, err));
}

static kl_code add_related_key(void *world_, kl_error *err)
{
    world *self = world_;

    return end_add(self,
                   kl_queue_add_related(self->queue, "a", KL_LANE_FRONT, err));
}

static kl_code add_key_later(void *world_, kl_error *err)
{
    world *self = world_;

    return end_add(self, kl_queue_add_after(self->queue, "a", 1000, err));
}

static kl_code begin_full(void *world_, kl_error *err)
{
    world *self = world_;

    if (begin_empty(self, err) != KL_OK) {
        return err->code;
    }
    kl_queue_add(self->queue, "a", KL_LANE_FRONT, NULL);
    kl_queue_add(self->queue, "b", KL_LANE_REAR, NULL);
    return kl_queue_add_after(self->queue, "c", 1000, err);
}

/* All that happens to keys that are there. */
static kl_code work(void *world_, kl_error *err)
{
    world *self = world_;
    kl_queue *queue = self->queue;
    kl_queue_item item;

    (void)err;
    assert_int_equal(kl_queue_wait(queue, 0), KL_OK);
    assert_true(kl_queue_next(queue, &item));
    assert_int_equal(kl_queue_add(queue, "a", KL_LANE_FRONT, NULL), KL_OK);
    assert_int_equal(kl_queue_add_after(queue, "a", 5, NULL), KL_OK);
    assert_int_equal(kl_queue_done(queue, "a", KL_RESULT_FAILED, -1, NULL),
                     KL_OK);
    kl_queue_forget(queue, "a");
    kl_queue_advance(queue, 1000);
    assert_int_equal(kl_queue_due_in(queue), 0);
    while (kl_queue_next(queue, &item)) {
        kl_queue_done(queue, item.key, KL_RESULT_PACED, -1, NULL);
    }
    assert_int_equal(kl_queue_wait(queue, 0), KL_ETIMEOUT);
    assert_int_equal(kl_queue_take(queue, &item, 0), KL_ETIMEOUT);
    kl_queue_drain(queue);
    kl_queue_shut_down(queue);
    assert_true(kl_queue_is_finished(queue));
    kl_queue_free(queue);
    return KL_OK;
}

static kl_code read_status(void *world_, kl_error *err)
{
    world *self = world_;
    kl_queue_status status;

    (void)err;
    kl_queue_get_status(self->queue, &status);
    assert_int_equal(status.waiting, 2);
    kl_queue_free(self->queue);
    return KL_OK;
}

static const every_call calls[] = {
    REFUSES(kl_queue_new, make_queue),
    REFUSES(kl_queue_free, make_queue),
    REFUSES_AFTER(kl_queue_add, add_key, begin_empty),
    REFUSES_AFTER(kl_queue_add_related, add_related_key, begin_empty),
    REFUSES_AFTER(kl_queue_add_after, add_key_later, begin_empty),
    NEVER_ALLOCATES_AFTER(kl_queue_next, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_done, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_forget, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_due_in, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_wait, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_take, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_drain, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_shut_down, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_is_finished, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_advance, work, begin_full),
    NEVER_ALLOCATES_AFTER(kl_queue_get_status, read_status, begin_full),
};

static void each_call_on_queues_survives_each_failed_allocation(void **state)
{
    world self = {0};

    (void)state;
    failing_alloc_install();
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = &self});
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
    assert_int_equal(kl_live_count(KL_LIVE_WORKQUEUE), 0);
}

enum { CROWD = 100, ALLOCATIONS = 3 };

/* A queue of `count` keys; one more comes while the nth allocation fails. */
static void try_crowd(int count, long nth)
{
    kl_queue *queue = kl_queue_new(NULL, NULL);
    kl_queue_item item;
    char key[16];
    kl_code code;

    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "%d", i);
        assert_int_equal(kl_queue_add(queue, key, KL_LANE_REAR, NULL), KL_OK);
    }
    failing_alloc_fail_at(nth, 1);
    code = kl_queue_add(queue, "one more", KL_LANE_FRONT, NULL);
    assert_int_equal(code, failing_alloc_has_failed() ? KL_ENOMEM : KL_OK);
    failing_alloc_fail_at(0, 0);
    assert_int_equal(kl_queue_add(queue, "one more", KL_LANE_FRONT, NULL),
                     KL_OK);
    assert_true(kl_queue_next(queue, &item));
    assert_string_equal(item.key, "one more");
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "%d", i);
        assert_true(kl_queue_next(queue, &item));
        assert_string_equal(item.key, key);
    }
    assert_false(kl_queue_next(queue, &item));
    kl_queue_free(queue);
}

static void a_queue_without_memory_keeps_all_its_keys(void **state)
{
    (void)state;
    failing_alloc_install();
    for (int count = 0; count < CROWD; count++) {
        for (long nth = 1; nth <= ALLOCATIONS; nth++) {
            try_crowd(count, nth);
        }
    }
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_on_queues_survives_each_failed_allocation),
        cmocka_unit_test(a_queue_without_memory_keeps_all_its_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
