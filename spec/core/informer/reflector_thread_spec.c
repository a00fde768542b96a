/*
 * reflector_thread_spec.c - a reflector on its thread: stopped wherever it
 * waits, and behind a consumer that is slow.
 */
#include "reflector_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADED(a_stop_ends_a_silent_watch),
        THREADED(a_stop_ends_a_backoff),
        THREADED(a_stop_ends_a_wait_for_room),
        THREADED(the_time_that_is_left_counts_down),
        THREADED(the_age_of_the_last_message_grows),
        THREADED(a_slow_consumer_closes_the_watch_and_nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
