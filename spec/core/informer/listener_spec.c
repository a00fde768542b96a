/*
 * listener_spec.c - what waits for one handler: paused and opened, bounded, and
 * its owner woken once per edge.
 */
#include "informer/listener.h"

#include "kubelua/memory.h"
#include "pods.h"
#include "processor_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int wakes;

static void count_wake(void *context)
{
    (void)context;
    wakes++;
}

static void begin(kl__listener *listener, size_t backlog, bool every_change)
{
    wakes = 0;
    kl__listener_init(listener,
                      &(kl__listener_options){.backlog = backlog,
                                              .every_change = every_change,
                                              .wake = count_wake});
}

static void open_empty(kl__listener *listener)
{
    const kl_object_list none = {0};

    assert_int_equal(kl__listener_open(listener, &none, false), KL_OK);
}

static void end(kl__listener *listener)
{
    kl__listener_deinit(listener);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

/* Pushes one change, whose references it takes. */
static bool push(kl__listener *listener, kl__change change, bool initial)
{
    kl__change_list changes = {&change, 1, 1};
    bool begins;

    assert_true(kl__listener_reserve(listener, 1));
    begins = kl__listener_push(listener, &changes, initial);
    kl__listener_free_spares(listener);
    kl_object_unref(change.old);
    kl_object_unref(change.object);
    return begins;
}

static kl__change add(const char *name, int version)
{
    return (kl__change){.type = KL__CHANGE_ADD,
                        .object = pod(name, name, version)};
}

static kl__change update(const char *name, int version)
{
    return (kl__change){.type = KL__CHANGE_UPDATE,
                        .old = pod(name, name, version - 1),
                        .object = pod(name, name, version)};
}

static kl__change removal(const char *name, int version)
{
    return (kl__change){.type = KL__CHANGE_DELETE,
                        .old = pod(name, name, version - 1),
                        .object = pod(name, name, version)};
}

static const char *take_all(kl__listener *listener)
{
    static char text[1024];
    size_t used = 0;
    kl_event event;
    bool made_room;

    text[0] = '\0';
    while (kl__listener_next(listener, &event, &made_room)) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                 used > 0 ? " " : "", rig_describe(&event));
        kl__listener_done(listener, &event);
    }
    return text;
}

static void changes_while_paused_wait_behind_the_snapshot(void **state)
{
    kl__listener listener;
    kl_object_list snapshot = pod_list(2, pod("a", "a", 1), pod("b", "b", 1));

    (void)state;
    begin(&listener, 10, false);
    push(&listener, update("a", 2), false);
    push(&listener, removal("b", 2), false);
    assert_string_equal(take_all(&listener), "");
    assert_int_equal(wakes, 0);
    assert_int_equal(kl__listener_open(&listener, &snapshot, true), KL_OK);
    assert_int_equal(wakes, 1);
    assert_string_equal(take_all(&listener), "i+a@1 i+b@1 synced ~a@1>2 -b@2");
    kl_object_list_clear(&snapshot);
    end(&listener);
}

static void merging_while_paused_and_after_makes_one_history(void **state)
{
    kl__listener listener;
    kl_object_list snapshot = pod_list(2, pod("a", "a", 1), pod("b", "b", 1));

    (void)state;
    begin(&listener, 1, false);
    push(&listener, update("a", 2), false);
    push(&listener, update("a", 3), false);
    assert_int_equal(kl__listener_count(&listener), 1);
    assert_int_equal(kl__listener_open(&listener, &snapshot, true), KL_OK);
    push(&listener, update("a", 4), false);
    push(&listener, removal("b", 2), false);
    assert_string_equal(take_all(&listener), "i+a@1 synced ~a@1>4");
    assert_true(kl__sync_tracker_has_synced(&listener.tracker));
    kl_object_list_clear(&snapshot);
    end(&listener);
}

/* The informing task reserves and pushes under its own lock; a thread that
 * registers a handler opens the listener in between. */
