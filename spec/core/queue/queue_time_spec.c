/*
 * queue_time_spec.c - one timer for a key, events that are gathered, the
 * backoff of failures, and how a loop learns of it.
 */
#include "queue_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_timer_makes_its_key_wait_until_it_is_due(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_after(&rig, "a", 1000);
    assert_int_equal(kl_queue_due_in(rig.queue), 1000);
    kl_queue_advance(rig.queue, 999);
    assert_string_equal(queue_rig_take_all(&rig), "");
    assert_int_equal(kl_queue_due_in(rig.queue), 1);
    kl_queue_advance(rig.queue, 1);
    assert_int_equal(kl_queue_due_in(rig.queue), 0);
    assert_string_equal(queue_rig_take_all(&rig), "a");
    assert_int_equal(kl_queue_due_in(rig.queue), -1);
    queue_rig_end(&rig);
}

static void timers_fire_in_the_order_of_their_due_times(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_after(&rig, "c", 30);
    queue_rig_add_after(&rig, "a", 10);
    queue_rig_add_after(&rig, "b2", 20);
    queue_rig_add_after(&rig, "b1", 20);
    kl_queue_advance(rig.queue, 40);
    queue_rig_add(&rig, "late");
    assert_string_equal(queue_rig_take_all(&rig), "a b2 b1 c late");
    queue_rig_end(&rig);
}

static void a_new_timer_of_a_key_replaces_the_old_one(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_after(&rig, "a", 10);
    queue_rig_add_after(&rig, "a", 1000);
    assert_int_equal(kl_queue_due_in(rig.queue), 1000);
    queue_rig_add_after(&rig, "a", 100);
    assert_int_equal(queue_rig_status(&rig).delayed, 1);
    assert_int_equal(kl_queue_due_in(rig.queue), 100);
    queue_rig_add_after(&rig, "a", 0); /* now */
    assert_int_equal(kl_queue_due_in(rig.queue), 0);
    queue_rig_end(&rig);
}

static void a_run_clears_the_timer_of_its_key_and_reports_it(void **state)
{
    queue_rig rig;
    kl_queue_item item;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    assert_false(queue_rig_take(&rig, "a").has_timer);
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_AFTER, 60000), 60000);
    kl_queue_advance(rig.queue, 20000);
    queue_rig_add(&rig, "a");
    item = queue_rig_take(&rig, "a");
    assert_true(item.has_timer);
    assert_int_equal(item.timer_ms, 40000);
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_DONE, 0), -1);
    kl_queue_advance(rig.queue, 60000);
    assert_string_equal(queue_rig_take_all(&rig), "");
    queue_rig_end(&rig);
}

static void a_run_started_by_a_timer_reports_the_timer(void **state)
{
    queue_rig rig;
    kl_queue_item item;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_after(&rig, "a", 100);
    kl_queue_advance(rig.queue, 130);
    item = queue_rig_take(&rig, "a");
    assert_true(item.has_timer);
    assert_int_equal(item.timer_ms, -30);
    assert_int_equal(item.waited_ms, 30);
    queue_rig_end(&rig);
}

static void a_timer_set_during_a_run_survives_its_result(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    (void)queue_rig_take(&rig, "a");
    queue_rig_add_after(&rig, "a", 50);
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_DONE, 0), 50);
    kl_queue_advance(rig.queue, 50);
    (void)queue_rig_take(&rig, "a");
    queue_rig_add_after(&rig, "a", 50);
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_AFTER, 900), 50);
    kl_queue_advance(rig.queue, 50);
    (void)queue_rig_take(&rig, "a");
    queue_rig_add_after(&rig, "a", 50);
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_AFTER, 20), 20);
    kl_queue_advance(rig.queue, 20);
    (void)queue_rig_take(&rig, "a");
    queue_rig_add_after(&rig, "a", 50);
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_FAILED, 5000), 50);
    queue_rig_end(&rig);
}

static void a_timer_moves_a_key_from_the_rear_to_the_front_lane(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_after(&rig, "a", 100);
    queue_rig_add_rear(&rig, "b");
    queue_rig_add_rear(&rig, "a"); /* a resync, while the timer runs */
    assert_int_equal(queue_rig_status(&rig).waiting_rear, 2);
    kl_queue_advance(rig.queue, 100);
    assert_int_equal(queue_rig_status(&rig).waiting_rear, 1);
    assert_string_equal(queue_rig_take_all(&rig), "a b");
    queue_rig_end(&rig);
}

