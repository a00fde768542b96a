/*
 * health_spec.c - the one place that knows whether an informer has synced or
 * ended, and which error stands.
 */
#include "informer/health.h"

#include "kubelua/handler.h"
#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct world {
    kl__clock *clock; /* a fake one, at 0 */
    kl__health health;
    kl__sync_waiters waiters;
    kl__thread thread;
    kl_code code; /* what the thread's wait said */
} world;

static int set_up(void **state)
{
    static world self;

    self = (world){.clock = kl__clock_fake(0)};
    assert_non_null(self.clock);
    kl__health_init(&self.health, self.clock);
    *state = &self;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl__health_deinit(&self->health);
    kl__clock_fake_free(self->clock);
    return kl_live_count(KL_LIVE_THREAD) == 0 &&
                   kl_live_count(KL_LIVE_QUEUE) == 0
               ? 0
               : -1;
}

static void *wait_for_sync(void *arg)
{
    world *self = arg;

    self->code = kl__health_wait_synced(&self->health, &self->waiters, 5000);
    kl__health_end_wait(&self->health, &self->waiters);
    return NULL;
}

static void start_waiting(world *self)
{
    assert_int_equal(
        kl__thread_start(&self->thread, "waiter", wait_for_sync, self, NULL),
        KL_OK);
    assert_true(kl__clock_await_waiters(self->clock, 1));
}

static void a_wait_ends_with_the_first_list(void **state)
{
    world *self = *state;

    start_waiting(self);
    kl__health_begin_sync(&self->health);
    kl__health_end_sync(&self->health, true);
    kl__thread_join(&self->thread);
    assert_int_equal(self->code, KL_OK);
    assert_true(kl__health_has_synced(&self->health));
    kl__health_end(&self->health);
    assert_int_equal(kl__health_wait_synced(&self->health, &self->waiters, 0),
                     KL_OK);
    kl__health_end_wait(&self->health, &self->waiters);
}

static void a_first_list_that_fails_to_apply_does_not_sync(void **state)
{
    world *self = *state;

    kl__health_begin_sync(&self->health);
    kl__health_end_sync(&self->health, false);
    assert_false(kl__health_has_synced(&self->health));
    assert_int_equal(kl__health_wait_synced(&self->health, &self->waiters, 0),
                     KL_ETIMEOUT);
    kl__health_end_wait(&self->health, &self->waiters);
}

static void a_wait_ends_with_the_informer(void **state)
{
    world *self = *state;

    start_waiting(self);
    kl__health_end(&self->health);
    kl__thread_join(&self->thread);
    assert_int_equal(self->code, KL_ECLOSED);
}

static void cancelling_waits_returns_after_the_last_waiter(void **state)
{
    world *self = *state;

    start_waiting(self);
    kl__health_cancel_waits(&self->health, &self->waiters);
    assert_int_equal(self->waiters.count, 0);
    kl__thread_join(&self->thread);
    assert_int_equal(self->code, KL_ECLOSED);
}

/* True if the queue was woken since the last call. */
static bool was_woken(kl_event_queue *queue)
{
    bool is_woken = kl_event_queue_wait(queue, 0) == KL_OK;

    assert_null(kl_event_queue_next(queue));
    return is_woken;
}

static void a_queue_is_woken_once_and_not_after_a_cancel(void **state)
{
    world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);
    kl_event_queue *other = kl_event_queue_new(NULL);
    kl__sync_waiters others = {0};

    kl__health_wake_synced(&self->health, &self->waiters, queue);
    kl__health_wake_synced(&self->health, &others, other);
    assert_false(was_woken(queue));
    kl__health_cancel_waits(&self->health, &others);
    kl__health_begin_sync(&self->health);
    kl__health_end_sync(&self->health, true);
    kl__health_end(&self->health);
    assert_true(was_woken(queue));
    assert_false(was_woken(other));
    kl__health_wake_synced(&self->health, &self->waiters, queue);
    assert_true(was_woken(queue));
    kl_event_queue_free(queue);
    kl_event_queue_free(other);
}

static const kl_error no = {.code = KL_EFORBIDDEN, .message = "no"};
static const kl_error gone = {.code = KL_EGONE, .message = "expired"};

static uint64_t told(world *self)
{
    kl_error reason;

    return kl__health_told(&self->health, &reason);
}

static void an_error_keeps_its_number_until_recovery(void **state)
{
    world *self = *state;
    kl_error reason;

    assert_int_equal(kl__health_fail(&self->health, &no, false), 1);
    assert_int_equal(kl__health_fail(&self->health, &no, false), 0);
    assert_int_equal(kl__health_fail(&self->health, &gone, false), 2);
    assert_int_equal(told(self), 2);
    assert_true(kl__health_recover(&self->health, &reason));
    assert_string_equal(reason.message, "expired");
    assert_false(kl__health_recover(&self->health, NULL));
    assert_int_equal(told(self), 0);
    assert_int_equal(kl__health_fail(&self->health, &gone, false), 3);
}

static void a_quiet_failure_is_in_the_status_only(void **state)
{
    world *self = *state;
    kl_error error;

    assert_int_equal(kl__health_fail(&self->health, &no, true), 0);
    assert_int_equal(told(self), 0);
    kl__health_error(&self->health, &error);
    assert_string_equal(error.message, "no");
    kl__health_forget(&self->health);
    kl__health_error(&self->health, &error);
    assert_int_equal(error.code, KL_OK);
    assert_string_equal(error.message, "");
}

static void an_error_that_comes_back_has_its_old_number(void **state)
{
    world *self = *state;

    assert_int_equal(kl__health_fail(&self->health, &no, false), 1);
    kl__health_forget(&self->health);
    assert_int_equal(told(self), 0);
    assert_int_equal(kl__health_fail(&self->health, &gone, true), 0);
    assert_int_equal(kl__health_fail(&self->health, &no, false), 1);
    assert_int_equal(kl__health_fail(&self->health, &no, false), 0);
    assert_int_equal(told(self), 1);
}

static void an_error_that_was_not_queued_is_reported_next_time(void **state)
{
    world *self = *state;

    assert_int_equal(kl__health_fail(&self->health, &no, false), 1);
    kl__health_untell(&self->health);
    assert_int_equal(told(self), 0);
    assert_int_equal(kl__health_fail(&self->health, &no, false), 2);
}

#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_wait_ends_with_the_first_list),
        SPEC(a_first_list_that_fails_to_apply_does_not_sync),
        SPEC(a_wait_ends_with_the_informer),
        SPEC(cancelling_waits_returns_after_the_last_waiter),
        SPEC(a_queue_is_woken_once_and_not_after_a_cancel),
        SPEC(an_error_keeps_its_number_until_recovery),
        SPEC(a_quiet_failure_is_in_the_status_only),
        SPEC(an_error_that_comes_back_has_its_old_number),
        SPEC(an_error_that_was_not_queued_is_reported_next_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
