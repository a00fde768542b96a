/*
 * sim_watch_spec.c - WATCH through the in-process transport: where it begins,
 * its events, bookmarks, and its end.
 */

#include "spec_case.h"
#include <inttypes.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

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

RIG_CASE(a_watch_from_a_version_shows_what_happened_since)
{
    rig_play(f, "ADD a\n" /* 4 */
                "ADD b\n" /* 5 */
                "WATCH configmaps?resourceVersion=4\n"
                "TOUCH a 1\n"
                "DELETE configmaps/b -> 200\n"
                "ADDED b, MODIFIED a, DELETED b | metadata.resourceVersion=7 | "
                "kind=ConfigMap\n"
                "SILENCE\n");
}

RIG_CASE(a_watch_without_a_version_begins_with_added_events)
{
    rig_play(f, "ADD b a\n"
                "WATCH configmaps\n"
                "ADDED a, ADDED b, SILENCE\n"
                "WATCH configmaps?resourceVersion=0\n"
                "ADDED a, ADDED b, SILENCE\n"
                "WATCH configmaps?resourceVersion=\n"
                "ADDED a, ADDED b, SILENCE\n");
}

RIG_CASE(a_streaming_list_marks_its_end)
{
    rig_play(f, "ADD a\n"
                "WATCH configmaps?allowWatchBookmarks=true&$streaming\n"
                "ADDED a, BOOKMARK | "
                "metadata.annotations[\"k8s.io/initial-events-end\"]=true | "
                "metadata.resourceVersion=4 | kind=ConfigMap\n"
                "TOUCH a 1\n"
                "MODIFIED a\n");
}

RIG_CASE(a_streaming_list_without_bookmarks_has_no_mark)
{
    rig_play(
        f,
        "WATCH configmaps?x&$streaming\n"
        "ADD a\n"
        "ADDED a\n"
        "WATCH "
        "configmaps?sendInitialEvents=false&resourceVersionMatch=NotOlderThan\n"
        "ADD b\n"
        "ADDED b\n");
}

RIG_CASE(a_selector_turns_updates_into_added_and_deleted)
{
    /* A DELETED event has what was last selected, at the version of leaving. */
    rig_play(f, "ADD a\n"
                "WATCH configmaps?resourceVersion=4&labelSelector=x%3Dy\n"
                "PATCH configmaps/a {metadata: {labels: {x: z}}} -> 200\n"
                "PATCH configmaps/a {metadata: {labels: {x: 'y'}}} -> 200\n"
                "TOUCH a 1\n"
                "PATCH configmaps/a {metadata: {labels: {x: null}}} -> 200\n"
                "TOUCH a 2\n"
                "PATCH configmaps/a {metadata: {labels: {x: 'y'}}} -> 200\n"
                "DELETE configmaps/a -> 200\n"
                "ADDED a, MODIFIED a, DELETED a | metadata.labels.x=y | "
                "metadata.resourceVersion=8\n"
                "ADDED a, DELETED a, SILENCE\n");
}

RIG_CASE(a_watch_sees_its_namespace_and_name_only)
{
    rig_play(
        f,
        "POST /api/v1/namespaces/kube-system/configmaps {metadata: {name: a}} "
        "-> 201\n"
        "ADD b c\n"
        "WATCH configmaps?resourceVersion=3&fieldSelector=metadata.name%3Dc\n"
        "ADDED c, SILENCE\n"
        "WATCH configmaps?resourceVersion=3\n"
        "ADDED b\n");
}

RIG_CASE(a_compacted_version_is_a_410_error_event)
{
    rig_play(f, "ADD a\n"
                "TOUCH a 1\n"
                "COMPACT\n"
                "WATCH configmaps?resourceVersion=4 -> 200\n"
                "ERROR | message=too old resource version: 4 (5) | "
                "reason=Expired | code=410\n"
                "END\n"
                "WATCH configmaps?resourceVersion=5\n"
                "SILENCE\n");
}

RIG_CASE(history_is_bounded)
{
    const kl_sim_options options = {.history = 4};

    restart(f, &options);
    rig_play(f, "ADD a\n" /* 4 */
                "TOUCH a 1\n"
                "TOUCH a 2\n"
                "TOUCH a 3\n"
                "TOUCH a 4\n"
                "WATCH configmaps?resourceVersion=4\n"
                "MODIFIED a\n"
                "WATCH configmaps?resourceVersion=3\n"
                "ERROR\n");
}

RIG_CASE(a_watch_that_falls_behind_is_ended)
{
    const kl_sim_options options = {.history = 4};

    restart(f, &options);
    rig_play(f, "ADD a\n"
                "WATCH configmaps?resourceVersion=4\n"
                "TOUCH a 1\n"
                "TOUCH a 2\n"
                "TOUCH a 3\n"
                "TOUCH a 4\n"
                "TOUCH a 5\n"
                "END\n");
}

RIG_CASE(compaction_does_not_break_an_open_watch)
{
    rig_play(f, "ADD a\n"
                "WATCH configmaps?resourceVersion=4\n"
                "TOUCH a 1\n"
                "COMPACT\n"
                "MODIFIED a\n");
}