static void changes_reserved_before_open_are_merged_after_it(void **state)
{
    kl__listener listener;
    kl_object_list snapshot = pod_list(2, pod("a", "a", 1), pod("b", "b", 1));
    kl__change batch[] = {update("a", 3), removal("b", 3), add("c", 4),
                          update("a", 5)};
    kl__change_list changes = {batch, 4, 4};

    (void)state;
    begin(&listener, 2, false);
    push(&listener, update("a", 2), false);
    push(&listener, update("b", 2), false);
    assert_true(kl__listener_reserve(&listener, 4));
    assert_int_equal(kl__listener_open(&listener, &snapshot, true), KL_OK);
    kl__listener_push(&listener, &changes, false);
    kl__listener_free_spares(&listener);
    assert_string_equal(take_all(&listener),
                        "i+a@1 i+b@1 synced ~a@1>5 -b@3 +c@4");
    for (size_t i = 0; i < changes.count; i++) {
        kl_object_unref(batch[i].old);
        kl_object_unref(batch[i].object);
    }
    kl_object_list_clear(&snapshot);
    end(&listener);
}

/* The bound that handler.h promises: here it is reached, and kept. */
static void
no_more_waits_than_the_backlog_and_three_for_each_object(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    enum { OBJECTS = 3, BACKLOG = 1, BOUND = BACKLOG + 3 * OBJECTS + 1 };
    kl__listener listener;
    kl_object_list snapshot =
        pod_list(3, pod("a", "a", 1), pod("b", "b", 1), pod("c", "c", 1));
    const kl_error error = {.code = KL_EUNAVAILABLE};

    (void)state;
    begin(&listener, BACKLOG, false);
    for (int i = 0; i < OBJECTS; i++) {
        push(&listener, update(names[i], 2), false);
    }
    for (int round = 3; round < 9; round += 3) {
        for (int i = 0; i < OBJECTS; i++) {
            push(&listener, removal(names[i], round), false);
            push(&listener, add(names[i], round + 1), false);
            push(&listener, update(names[i], round + 2), false);
        }
        assert_int_equal(kl__listener_error(&listener, &error), KL_OK);
    }
    assert_int_equal(kl__listener_open(&listener, &snapshot, true), KL_OK);
    assert_int_equal(kl__listener_count(&listener), BOUND);
    for (int i = 0; i < OBJECTS; i++) {
        push(&listener, update(names[i], 9), false);
        push(&listener, removal(names[i], 10), false);
        assert_true(kl__listener_count(&listener) <= BOUND);
    }
    kl__listener_close(&listener);
    kl_object_list_clear(&snapshot);
    end(&listener);
}

static void the_owner_is_woken_once_per_edge(void **state)
{
    kl__listener listener;

    (void)state;
    begin(&listener, 10, false);
    open_empty(&listener);
    push(&listener, add("a", 1), false);
    push(&listener, update("a", 2), false);
    assert_int_equal(wakes, 1);
    assert_string_equal(take_all(&listener), "+a@1 ~a@1>2");
    push(&listener, update("a", 3), false);
    assert_int_equal(wakes, 2);
    end(&listener);
}

static void the_first_merge_is_reported_once(void **state)
{
    kl__listener listener;

    (void)state;
    begin(&listener, 2, false);
    open_empty(&listener);
    assert_false(push(&listener, add("a", 1), false));
    assert_false(push(&listener, update("a", 2), false));
    assert_true(push(&listener, update("a", 3), false));
    assert_false(push(&listener, update("a", 4), false));
    assert_false(push(&listener, add("b", 1), false));
    assert_string_equal(take_all(&listener), "+a@1 ~a@1>4 +b@1");
    push(&listener, update("a", 5), false);
    push(&listener, update("a", 6), false);
    assert_string_equal(take_all(&listener), "~a@4>5 ~a@5>6");
    end(&listener);
}

