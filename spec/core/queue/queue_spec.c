/*
 * queue_spec.c - a key is in the queue once, is handed out to one run at a
 * time, in the order of its lane; and how a queue ends.
 */
#include "queue_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