RIG_CASE(a_watch_of_a_future_version_waits)
{
    rig_play(f, "WATCH configmaps?resourceVersion=4\n"
                "ADD a\n" /* 4 */
                "SILENCE\n"
                "ADD b\n"
                "ADDED b\n");
}

RIG_CASE(a_streaming_list_of_the_future_is_too_large)
{
    rig_play(f, "WATCH configmaps?resourceVersion=99999&$streaming -> 200\n"
                "ERROR | code=504 | message=Timeout: Too large resource "
                "version: 99999, current: 3\n"
                "END\n");
}

RIG_CASE(a_streaming_list_waits_for_its_version)
{
    rig_play(f, "WATCH configmaps?resourceVersion=4&$streaming\n"
                "SILENCE\n"
                "ADD a\n"
                "ADDED a\n");
}

RIG_CASE(bookmarks_come_at_their_interval)
{
    const kl_sim_options options = {.bookmark_ms = 20, .no_controllers = true};

    restart(f, &options);
    rig_play(f,
             "WATCH configmaps?resourceVersion=3&allowWatchBookmarks=true\n"
             "BOOKMARK | metadata.resourceVersion=3 | metadata.annotations=\n");
    /* Changes of others move it on. */
    rig_play(f, "POST /api/v1/namespaces {metadata: {name: 'n'}} -> 201\n");
    do {
        assert_string_equal(sim_watch_next(&f->watch), "BOOKMARK");
    } while (strcmp(sim_text(f->watch.event, "object.metadata.resourceVersion"),
                    "3") == 0);
    assert_string_equal(
        sim_text(f->watch.event, "object.metadata.resourceVersion"), "4");
}

RIG_CASE(a_bookmark_on_demand_comes_behind_every_event)
{
    sim_watch without;
    char version[64];

    sim_watch_open(&without, f->transport, "",
                   CONFIGMAPS "?watch=true&resourceVersion=3");
    rig_play(f, "WATCH configmaps?resourceVersion=3&allowWatchBookmarks=true\n"
                "ADD a\n"
                "POST /api/v1/namespaces {metadata: {name: 'n'}} -> 201\n");
    kl_sim_bookmark(f->sim);
    snprintf(version, sizeof(version),
             "ADDED a, BOOKMARK | metadata.resourceVersion=%" PRId64,
             kl_sim_version(f->sim));
    sim_watch_sees(&f->watch, version);
    sim_watch_sees(&f->watch, "SILENCE");
    sim_watch_sees(&without, "ADDED a, SILENCE");
    kl_sim_bookmark(f->sim);
    sim_watch_sees(&f->watch, "BOOKMARK");
    sim_watch_close(&without);
}

RIG_CASE(a_watch_ends_in_order_after_its_time)
{
    rig_play(f, "WATCH configmaps?resourceVersion=3&timeoutSeconds=1\n"
                "END\n"
                "WATCH configmaps?resourceVersion=3&timeoutSeconds=-1\n"
                "END\n");
}

RIG_CASE(invalid_combinations_of_parameters_are_refused)
{
    rig_play(
        f, "WATCH configmaps?sendInitialEvents=true -> 422\n"
           "WATCH configmaps?sendInitialEvents=false -> 422\n"
           "WATCH configmaps?resourceVersionMatch=NotOlderThan -> 422\n"
           "WATCH configmaps?resourceVersionMatch=Exact&sendInitialEvents=true "
           "-> 422\n"
           "WATCH configmaps?continue=x -> 422\n"
           "WATCH configmaps?resourceVersion=x -> 500\n"
           "WATCH configmaps?labelSelector=a+in+( -> 400\n"
           "WATCH configmaps?timeoutSeconds=x -> 400\n");
}

RIG_CASE(an_old_server_knows_no_streaming_lists)
{
    const kl_sim_options options = {.no_streaming_list = true};

    restart(f, &options);
    rig_play(f, "WATCH configmaps?allowWatchBookmarks=true&$streaming -> 422\n"
                "ADD a\n"
                "WATCH configmaps?allowWatchBookmarks=true\n"
                "ADDED a, SILENCE\n");
}

RIG_CASE(the_old_path_of_watches_works_too)
{
    rig_play(f, "ADD a\n"
                "WATCH /api/v1/watch/namespaces/default/configmaps\n"
                "ADDED a\n");
}

RIG_CASE(a_large_state_is_streamed_whole)
{
    enum { COUNT = 2000 };
    char name[32];

    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "c%04d", i);
        sim_add(f->sim, name);
    }
    rig_play(f, "WATCH configmaps?allowWatchBookmarks=true&$streaming\n");
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "c%04d", i);
        sim_watch_expect(&f->watch, "ADDED", name);
    }
    assert_string_equal(sim_watch_next(&f->watch), "BOOKMARK");
}

RIG_CASE(a_call_cannot_watch)
{
    const kl_call call = {.method = "GET", .target = CONFIGMAPS "?watch=1"};
    kl_reply reply;

    assert_int_equal(kl_sim_call(f->sim, &call, &reply, NULL), KL_EINVAL);
}