static void a_delay_beyond_the_clock_sets_no_timer(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    kl_queue_advance(rig.queue, 5);
    queue_rig_add_after(&rig, "a", INT64_MAX);
    assert_int_equal(queue_rig_status(&rig).delayed, 0);
    queue_rig_add(&rig, "a");
    (void)queue_rig_take(&rig, "a");
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_AFTER, INT64_MAX), -1);
    queue_rig_end(&rig);
}

static void events_are_coalesced_for_gather_ms_after_the_first(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 100);
    queue_rig_add(&rig, "a");
    kl_queue_advance(rig.queue, 60);
    queue_rig_add(&rig, "a"); /* joins, and puts nothing off */
    assert_int_equal(kl_queue_due_in(rig.queue), 40);
    kl_queue_advance(rig.queue, 40);
    (void)queue_rig_take(&rig, "a");
    queue_rig_add(&rig, "a"); /* the next 100 ms begin */
    kl_queue_advance(rig.queue, 30);
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_DONE, 0), 70);
    kl_queue_advance(rig.queue, 70);
    (void)queue_rig_take(&rig, "a");
    queue_rig_add(&rig, "a");
    kl_queue_advance(rig.queue, 500); /* a long run */
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_DONE, 0), 0);
    queue_rig_end(&rig);
}

static void coalesced_events_take_the_best_lane(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 100);
    queue_rig_add_rear(&rig, "r");
    queue_rig_add_rear(&rig, "both");
    queue_rig_add(&rig, "both");
    kl_queue_advance(rig.queue, 100);
    assert_string_equal(queue_rig_take_all(&rig), "both r");
    queue_rig_end(&rig);
}

static void backoff_doubles_from_100_ms_to_300_s(void **state)
{
    static const int64_t d[] = {100,    200,    400,   800,   1600,
                                3200,   6400,   12800, 25600, 51200,
                                102400, 150000, 150000};
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    for (uint64_t i = 0; i < sizeof(d) / sizeof(d[0]); i++) {
        int64_t wait_ms;

        assert_int_equal(queue_rig_take(&rig, "a").attempt, i + 1);
        wait_ms = queue_rig_done(&rig, "a", KL_RESULT_FAILED, -1);
        assert_in_range(wait_ms, d[i], 2 * d[i] - 1);
        kl_queue_advance(rig.queue, wait_ms - 1);
        assert_string_equal(queue_rig_take_all(&rig), "");
        kl_queue_advance(rig.queue, 1);
    }
    queue_rig_end(&rig);
}

static void a_success_or_forget_resets_the_backoff(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    for (int i = 0; i < 2; i++) {
        queue_rig_add(&rig, "a");
        for (int j = 0; j < 5; j++) {
            kl_queue_advance(rig.queue, queue_rig_fail(&rig, "a"));
        }
        assert_int_equal(queue_rig_take(&rig, "a").attempt, 6);
        queue_rig_done(&rig, "a", i == 0 ? KL_RESULT_DONE : KL_RESULT_AFTER, 1);
        kl_queue_advance(rig.queue, 1);
        queue_rig_add(&rig, "a");
        assert_in_range(queue_rig_fail(&rig, "a"), 100, 199);
        assert_int_equal(queue_rig_status(&rig).failing, 1);
        kl_queue_forget(rig.queue, "a");
        assert_int_equal(queue_rig_status(&rig).failing, 0);
        kl_queue_advance(rig.queue, 200);
        assert_int_equal(queue_rig_take(&rig, "a").attempt, 1);
        assert_in_range(queue_rig_done(&rig, "a", KL_RESULT_FAILED, -1), 100,
                        199);
        queue_rig_add(&rig, "a");
        (void)queue_rig_take(&rig, "a");
        queue_rig_done(&rig, "a", KL_RESULT_DONE, 0);
    }
    queue_rig_end(&rig);
}

