/*
 * reflector_thread_spec.c - a reflector on its thread: stopped wherever it
 * waits, behind a consumer that is slow, and packing the objects that a watch
 * brought: while it waits, for events or for the end of a backoff, and before a
 * list.
 */
#include "reflector_world.h"

#include "object/object.h"
#include "object/packer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static kl_informer_status status_of(threaded_reflector *self)
{
    kl_informer_status status = {0};

    kl__reflector_status(self->reflector, &status);
    return status;
}

/* Takes one batch out of the queue and drops it; how many deltas it had. */
static size_t consume(threaded_reflector *self)
{
    kl__delta_batch batch = {0};
    size_t count;

    assert_int_equal(kl__delta_fifo_pop(self->fifo, &batch, 100, -1), KL_OK);
    count = batch.count;
    kl__delta_batch_clear(&batch);
    return count;
}

static void a_stop_ends_a_silent_watch(void **state)
{
    threaded_reflector *self = *state;

    threaded_reflector_start(self, "a@1 =10; ok", 0, false);
    assert_true(scripted_source_await(self->source, 3));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_int_equal(status_of(self).state, KL_STATE_WATCHING);
    kl__cancel_fire(&self->stop);
    threaded_reflector_join(self);
    assert_int_equal(status_of(self).state, KL_STATE_STOPPED);
}

static void a_stop_ends_a_backoff(void **state)
{
    threaded_reflector *self = *state;
    kl_informer_status status;

    threaded_reflector_start(self, "!forbidden:403", 0, false);
    assert_true(scripted_source_await(self->source, 2));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    status = status_of(self);
    assert_int_equal(status.state, KL_STATE_BACKOFF);
    assert_in_range(status.retry_in_ms, 800, 1599);
    assert_int_equal(status.error.code, KL_EFORBIDDEN);
    kl__cancel_fire(&self->stop);
    threaded_reflector_join(self);
    assert_int_equal(status_of(self).state, KL_STATE_STOPPED);
}

static void a_stop_ends_a_wait_for_room(void **state)
{
    threaded_reflector *self = *state;

    threaded_reflector_start(self, "=10; +a@11 +b@12 +c@13", 1, false);
    assert_true(scripted_source_await(self->source, 3));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    kl__cancel_fire(&self->stop);
    threaded_reflector_join(self);
}

static void the_time_that_is_left_counts_down(void **state)
{
    threaded_reflector *self = *state;
    int64_t before;

    threaded_reflector_start(self, "!too_many_requests:429/60000", 0, false);
    assert_true(scripted_source_await(self->source, 2));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    before = status_of(self).retry_in_ms;
    kl__clock_advance(self->clock, 10000);
    assert_int_equal(status_of(self).retry_in_ms, before - 10000);
}

static void the_age_of_the_last_message_grows(void **state)
{
    threaded_reflector *self = *state;

    threaded_reflector_start(self, "a@1 =10; ok", 0, false);
    assert_true(scripted_source_await(self->source, 3));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_int_equal(status_of(self).last_message_age_ms, 0);
    kl__clock_advance(self->clock, 7000);
    assert_int_equal(status_of(self).last_message_age_ms, 7000);
}

static void a_slow_consumer_closes_the_watch_and_nothing_is_lost(void **state)
{
    threaded_reflector *self = *state;

    threaded_reflector_start(self, "=10; +a@11 +b@12 +c@13; +c@13 +d@14", 2,
                             false);
    assert_true(scripted_source_await(self->source, 3));
    consume(self); /* the list; then a and b fill the queue, and c waits */
    while (kl__delta_fifo_length(self->fifo) < 2) {
        assert_true(kl__clock_await_waiters(self->clock, 1));
    }
    assert_true(kl__clock_await_waiters(self->clock, 1));
    kl__clock_advance(self->clock, 15000);
    assert_true(scripted_source_await_end(self->source));
    assert_int_equal(consume(self), 2);
    assert_true(scripted_source_await(self->source, 4));
    assert_string_equal(scripted_source_requests(self->source),
                        "resolve; list limit=500; watch rv=10; watch rv=12");
    assert_true(scripted_source_await_played(self->source));
    while (kl__delta_fifo_length(self->fifo) < 2) {
        assert_true(kl__clock_await_waiters(self->clock, 1));
    }
    assert_int_equal(consume(self), 2);
    assert_int_equal(status_of(self).failures, 0);
}

#define THREADED(name)                                              \
    cmocka_unit_test_setup_teardown(name, threaded_reflector_setup, \
                                    threaded_reflector_teardown)

#define LIST "a@1 b@2 c@3 d@4 e@5 f@6 =10; "

enum { YOUNG_MS = 4000, PATIENCE_S = 60 };

static int choose_limits(void **state)
{
    static const kl__pack_limits few = KL__PACK_EAGER(false);

    (void)state;
    kl__pack_limits_chosen = &few;
    return 0;
}

