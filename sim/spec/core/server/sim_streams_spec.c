/*
 * sim_streams_spec.c - faults of streams through the in-process transport: they
 * break, freeze, are slow, and send false events.
 */
#include "fault_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_stream_is_cut_after_bytes_in_the_middle_of_a_line(void **state)
{
    sim_rig *f = *state;
    kl__buf body = {0};

    sim_add(f->sim, "a");
    fault_order(f,
                "{\"action\":\"cut\",\"verb\":\"watch\",\"after_bytes\":33}");
    assert_int_equal(fault_body(f, FAULT_WATCH, SIM_CLIENT_PATIENCE_MS, &body),
                     KL_EUNAVAILABLE);
    assert_int_equal(body.length, 33);
    assert_memory_equal(body.bytes,
                        "{\"type\":\"ADDED\",\"object\":{\"kind\":", 33);
    kl__buf_reset(&body);
    fault_order(f, "{\"action\":\"cut\",\"verb\":\"list\",\"after_bytes\":10}");
    assert_int_equal(
        fault_body(f, FAULT_OBJECTS, SIM_CLIENT_PATIENCE_MS, &body),
        KL_EUNAVAILABLE);
    assert_int_equal(body.length, 10);
    kl__buf_reset(&body);
    fault_order(
        f, "{\"action\":\"cut\",\"verb\":\"get\",\"after_bytes\":1000000}");
    assert_int_equal(
        fault_body(f, FAULT_OBJECTS "/a", SIM_CLIENT_PATIENCE_MS, &body),
        KL_OK);
    kl__buf_deinit(&body);
}

static void a_stream_is_cut_or_ended_after_events(void **state)
{
    static const char *const rules[] = {
        "{\"action\":\"cut\",\"after_events\":2}",
        "{\"action\":\"cut\",\"after_events\":2,\"how\":\"end\"}"};
    static const kl_code codes[] = {KL_EUNAVAILABLE, KL_OK};
    sim_rig *f = *state;
    sim_watch stream;
    kl_error err;

    sim_add(f->sim, "a");
    sim_add(f->sim, "b");
    sim_add(f->sim, "c");
    for (int i = 0; i < 2; i++) {
        fault_order(f, rules[i]);
        sim_watch_open(&stream, f->transport, "", FAULT_WATCH);
        sim_watch_expect(&stream, "ADDED", "a");
        sim_watch_expect(&stream, "ADDED", "b");
        if (codes[i] == KL_OK) {
            assert_string_equal(sim_watch_next(&stream), "");
        } else {
            assert_int_equal(sim_watch_failure(&stream, &err), codes[i]);
        }
        sim_watch_close(&stream);
    }
}