static void a_pulled_event_is_not_merged(void **state)
{
    kl__listener listener;
    kl_event event;
    bool made_room;

    (void)state;
    begin(&listener, 1, false);
    open_empty(&listener);
    push(&listener, add("a", 1), false);
    push(&listener, add("b", 1), false);
    assert_true(kl__listener_next(&listener, &event, &made_room));
    push(&listener, update("a", 2), false);
    assert_string_equal(rig_describe(&event), "+a@1");
    kl__listener_done(&listener, &event);
    assert_string_equal(take_all(&listener), "+b@1 ~a@1>2");
    end(&listener);
}

static void every_change_disables_coalescing(void **state)
{
    kl__listener listener;
    kl_event event;
    bool made_room;

    (void)state;
    begin(&listener, 1, true);
    open_empty(&listener);
    assert_false(push(&listener, add("a", 1), false));
    assert_true(kl__listener_is_full(&listener));
    assert_false(push(&listener, update("a", 2), false));
    assert_false(push(&listener, removal("a", 3), false));
    assert_true(kl__listener_next(&listener, &event, &made_room));
    assert_false(made_room);
    kl__listener_done(&listener, &event);
    assert_true(kl__listener_next(&listener, &event, &made_room));
    assert_false(made_room);
    kl__listener_done(&listener, &event);
    assert_true(kl__listener_next(&listener, &event, &made_room));
    assert_true(made_room);
    kl__listener_done(&listener, &event);
    assert_false(kl__listener_is_full(&listener));
    end(&listener);
}

static void beyond_the_backlog_one_error_of_a_sort_waits(void **state)
{
    kl__listener listener;
    kl_error first = {.message = "first"}, second = {.message = "second"};
    kl_error third = {.message = "third"};
    kl_error a = {.code = KL_EUNREADABLE, .message = "a cannot be read"};
    kl_error b = {.code = KL_EUNREADABLE, .message = "b cannot be read"};

    (void)state;
    begin(&listener, 2, false);
    open_empty(&listener);
    assert_int_equal(kl__listener_error(&listener, &first), KL_OK);
    push(&listener, add("a", 1), false);
    assert_int_equal(kl__listener_error(&listener, &second), KL_OK);
    assert_int_equal(kl__listener_error(&listener, &a), KL_OK);
    assert_int_equal(kl__listener_error(&listener, &third), KL_OK);
    assert_int_equal(kl__listener_error(&listener, &b), KL_OK);
    assert_string_equal(take_all(&listener),
                        "+a@1 error:third error:b cannot be read");
    end(&listener);
}

static size_t before_mark(kl__listener *listener)
{
    size_t count = 99;

    assert_true(kl__listener_marked(listener, &count));
    return count;
}

static void what_comes_after_a_mark_is_not_merged_before_it(void **state)
{
    kl__listener listener;

    (void)state;
    begin(&listener, 1, false);
    open_empty(&listener);
    push(&listener, add("a", 1), false);
    push(&listener, add("b", 1), false);
    assert_true(kl__listener_mark(&listener));
    push(&listener, update("a", 2), false);
    push(&listener, update("a", 3), false);
    push(&listener, removal("b", 2), false);
    assert_int_equal(before_mark(&listener), 2);
    assert_string_equal(take_all(&listener), "+a@1 +b@1 ~a@1>3 -b@2");
    assert_int_equal(before_mark(&listener), 0);
    push(&listener, add("c", 1), false);
    kl__listener_unmark(&listener);
    push(&listener, add("d", 1), false);
    assert_true(kl__listener_mark(&listener));
    assert_int_equal(before_mark(&listener), 2);
    kl__listener_unmark(&listener);
    push(&listener, removal("c", 2), false);
    assert_string_equal(take_all(&listener), "+d@1");
    end(&listener);
}