/* Pops deltas up to one about an object; returns a reference to it. */
static kl_object *pop_object(threaded_reflector *self)
{
    kl_object *object = NULL;

    while (object == NULL) {
        kl__delta_batch batch = {0};

        assert_int_equal(kl__delta_fifo_pop(self->fifo, &batch, 1, -1), KL_OK);
        if (batch.items[0].object != NULL) {
            object = kl_object_ref(batch.items[0].object);
        }
        kl__delta_batch_clear(&batch);
    }
    return object;
}

/* Starts the reflector, and pops the first object that the watch brings. */
static kl_object *start(threaded_reflector *self, const char *script,
                        size_t bound)
{
    threaded_reflector_start(self, script, bound, true);
    return pop_object(self);
}

/* Waits until the object is packed, for at most a minute. */
static void await_packed(const kl_object *object)
{
    const struct timespec pause = {0, 1000000};

    for (int i = 0; !kl__object_is_packed(object); i++) {
        assert_in_range(i, 0, PATIENCE_S * 1000);
        nanosleep(&pause, NULL);
    }
}

static void an_object_is_packed_in_a_silent_watch(void **state)
{
    threaded_reflector *self = *state;
    kl_object *object;

    object = start(self, LIST "~a@11", 0);
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(object));
    kl__clock_advance(self->clock, YOUNG_MS);
    await_packed(object);
    assert_string_equal(kl_object_resource_version(object), "11");
    assert_string_equal(scripted_source_requests(self->source),
                        "resolve; list limit=500; watch rv=10");
    kl_object_unref(object);
}

static void many_objects_are_packed_in_turns(void **state)
{
    enum { COUNT = 40 };
    threaded_reflector *self = *state;
    kl_object *objects[COUNT];
    char script[1000] = LIST;

    for (int i = 0; i < COUNT; i++) {
        size_t used = strlen(script);

        snprintf(script + used, sizeof(script) - used, " ~a@%d", 11 + i);
    }
    threaded_reflector_start(self, script, 0, true);
    for (int i = 0; i < COUNT; i++) {
        objects[i] = pop_object(self);
    }
    assert_true(kl__clock_await_waiters(self->clock, 1));
    for (int i = 0; i < COUNT; i++) {
        assert_false(kl__object_is_packed(objects[i]));
    }
    kl__clock_advance(self->clock, YOUNG_MS);
    await_packed(objects[COUNT - 1]);
    for (int i = 0; i < COUNT; i++) {
        assert_true(kl__object_is_packed(objects[i]));
        kl_object_unref(objects[i]);
    }
}

static void an_object_is_packed_in_a_long_backoff(void **state)
{
    threaded_reflector *self = *state;
    kl_object *object;

    object = start(self, LIST "~a@11 !unavailable:503/60000", 0);
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(object));
    kl__clock_advance(self->clock, YOUNG_MS);
    await_packed(object);
    assert_true(scripted_source_await(self->source, 3));
    assert_string_equal(scripted_source_requests(self->source),
                        "resolve; list limit=500; watch rv=10");
    kl_object_unref(object);
}

static void an_object_stays_young_over_a_new_watch(void **state)
{
    threaded_reflector *self = *state;
    kl_object *object;

    object = start(self, LIST "~a@11 %1500 $; ok ~a@12", 0);
    assert_true(scripted_source_await(self->source, 4));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(object));
    kl__clock_advance(self->clock, YOUNG_MS);
    await_packed(object);
    kl_object_unref(object);
}

static void objects_are_packed_before_a_list(void **state)
{
    threaded_reflector *self = *state;
    kl_object *object;

    object = start(self, LIST "~a@11 !gone:410", 0);
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(object));
    kl__clock_advance(self->clock, 1000);
    await_packed(object);
    kl_object_unref(object);
}

static void objects_are_packed_before_a_wait_for_room(void **state)
{
    threaded_reflector *self = *state;
    kl_object *object;

    object = start(self, LIST "~a@11 ~b@12 ~c@13", 2);
    while (kl__delta_fifo_length(self->fifo) < 2) {
        assert_true(kl__clock_await_waiters(self->clock, 1));
    }
    scripted_source_feed(self->source, " ~d@14");
    assert_true(scripted_source_await_played(self->source));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_false(kl__object_is_packed(object));
    kl__clock_advance(self->clock, 15000);
    assert_true(scripted_source_await_end(self->source));
    await_packed(object);
    kl_object_unref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADED(a_stop_ends_a_silent_watch),
        THREADED(a_stop_ends_a_backoff),
        THREADED(a_stop_ends_a_wait_for_room),
        THREADED(the_time_that_is_left_counts_down),
        THREADED(the_age_of_the_last_message_grows),
        THREADED(a_slow_consumer_closes_the_watch_and_nothing_is_lost),
        THREADED(an_object_is_packed_in_a_silent_watch),
        THREADED(many_objects_are_packed_in_turns),
        THREADED(an_object_is_packed_in_a_long_backoff),
        THREADED(an_object_stays_young_over_a_new_watch),
        THREADED(objects_are_packed_before_a_list),
        THREADED(objects_are_packed_before_a_wait_for_room),
    };

    return cmocka_run_group_tests(tests, choose_limits, NULL);
}
