/*
 * sync_tracker_spec.c - the tracker counts the initial objects that a handler
 * has still to handle.
 */
#include "cache/sync_tracker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_empty_list_has_synced_when_complete(void **state)
{
    kl__sync_tracker tracker = {0};

    (void)state;
    assert_false(kl__sync_tracker_has_synced(&tracker));
    kl__sync_tracker_complete(&tracker);
    assert_true(kl__sync_tracker_has_synced(&tracker));
}

static void
handled_objects_do_not_count_before_the_list_is_complete(void **state)
{
    kl__sync_tracker tracker = {0};

    (void)state;
    kl__sync_tracker_start(&tracker);
    kl__sync_tracker_finish(&tracker);
    assert_false(kl__sync_tracker_has_synced(&tracker));
    kl__sync_tracker_complete(&tracker);
    assert_true(kl__sync_tracker_has_synced(&tracker));
}

static void a_tracker_has_synced_after_the_last_object(void **state)
{
    kl__sync_tracker tracker = {0};

    (void)state;
    kl__sync_tracker_start(&tracker);
    kl__sync_tracker_start(&tracker);
    kl__sync_tracker_complete(&tracker);
    kl__sync_tracker_finish(&tracker);
    assert_false(kl__sync_tracker_has_synced(&tracker));
    kl__sync_tracker_finish(&tracker);
    assert_true(kl__sync_tracker_has_synced(&tracker));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_has_synced_when_complete),
        cmocka_unit_test(
            handled_objects_do_not_count_before_the_list_is_complete),
        cmocka_unit_test(a_tracker_has_synced_after_the_last_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
