/*
 * sim_watch_spec.c - WATCH through the in-process transport: where it begins,
 * its events, bookmarks, and its end.
 */
#include "sim_rig.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

#define STREAMING "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"

/* Replaces the sim_rig's simulator by one with options. */
static void restart(sim_rig *f, const kl_sim_options *options)
{
    kl_transport_unref(f->transport);
    kl_sim_unref(f->sim);
    f->sim = kl_sim_new(options, NULL);
    assert_non_null(f->sim);
    f->transport = kl_sim_transport(f->sim, NULL);
    assert_non_null(f->transport);
}

static void watch(sim_rig *f, sim_watch *stream, const char *query)
{
    char target[1024];

    snprintf(target, sizeof(target), CONFIGMAPS "?watch=true&%s", query);
    sim_watch_open(stream, f->transport, "", target);
}

static void labels(sim_rig *f, const char *name, const char *value)
{
    char target[256], body[256];

    snprintf(target, sizeof(target), CONFIGMAPS "/%s", name);
    snprintf(body, sizeof(body), "{\"metadata\":{\"labels\":{\"x\":%s}}}",
             value);
    sim_expect(f->sim, "PATCH", target, body, 200);
}

static void a_watch_from_a_version_shows_what_happened_since(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    sim_add(f->sim, "a"); /* 4 */
    sim_add(f->sim, "b"); /* 5 */
    watch(f, &stream, "resourceVersion=4");
    sim_touch(f->sim, "a", "1");
    sim_expect(f->sim, "DELETE", CONFIGMAPS "/b", NULL, 200);
    sim_watch_expect(&stream, "ADDED", "b");
    sim_watch_expect(&stream, "MODIFIED", "a");
    sim_watch_expect(&stream, "DELETED", "b");
    assert_string_equal(
        sim_text(stream.event, "object.metadata.resourceVersion"), "7");
    assert_string_equal(sim_text(stream.event, "object.kind"), "ConfigMap");
    sim_watch_expect_silence(&stream);
    sim_watch_close(&stream);
}

static void a_watch_without_a_version_begins_with_added_events(void **state)
{
    sim_rig *f = *state;
    static const char *const queries[] = {"", "resourceVersion=0",
                                          "resourceVersion="};

    sim_add(f->sim, "b");
    sim_add(f->sim, "a");
    for (size_t i = 0; i < 3; i++) {
        sim_watch stream;

        watch(f, &stream, queries[i]);
        sim_watch_expect(&stream, "ADDED", "a");
        sim_watch_expect(&stream, "ADDED", "b");
        sim_watch_expect_silence(&stream);
        sim_watch_close(&stream);
    }
}

static void a_streaming_list_marks_its_end(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    sim_add(f->sim, "a");
    watch(f, &stream, "allowWatchBookmarks=true" STREAMING);
    sim_watch_expect(&stream, "ADDED", "a");
    assert_string_equal(sim_watch_next(&stream), "BOOKMARK");
    assert_string_equal(
        sim_text(stream.event,
                 "object.metadata.annotations[\"k8s.io/initial-events-end\"]"),
        "true");
    assert_string_equal(
        sim_text(stream.event, "object.metadata.resourceVersion"), "4");
    assert_string_equal(sim_text(stream.event, "object.kind"), "ConfigMap");
    sim_touch(f->sim, "a", "1");
    sim_watch_expect(&stream, "MODIFIED", "a");
    sim_watch_close(&stream);
}