static void a_paced_run_backs_off_but_is_not_a_failure(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    kl_queue_advance(rig.queue, queue_rig_fail(&rig, "a"));
    assert_int_equal(queue_rig_take(&rig, "a").attempt, 2);
    assert_in_range(queue_rig_done(&rig, "a", KL_RESULT_PACED, -1), 200, 399);
    assert_int_equal(queue_rig_status(&rig).failing, 0);
    queue_rig_add_related(&rig, "a");
    assert_string_equal(queue_rig_take_all(&rig), "");
    kl_queue_advance(rig.queue, 400);
    assert_int_equal(queue_rig_take(&rig, "a").attempt, 1);
    assert_in_range(queue_rig_done(&rig, "a", KL_RESULT_PACED, -1), 400, 799);
    queue_rig_end(&rig);
}

static void retry_after_is_the_minimum_of_the_backoff(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    (void)queue_rig_take(&rig, "a");
    assert_in_range(queue_rig_done(&rig, "a", KL_RESULT_FAILED, 7000), 7000,
                    7099);
    kl_queue_advance(rig.queue, 7100);
    (void)queue_rig_take(&rig, "a");
    assert_in_range(queue_rig_done(&rig, "a", KL_RESULT_FAILED, INT64_MAX),
                    300000, 300199);
    queue_rig_end(&rig);
}

static void an_event_of_the_key_itself_ends_its_backoff(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    (void)queue_rig_take(&rig, "a");
    queue_rig_done(&rig, "a", KL_RESULT_FAILED, 60000);
    queue_rig_add(&rig, "a");
    assert_int_equal(queue_rig_take(&rig, "a").attempt, 2);
    queue_rig_add(&rig, "a"); /* also one that comes during the run */
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_FAILED, 60000), 0);
    assert_int_equal(queue_rig_take(&rig, "a").attempt, 3);
    queue_rig_done(&rig, "a", KL_RESULT_DONE, 0);
    kl_queue_advance(rig.queue, 300000);
    assert_string_equal(queue_rig_take_all(&rig), "");
    queue_rig_end(&rig);
}

static void an_event_of_a_related_object_does_not_end_a_backoff(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    (void)queue_rig_take(&rig, "a");
    queue_rig_add_related(&rig, "a");
    assert_in_range(queue_rig_done(&rig, "a", KL_RESULT_FAILED, 1000), 1000,
                    1099);
    queue_rig_add_related(&rig, "a");
    assert_string_equal(queue_rig_take_all(&rig), "");
    kl_queue_advance(rig.queue, 1100);
    assert_string_equal(queue_rig_take_all(&rig), "a");
    assert_int_equal(queue_rig_done(&rig, "a", KL_RESULT_DONE, 0), -1);
    queue_rig_add_after(&rig, "a", 1000); /* a timer is no backoff */
    queue_rig_add_related(&rig, "a");
    assert_string_equal(queue_rig_take_all(&rig), "a");
    queue_rig_end(&rig);
}

static void a_timer_can_shorten_a_backoff_but_not_extend_it(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    (void)queue_rig_take(&rig, "a");
    queue_rig_done(&rig, "a", KL_RESULT_FAILED, 1000);
    queue_rig_add_after(&rig, "a", 60000);
    assert_in_range(kl_queue_due_in(rig.queue), 1000, 1099);
    queue_rig_add_after(&rig, "a", 500);
    assert_int_equal(kl_queue_due_in(rig.queue), 500);
    queue_rig_add_related(&rig, "a"); /* it is a backoff still */
    assert_int_equal(kl_queue_due_in(rig.queue), 500);
    queue_rig_end(&rig);
}

static void coalescing_does_not_delay_a_retry_that_is_due(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 10000);
    queue_rig_add(&rig, "a");
    kl_queue_advance(rig.queue, 10000);
    assert_in_range(queue_rig_fail(&rig, "a"), 100, 199);
    queue_rig_add(&rig, "a");
    assert_in_range(kl_queue_due_in(rig.queue), 100, 199);
    queue_rig_end(&rig);
}

static void a_retry_waits_in_the_lane_of_the_failed_run(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_rear(&rig, "initial");
    queue_rig_add_rear(&rig, "lifted");
    queue_rig_fail(&rig, "initial");
    queue_rig_fail(&rig, "lifted");
    queue_rig_add_related(&rig, "lifted");
    kl_queue_advance(rig.queue, 200);
    queue_rig_add(&rig, "news");
    assert_string_equal(queue_rig_take_all(&rig), "lifted news initial");
    queue_rig_end(&rig);
}

