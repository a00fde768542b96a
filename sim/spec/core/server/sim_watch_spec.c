/*
 * sim_watch_spec.c - WATCH through the in-process transport: where it begins,
 * its events, bookmarks, faults, and its end.
 */
#include "spec_case.h"

#include "fault_rig.h"

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

RIG_CASE(an_old_server_knows_no_streaming_lists)
{
    const kl_sim_options options = {.no_streaming_list = true};

    restart(f, &options);
    rig_play(f, "WATCH configmaps?allowWatchBookmarks=true&$streaming -> 422\n"
                "ADD a\n"
                "WATCH configmaps?allowWatchBookmarks=true\n"
                "ADDED a, SILENCE\n");
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

/* ---- Faults of streams through the in-process transport: they break,
 * freeze, are slow, and send false events. */

RIG_CASE(a_stream_is_cut_after_bytes_in_the_middle_of_a_line)
{
    kl__buf body = {0};

    rig_play(f, "ADD a\n"
                "FAULT {action: cut, verb: watch, after_bytes: 33}\n");
    assert_int_equal(fault_body(f, FAULT_WATCH, SIM_CLIENT_PATIENCE_MS, &body),
                     KL_EUNAVAILABLE);
    assert_int_equal(body.length, 33);
    assert_memory_equal(body.bytes,
                        "{\"type\":\"ADDED\",\"object\":{\"kind\":", 33);
    kl__buf_reset(&body);
    fault_order(f, "{action: cut, verb: list, after_bytes: 10}");
    assert_int_equal(
        fault_body(f, FAULT_OBJECTS, SIM_CLIENT_PATIENCE_MS, &body),
        KL_EUNAVAILABLE);
    assert_int_equal(body.length, 10);
    kl__buf_reset(&body);
    rig_play(f, "FAULT {action: cut, verb: get, after_bytes: 1000000}\n");
    assert_int_equal(
        fault_body(f, FAULT_OBJECTS "/a", SIM_CLIENT_PATIENCE_MS, &body),
        KL_OK);
    kl__buf_deinit(&body);
}

RIG_CASE(a_stream_is_cut_or_ended_after_events)
{
    kl_error err;

    rig_play(f, "ADD a b c\n"
                "FAULT {action: cut, after_events: 2}\n"
                "WATCH configmaps?resourceVersion=3\n"
                "ADDED a, ADDED b\n");
    assert_int_equal(sim_watch_failure(&f->watch, &err), KL_EUNAVAILABLE);
    rig_play(f, "FAULT {action: cut, after_events: 2, how: end}\n"
                "WATCH configmaps?resourceVersion=3\n"
                "ADDED a, ADDED b, END\n");
}

RIG_CASE(a_cut_before_the_head_leaves_no_answer)
{
    char *asked;

    fault_order(f, "{action: cut}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), -KL_EUNAVAILABLE);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 200);
    asked = kl_sim_requests(f->sim, NULL);
    assert_non_null(strstr(asked, "\"status\":0"));
    kl_free(asked);
}

RIG_CASE(a_rule_is_for_streams_that_are_open_too)
{
    kl_error err;

    rig_play(f, "WATCH configmaps?resourceVersion=3\n"
                "SILENCE\n"
                "FAULT {action: cut, open: false, verb: watch}\n"
                "SILENCE\n"
                "FAULT {action: cut, verb: watch}\n");
    assert_int_equal(sim_watch_failure(&f->watch, &err), KL_EUNAVAILABLE);
}

RIG_CASE(a_frozen_stream_continues_when_the_fault_ends)
{
    int64_t id;

    sim_add(f->sim, "a");
    id = fault_order(f, "{action: freeze, after_events: 1}");
    rig_play(f, "WATCH configmaps?resourceVersion=3\n"
                "ADDED a\n"
                "ADD b\n"
                "SILENCE\n");
    assert_true(kl_sim_heal(f->sim, id));
    assert_false(kl_sim_heal(f->sim, id));
    sim_watch_expect(&f->watch, "ADDED", "b");
}

RIG_CASE(a_freeze_may_have_an_end)
{
    int64_t began = fault_in(0);

    fault_order(f, "{action: freeze, seconds: 0.06}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 200);
    assert_true(fault_in(0) - began >= 60);
}

RIG_CASE(bytes_come_one_at_a_time)
{
    kl__stream *stream;
    char buffer[64];
    size_t length;

    fault_order(f, "{action: delay, bytes: 1}");
    stream = fault_send(f, FAULT_OBJECTS, NULL);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(kl__stream_read(stream, buffer, sizeof(buffer),
                                         &length, fault_in(1000), NULL, NULL),
                         KL_OK);
        assert_int_equal(length, 1);
    }
    kl__stream_close(stream);
}

RIG_CASE(a_delay_is_before_the_head_or_between_bytes_and_events)
{
    kl__buf body = {0};
    int64_t began = fault_in(0);

    rig_play(f, "ADD a b\n"
                "FAULT {action: delay, before: 0.05}\n"
                "SEND configmaps -> 200\n");
    assert_true(fault_in(0) - began >= 50);
    began = fault_in(0);
    fault_order(f, "{action: delay, byte: 0.01, bytes: 100}");
    assert_int_equal(
        fault_body(f, FAULT_OBJECTS, SIM_CLIENT_PATIENCE_MS, &body), KL_OK);
    assert_true(fault_in(0) - began >= (int64_t)(body.length / 100 - 1) * 10);
    kl__buf_deinit(&body);
    began = fault_in(0);
    rig_play(f, "FAULT {action: delay, event: 0.05}\n"
                "WATCH configmaps?resourceVersion=3\n"
                "ADDED a, ADDED b\n");
    assert_true(fault_in(0) - began >= 50);
}

RIG_CASE(a_delay_beyond_the_timeout_parameter_is_a_504)
{
    int64_t began = fault_in(0);

    rig_play(f, "ADD a\n"
                "FAULT {action: delay, before: 3600}\n"
                "SEND configmaps?timeout=50ms -> 504\n");
    assert_true(fault_in(0) - began >= 50);
    rig_play(f, "FAULT {action: delay, before: 0.05}\n"
                "SEND configmaps?timeout=1h -> 200\n"
                "SEND configmaps?timeout=0 -> 200\n"
                "SEND configmaps?timeout=5 -> 400\n");
}

/* What a watch of a, b, c tells under a rule, a word an event. */
static void expect_told(sim_rig *f, const char *rule, const char *told)
{
    kl__buf body = {0}, words = {0};
    char *save = NULL;

    fault_order(f, rule);
    fault_order(f, "{action: delay, bytes: 7, verb: watch}");
    fault_body(f, FAULT_WATCH, 20, &body); /* what there is: it is in-process */
    for (char *line = strtok_r(body.bytes, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        kl_doc *doc = kl_doc_parse(line, strlen(line), NULL);

        if (doc == NULL) {
            kl__buf_puts(&words, "rubbish ");
            continue;
        }
        kl__buf_printf(&words, "%s", sim_text(doc, "type"));
        kl__buf_printf(&words, ":%s ", sim_text(doc, "object.metadata.name"));
        kl_doc_unref(doc);
    }
    assert_string_equal(words.bytes != NULL ? words.bytes : "", told);
    kl__buf_deinit(&words);
    kl__buf_deinit(&body);
    kl_sim_heal(f->sim, 0);
}

RIG_CASE(a_watch_can_be_made_to_send_false_events)
{
    rig_play(f, "ADD a b c\n");
    expect_told(f, "{action: event, at: 2}",
                "ADDED:a ADDED:b ADDED:b ADDED:c ");
    expect_told(f, "{action: event, how: swap}", "ADDED:b ADDED:a ADDED:c ");
    expect_told(f, "{action: event, how: drop, events: 2}", "ADDED:c ");
    expect_told(f, "{action: event, how: drop, events: 0}", "");
    expect_told(f, "{action: event, how: unknown_type}",
                "SURPRISED:a ADDED:b ADDED:c ");
    expect_told(f, "{action: event, how: broken, at: 3}",
                "ADDED:a ADDED:b rubbish ");
    expect_told(f, "{action: event, how: unclosed}",
                "rubbish ADDED:b ADDED:c ");
    expect_told(f, "{action: event, how: truncated, at: 2}",
                "ADDED:a rubbish ");
    expect_told(f, "{action: event, how: no_metadata}",
                "ADDED: ADDED:b ADDED:c ");
    expect_told(f, "{action: event, how: no_object}",
                "ADDED: ADDED:b ADDED:c ");
    expect_told(f, "{action: event, how: other_kind}",
                "ADDED:a ADDED:b ADDED:c ");
    expect_told(f, "{action: event, how: error, at: 2}", "ADDED:a ERROR: ");
    expect_told(f, "{action: event, how: raw, at: 2, body: 'null'}",
                "ADDED:a ADDED:b : ADDED:c ");
    expect_told(f, "{action: event, how: huge, bytes: 70000}",
                "ADDED:a ADDED:b ADDED:c ");
}

RIG_CASE(events_kept_back_come_when_the_fault_ends)
{
    rig_play(f, "WATCH configmaps?resourceVersion=3\n"
                "FAULT {action: event, how: swap}\n"
                "ADD a\n"
                "SILENCE\n");
    kl_sim_heal(f->sim, 0);
    rig_play(f, "ADDED a\n"
                "ADD b\n"
                "ADDED b\n");
}