static void
an_error_that_leaves_its_place_before_a_mark_is_not_counted(void **state)
{
    kl__listener listener;
    kl_error first = {.message = "first"}, second = {.message = "second"};
    kl_error third = {.message = "third"};

    (void)state;
    begin(&listener, 1, false);
    open_empty(&listener);
    push(&listener, add("a", 1), false);
    assert_int_equal(kl__listener_error(&listener, &first), KL_OK);
    assert_true(kl__listener_mark(&listener));
    assert_int_equal(before_mark(&listener), 2);
    assert_int_equal(kl__listener_error(&listener, &second), KL_OK);
    assert_int_equal(before_mark(&listener), 1);
    assert_int_equal(kl__listener_error(&listener, &third), KL_OK);
    assert_int_equal(before_mark(&listener), 1);
    assert_string_equal(take_all(&listener), "+a@1 error:third");
    end(&listener);
}

static void
the_snapshot_of_a_listener_that_opens_is_before_its_mark(void **state)
{
    kl__listener listener;
    kl_object_list objects = pod_list(1, pod("a", "a", 1));

    (void)state;
    begin(&listener, 10, false);
    assert_true(kl__listener_mark(&listener));
    push(&listener, add("b", 2), false);
    assert_int_equal(kl__listener_open(&listener, &objects, true), KL_OK);
    assert_int_equal(before_mark(&listener), 2);
    assert_string_equal(take_all(&listener), "i+a@1 synced +b@2");
    kl_object_list_clear(&objects);
    end(&listener);
}

static void close_drops_waiting_events_and_refuses_more(void **state)
{
    kl__listener listener;
    kl_error error = {.message = "late"};
    kl_object_list objects = pod_list(1, pod("a", "a", 1));

    (void)state;
    begin(&listener, 10, false);
    open_empty(&listener);
    push(&listener, add("a", 1), false);
    kl__listener_close(&listener);
    push(&listener, update("a", 2), false);
    assert_int_equal(kl__listener_error(&listener, &error), KL_OK);
    assert_int_equal(kl__listener_resync(&listener, &objects), KL_OK);
    assert_int_equal(kl__listener_count(&listener), 0);
    assert_string_equal(take_all(&listener), "");
    kl_object_list_clear(&objects);
    end(&listener);
}

static void a_uid_change_stays_a_delete_and_an_add(void **state)
{
    kl__listener listener;

    (void)state;
    begin(&listener, 1, false);
    open_empty(&listener);
    push(&listener, add("a", 1), false);
    push(&listener, add("x", 1), false);
    assert_string_equal(take_all(&listener), "+a@1 +x@1");
    push(&listener, add("y", 1), false);
    for (int version = 2; version < 20; version += 2) {
        push(&listener, removal("a", version), false);
        push(&listener, add("a", version + 1), false);
    }
    assert_string_equal(take_all(&listener), "+y@1 -a@2 +a@19");
    end(&listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_while_paused_wait_behind_the_snapshot),
        cmocka_unit_test(merging_while_paused_and_after_makes_one_history),
        cmocka_unit_test(changes_reserved_before_open_are_merged_after_it),
        cmocka_unit_test(
            no_more_waits_than_the_backlog_and_three_for_each_object),
        cmocka_unit_test(the_owner_is_woken_once_per_edge),
        cmocka_unit_test(the_first_merge_is_reported_once),
        cmocka_unit_test(a_pulled_event_is_not_merged),
        cmocka_unit_test(every_change_disables_coalescing),
        cmocka_unit_test(beyond_the_backlog_one_error_of_a_sort_waits),
        cmocka_unit_test(what_comes_after_a_mark_is_not_merged_before_it),
        cmocka_unit_test(
            an_error_that_leaves_its_place_before_a_mark_is_not_counted),
        cmocka_unit_test(
            the_snapshot_of_a_listener_that_opens_is_before_its_mark),
        cmocka_unit_test(close_drops_waiting_events_and_refuses_more),
        cmocka_unit_test(a_uid_change_stays_a_delete_and_an_add),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