static void the_loop_is_woken_once_until_the_queue_is_empty(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    queue_rig_add(&rig, "b");
    assert_int_equal(rig.wakes, 1);
    (void)queue_rig_take(&rig, "a");
    queue_rig_add(&rig, "c");
    assert_int_equal(rig.wakes, 1); /* it has not said that nothing is left */
    assert_string_equal(queue_rig_take_all(&rig), "b c");
    queue_rig_add(&rig, "c");
    assert_int_equal(rig.wakes, 1); /* in progress: nothing to pull */
    queue_rig_done(&rig, "c", KL_RESULT_DONE, 0);
    assert_int_equal(rig.wakes, 2);
    queue_rig_end(&rig);
}

static void the_loop_is_woken_when_an_earlier_timer_is_set(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_after(&rig, "a", 1000);
    assert_int_equal(rig.wakes, 1);
    assert_string_equal(queue_rig_take_all(&rig), "");
    queue_rig_add_after(&rig, "b", 2000);
    assert_int_equal(rig.wakes, 1);
    queue_rig_add_after(&rig, "b", 500);
    assert_int_equal(rig.wakes, 2);
    assert_string_equal(queue_rig_take_all(&rig), "");
    kl_queue_advance(rig.queue, 500); /* the clock that moved tells too */
    assert_int_equal(rig.wakes, 3);
    queue_rig_end(&rig);
}

static void a_loop_told_a_later_time_is_woken_for_an_earlier_one(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add_after(&rig, "a", 3);
    assert_string_equal(queue_rig_take_all(&rig), "");
    queue_rig_add_after(&rig, "a", 300); /* put off */
    assert_int_equal(kl_queue_due_in(rig.queue), 300);
    assert_int_equal(rig.wakes, 1);
    queue_rig_add_after(&rig, "b", 100);
    assert_int_equal(rig.wakes, 2);
    queue_rig_end(&rig);
}

static void the_loop_is_woken_when_the_queue_is_finished(void **state)
{
    queue_rig rig;

    (void)state;
    queue_rig_begin(&rig, 0);
    queue_rig_add(&rig, "a");
    assert_string_equal(queue_rig_take_all(&rig), "a");
    kl_queue_drain(rig.queue);
    assert_int_equal(rig.wakes, 1);
    queue_rig_done(&rig, "a", KL_RESULT_DONE, 0);
    assert_int_equal(rig.wakes, 2);
    kl_queue_shut_down(rig.queue);
    assert_int_equal(rig.wakes, 2);
    queue_rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_makes_its_key_wait_until_it_is_due),
        cmocka_unit_test(timers_fire_in_the_order_of_their_due_times),
        cmocka_unit_test(a_new_timer_of_a_key_replaces_the_old_one),
        cmocka_unit_test(a_run_clears_the_timer_of_its_key_and_reports_it),
        cmocka_unit_test(a_run_started_by_a_timer_reports_the_timer),
        cmocka_unit_test(a_timer_set_during_a_run_survives_its_result),
        cmocka_unit_test(a_timer_moves_a_key_from_the_rear_to_the_front_lane),
        cmocka_unit_test(a_delay_beyond_the_clock_sets_no_timer),
        cmocka_unit_test(events_are_coalesced_for_gather_ms_after_the_first),
        cmocka_unit_test(coalesced_events_take_the_best_lane),
        cmocka_unit_test(backoff_doubles_from_100_ms_to_300_s),
        cmocka_unit_test(a_success_or_forget_resets_the_backoff),
        cmocka_unit_test(a_paced_run_backs_off_but_is_not_a_failure),
        cmocka_unit_test(retry_after_is_the_minimum_of_the_backoff),
        cmocka_unit_test(an_event_of_the_key_itself_ends_its_backoff),
        cmocka_unit_test(an_event_of_a_related_object_does_not_end_a_backoff),
        cmocka_unit_test(a_timer_can_shorten_a_backoff_but_not_extend_it),
        cmocka_unit_test(coalescing_does_not_delay_a_retry_that_is_due),
        cmocka_unit_test(a_retry_waits_in_the_lane_of_the_failed_run),
        cmocka_unit_test(the_loop_is_woken_once_until_the_queue_is_empty),
        cmocka_unit_test(the_loop_is_woken_when_an_earlier_timer_is_set),
        cmocka_unit_test(a_loop_told_a_later_time_is_woken_for_an_earlier_one),
        cmocka_unit_test(the_loop_is_woken_when_the_queue_is_finished),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