static void a_cut_before_the_head_leaves_no_answer(void **state)
{
    sim_rig *f = *state;
    char *asked;

    fault_order(f, "{\"action\":\"cut\"}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), -KL_EUNAVAILABLE);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 200);
    asked = kl_sim_requests(f->sim, NULL);
    assert_non_null(strstr(asked, "\"status\":0"));
    kl_free(asked);
}

static void a_rule_is_for_streams_that_are_open_too(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;
    kl_error err;

    sim_watch_open(&stream, f->transport, "", FAULT_WATCH);
    sim_watch_expect_silence(&stream);
    fault_order(f, "{\"action\":\"cut\",\"open\":false,\"verb\":\"watch\"}");
    sim_watch_expect_silence(&stream);
    fault_order(f, "{\"action\":\"cut\",\"verb\":\"watch\"}");
    assert_int_equal(sim_watch_failure(&stream, &err), KL_EUNAVAILABLE);
    sim_watch_close(&stream);
}

static void a_frozen_stream_continues_when_the_fault_ends(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;
    int64_t id;

    sim_add(f->sim, "a");
    id = fault_order(f, "{\"action\":\"freeze\",\"after_events\":1}");
    sim_watch_open(&stream, f->transport, "", FAULT_WATCH);
    sim_watch_expect(&stream, "ADDED", "a");
    sim_add(f->sim, "b");
    sim_watch_expect_silence(&stream);
    assert_true(kl_sim_heal(f->sim, id));
    assert_false(kl_sim_heal(f->sim, id));
    sim_watch_expect(&stream, "ADDED", "b");
    sim_watch_close(&stream);
}

static void a_freeze_may_have_an_end(void **state)
{
    sim_rig *f = *state;
    int64_t began = fault_in(0);

    fault_order(f, "{\"action\":\"freeze\",\"seconds\":0.06}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 200);
    assert_true(fault_in(0) - began >= 60);
}

static void bytes_come_one_at_a_time(void **state)
{
    sim_rig *f = *state;
    kl__stream *stream;
    char buffer[64];
    size_t length;

    fault_order(f, "{\"action\":\"delay\",\"bytes\":1}");
    stream = fault_send(f, FAULT_OBJECTS, NULL);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(kl__stream_read(stream, buffer, sizeof(buffer),
                                         &length, fault_in(1000), NULL, NULL),
                         KL_OK);
        assert_int_equal(length, 1);
    }
    kl__stream_close(stream);
}

static void a_delay_is_before_the_head_or_between_bytes_and_events(void **state)
{
    sim_rig *f = *state;
    kl__buf body = {0};
    sim_watch stream;
    int64_t began = fault_in(0);

    sim_add(f->sim, "a");
    sim_add(f->sim, "b");
    fault_order(f, "{\"action\":\"delay\",\"before\":0.05}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 200);
    assert_true(fault_in(0) - began >= 50);
    began = fault_in(0);
    fault_order(f, "{\"action\":\"delay\",\"byte\":0.01,\"bytes\":100}");
    assert_int_equal(
        fault_body(f, FAULT_OBJECTS, SIM_CLIENT_PATIENCE_MS, &body), KL_OK);
    assert_true(fault_in(0) - began >= (int64_t)(body.length / 100 - 1) * 10);
    kl__buf_deinit(&body);
    began = fault_in(0);
    fault_order(f, "{\"action\":\"delay\",\"event\":0.05}");
    sim_watch_open(&stream, f->transport, "", FAULT_WATCH);
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_expect(&stream, "ADDED", "b");
    assert_true(fault_in(0) - began >= 50);
    sim_watch_close(&stream);
}

static void a_delay_beyond_the_timeout_parameter_is_a_504(void **state)
{
    sim_rig *f = *state;
    int64_t began = fault_in(0);

    sim_add(f->sim, "a");
    fault_order(f, "{\"action\":\"delay\",\"before\":3600}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS "?timeout=50ms", NULL),
                     504);
    assert_true(fault_in(0) - began >= 50);
    fault_order(f, "{\"action\":\"delay\",\"before\":0.05}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS "?timeout=1h", NULL), 200);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS "?timeout=0", NULL), 200);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS "?timeout=5", NULL), 400);
}

/* What a watch of a, b, c tells under a rule, a word an event. */
static void expect_told(sim_rig *f, const char *rule, const char *told)
{
    kl__buf body = {0}, words = {0};
    char *save = NULL;

    fault_order(f, rule);
    fault_order(f, "{\"action\":\"delay\",\"bytes\":7,\"verb\":\"watch\"}");
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

static void a_watch_can_be_made_to_send_false_events(void **state)
{
    sim_rig *f = *state;

    sim_add(f->sim, "a");
    sim_add(f->sim, "b");
    sim_add(f->sim, "c");
    expect_told(f, "{\"action\":\"event\",\"at\":2}",
                "ADDED:a ADDED:b ADDED:b ADDED:c ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"swap\"}",
                "ADDED:b ADDED:a ADDED:c ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"drop\",\"events\":2}",
                "ADDED:c ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"drop\",\"events\":0}", "");
    expect_told(f, "{\"action\":\"event\",\"how\":\"unknown_type\"}",
                "SURPRISED:a ADDED:b ADDED:c ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"broken\",\"at\":3}",
                "ADDED:a ADDED:b rubbish ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"unclosed\"}",
                "rubbish ADDED:b ADDED:c ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"truncated\",\"at\":2}",
                "ADDED:a rubbish ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"no_metadata\"}",
                "ADDED: ADDED:b ADDED:c ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"no_object\"}",
                "ADDED: ADDED:b ADDED:c ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"other_kind\"}",
                "ADDED:a ADDED:b ADDED:c ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"error\",\"at\":2}",
                "ADDED:a ERROR: ");
    expect_told(f,
                "{\"action\":\"event\",\"how\":\"raw\",\"at\":2,"
                "\"body\":\"null\"}",
                "ADDED:a ADDED:b : ADDED:c ");
    expect_told(f, "{\"action\":\"event\",\"how\":\"huge\",\"bytes\":70000}",
                "ADDED:a ADDED:b ADDED:c ");
}

static void events_kept_back_come_when_the_fault_ends(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    sim_watch_open(&stream, f->transport, "", FAULT_WATCH);
    fault_order(f, "{\"action\":\"event\",\"how\":\"swap\"}");
    sim_add(f->sim, "a");
    sim_watch_expect_silence(&stream);
    kl_sim_heal(f->sim, 0);
    sim_watch_expect(&stream, "ADDED", "a");
    sim_add(f->sim, "b");
    sim_watch_expect(&stream, "ADDED", "b");
    sim_watch_close(&stream);
}

static void bookmarks_can_be_withheld(void **state)
{
    static const char streaming[] =
        FAULT_OBJECTS "?watch=true&sendInitialEvents=true&allowWatchBookmarks="
                      "true&resourceVersionMatch=NotOlderThan";
    sim_rig *f = *state;
    sim_watch stream;

    sim_add(f->sim, "a");
    sim_watch_open(&stream, f->transport, "", streaming);
    sim_watch_expect(&stream, "ADDED", "a");
    assert_string_equal(sim_watch_next(&stream), "BOOKMARK");
    sim_watch_close(&stream);
    fault_order(f, "{\"action\":\"bookmarks\",\"how\":\"end\"}");
    sim_watch_open(&stream, f->transport, "", streaming);
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_expect_silence(&stream);
    sim_add(f->sim, "b");
    sim_watch_expect(&stream, "ADDED", "b");
    sim_watch_close(&stream);
}

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, sim_rig_set_up, sim_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_stream_is_cut_after_bytes_in_the_middle_of_a_line),
        SPEC(a_stream_is_cut_or_ended_after_events),
        SPEC(a_cut_before_the_head_leaves_no_answer),
        SPEC(a_rule_is_for_streams_that_are_open_too),
        SPEC(a_frozen_stream_continues_when_the_fault_ends),
        SPEC(a_freeze_may_have_an_end),
        SPEC(bytes_come_one_at_a_time),
        SPEC(a_delay_is_before_the_head_or_between_bytes_and_events),
        SPEC(a_delay_beyond_the_timeout_parameter_is_a_504),
        SPEC(a_watch_can_be_made_to_send_false_events),
        SPEC(events_kept_back_come_when_the_fault_ends),
        SPEC(bookmarks_can_be_withheld),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