static void a_streaming_list_without_bookmarks_has_no_mark(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    watch(f, &stream, "x" STREAMING);
    sim_add(f->sim, "a");
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_close(&stream);
    watch(f, &stream,
          "sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
    sim_add(f->sim, "b");
    sim_watch_expect(&stream, "ADDED", "b");
    sim_watch_close(&stream);
}

static void a_selector_turns_updates_into_added_and_deleted(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    sim_add(f->sim, "a");
    watch(f, &stream, "resourceVersion=4&labelSelector=x%3Dy");
    labels(f, "a", "\"z\"");
    labels(f, "a", "\"y\"");
    sim_touch(f->sim, "a", "1");
    labels(f, "a", "null");
    sim_touch(f->sim, "a", "2");
    labels(f, "a", "\"y\"");
    sim_expect(f->sim, "DELETE", CONFIGMAPS "/a", NULL, 200);
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_expect(&stream, "MODIFIED", "a");
    sim_watch_expect(&stream, "DELETED", "a");
    /* What it was when it was last selected, at the version of its leaving. */
    assert_string_equal(sim_text(stream.event, "object.metadata.labels.x"),
                        "y");
    assert_string_equal(
        sim_text(stream.event, "object.metadata.resourceVersion"), "8");
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_expect(&stream, "DELETED", "a");
    sim_watch_expect_silence(&stream);
    sim_watch_close(&stream);
}

static void a_watch_sees_its_namespace_and_name_only(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    sim_expect(f->sim, "POST", "/api/v1/namespaces/kube-system/configmaps",
               "{\"metadata\":{\"name\":\"a\"}}", 201);
    sim_add(f->sim, "b");
    sim_add(f->sim, "c");
    watch(f, &stream, "resourceVersion=3&fieldSelector=metadata.name%3Dc");
    sim_watch_expect(&stream, "ADDED", "c");
    sim_watch_expect_silence(&stream);
    sim_watch_close(&stream);
    watch(f, &stream, "resourceVersion=3");
    sim_watch_expect(&stream, "ADDED", "b");
    sim_watch_close(&stream);
}

static void a_compacted_version_is_a_410_error_event(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    sim_add(f->sim, "a");
    sim_touch(f->sim, "a", "1");
    kl_sim_compact(f->sim);
    watch(f, &stream, "resourceVersion=4");
    assert_int_equal(stream.status, 200);
    assert_string_equal(sim_watch_next(&stream), "ERROR");
    assert_string_equal(sim_text(stream.event, "object.message"),
                        "too old resource version: 4 (5)");
    assert_string_equal(sim_text(stream.event, "object.reason"), "Expired");
    assert_string_equal(sim_text(stream.event, "object.code"), "410");
    assert_string_equal(sim_watch_next(&stream), "");
    sim_watch_close(&stream);
    watch(f, &stream, "resourceVersion=5");
    sim_watch_expect_silence(&stream);
    sim_watch_close(&stream);
}

static void history_is_bounded(void **state)
{
    const kl_sim_options options = {.history = 4};
    sim_rig *f = *state;
    sim_watch stream;
    char value[16];

    restart(f, &options);
    sim_add(f->sim, "a"); /* 4 */
    for (int i = 0; i < 4; i++) {
        snprintf(value, sizeof(value), "%d", i);
        sim_touch(f->sim, "a", value);
    }
    watch(f, &stream, "resourceVersion=4");
    sim_watch_expect(&stream, "MODIFIED", "a");
    sim_watch_close(&stream);
    watch(f, &stream, "resourceVersion=3");
    assert_string_equal(sim_watch_next(&stream), "ERROR");
    sim_watch_close(&stream);
}

static void a_watch_that_falls_behind_is_ended(void **state)
{
    const kl_sim_options options = {.history = 4};
    sim_rig *f = *state;
    sim_watch stream;
    char value[16];

    restart(f, &options);
    sim_add(f->sim, "a");
    watch(f, &stream, "resourceVersion=4");
    for (int i = 0; i < 5; i++) {
        snprintf(value, sizeof(value), "%d", i);
        sim_touch(f->sim, "a", value);
    }
    assert_string_equal(sim_watch_next(&stream), "");
    sim_watch_close(&stream);
}

static void compaction_does_not_break_an_open_watch(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    sim_add(f->sim, "a");
    watch(f, &stream, "resourceVersion=4");
    sim_touch(f->sim, "a", "1");
    kl_sim_compact(f->sim);
    sim_watch_expect(&stream, "MODIFIED", "a");
    sim_watch_close(&stream);
}

static void a_watch_of_a_future_version_waits(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    watch(f, &stream, "resourceVersion=4");
    sim_add(f->sim, "a"); /* 4 */
    sim_watch_expect_silence(&stream);
    sim_add(f->sim, "b");
    sim_watch_expect(&stream, "ADDED", "b");
    sim_watch_close(&stream);
}

static void a_streaming_list_of_the_future_is_too_large(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    watch(f, &stream, "resourceVersion=99999" STREAMING);
    assert_int_equal(stream.status, 200);
    assert_string_equal(sim_watch_next(&stream), "ERROR");
    assert_string_equal(sim_text(stream.event, "object.code"), "504");
    assert_string_equal(sim_text(stream.event, "object.message"),
                        "Timeout: Too large resource version: 99999, current: "
                        "3");
    assert_string_equal(sim_watch_next(&stream), "");
    sim_watch_close(&stream);
}

static void a_streaming_list_waits_for_its_version(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    watch(f, &stream, "resourceVersion=4" STREAMING);
    sim_watch_expect_silence(&stream);
    sim_add(f->sim, "a");
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_close(&stream);
}

static void bookmarks_come_at_their_interval(void **state)
{
    const kl_sim_options options = {.bookmark_ms = 20, .no_controllers = true};
    sim_rig *f = *state;
    sim_watch stream;

    restart(f, &options);
    watch(f, &stream, "resourceVersion=3&allowWatchBookmarks=true");
    assert_string_equal(sim_watch_next(&stream), "BOOKMARK");
    assert_string_equal(
        sim_text(stream.event, "object.metadata.resourceVersion"), "3");
    assert_string_equal(sim_text(stream.event, "object.metadata.annotations"),
                        "");
    /* Changes of others move it on. */
    sim_expect(f->sim, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"n\"}}", 201);
    do {
        assert_string_equal(sim_watch_next(&stream), "BOOKMARK");
    } while (strcmp(sim_text(stream.event, "object.metadata.resourceVersion"),
                    "3") == 0);
    assert_string_equal(
        sim_text(stream.event, "object.metadata.resourceVersion"), "4");
    sim_watch_close(&stream);
}

static void a_bookmark_on_demand_comes_behind_every_event(void **state)
{
    sim_rig *f = *state;
    sim_watch with, without;
    char version[24];

    watch(f, &with, "resourceVersion=3&allowWatchBookmarks=true");
    watch(f, &without, "resourceVersion=3");
    sim_add(f->sim, "a");
    sim_expect(f->sim, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"n\"}}", 201);
    kl_sim_bookmark(f->sim);
    sim_watch_expect(&with, "ADDED", "a");
    assert_string_equal(sim_watch_next(&with), "BOOKMARK");
    snprintf(version, sizeof(version), "%" PRId64, kl_sim_version(f->sim));
    assert_string_equal(sim_text(with.event, "object.metadata.resourceVersion"),
                        version);
    sim_watch_expect_silence(&with);
    sim_watch_expect(&without, "ADDED", "a");
    sim_watch_expect_silence(&without);
    kl_sim_bookmark(f->sim);
    assert_string_equal(sim_watch_next(&with), "BOOKMARK");
    sim_watch_close(&with);
    sim_watch_close(&without);
}

static void a_watch_ends_in_order_after_its_time(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    watch(f, &stream, "resourceVersion=3&timeoutSeconds=1");
    assert_string_equal(sim_watch_next(&stream), "");
    sim_watch_close(&stream);
    watch(f, &stream, "resourceVersion=3&timeoutSeconds=-1");
    assert_string_equal(sim_watch_next(&stream), "");
    sim_watch_close(&stream);
}

static void invalid_combinations_of_parameters_are_refused(void **state)
{
    sim_rig *f = *state;
    static const struct {
        const char *query;
        int status;
    } cases[] = {
        {"sendInitialEvents=true", 422},
        {"sendInitialEvents=false", 422},
        {"resourceVersionMatch=NotOlderThan", 422},
        {"resourceVersionMatch=Exact&sendInitialEvents=true", 422},
        {"continue=x", 422},
        {"resourceVersion=x", 500},
        {"labelSelector=a+in+(", 400},
        {"timeoutSeconds=x", 400},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sim_watch stream;

        watch(f, &stream, cases[i].query);
        if (stream.status != cases[i].status) {
            fail_msg("%s: %d", cases[i].query, stream.status);
        }
        sim_watch_close(&stream);
    }
}

static void an_old_server_knows_no_streaming_lists(void **state)
{
    const kl_sim_options options = {.no_streaming_list = true};
    sim_rig *f = *state;
    sim_watch stream;

    restart(f, &options);
    watch(f, &stream, "allowWatchBookmarks=true" STREAMING);
    assert_int_equal(stream.status, 422);
    sim_watch_close(&stream);
    sim_add(f->sim, "a");
    watch(f, &stream, "allowWatchBookmarks=true");
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_expect_silence(&stream);
    sim_watch_close(&stream);
}

static void the_old_path_of_watches_works_too(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    sim_add(f->sim, "a");
    sim_watch_open(&stream, f->transport, "",
                   "/api/v1/watch/namespaces/default/configmaps");
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_close(&stream);
}

static void a_large_state_is_streamed_whole(void **state)
{
    enum { COUNT = 2000 };
    sim_rig *f = *state;
    sim_watch stream;
    char name[32];

    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "c%04d", i);
        sim_add(f->sim, name);
    }
    watch(f, &stream, "allowWatchBookmarks=true" STREAMING);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "c%04d", i);
        sim_watch_expect(&stream, "ADDED", name);
    }
    assert_string_equal(sim_watch_next(&stream), "BOOKMARK");
    sim_watch_close(&stream);
}

static void a_call_cannot_watch(void **state)
{
    sim_rig *f = *state;
    const kl_call call = {.method = "GET", .target = CONFIGMAPS "?watch=1"};
    kl_reply reply;

    assert_int_equal(kl_sim_call(f->sim, &call, &reply, NULL), KL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_watch_from_a_version_shows_what_happened_since, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_watch_without_a_version_begins_with_added_events, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(a_streaming_list_marks_its_end,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_streaming_list_without_bookmarks_has_no_mark, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_selector_turns_updates_into_added_and_deleted, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_watch_sees_its_namespace_and_name_only, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_compacted_version_is_a_410_error_event, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(history_is_bounded, sim_rig_set_up,
                                        sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(a_watch_that_falls_behind_is_ended,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(compaction_does_not_break_an_open_watch,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(a_watch_of_a_future_version_waits,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_streaming_list_of_the_future_is_too_large, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(a_streaming_list_waits_for_its_version,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(bookmarks_come_at_their_interval,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_bookmark_on_demand_comes_behind_every_event, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(a_watch_ends_in_order_after_its_time,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            invalid_combinations_of_parameters_are_refused, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(an_old_server_knows_no_streaming_lists,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(the_old_path_of_watches_works_too,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(a_large_state_is_streamed_whole,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(a_call_cannot_watch, sim_rig_set_up,
                                        sim_rig_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
