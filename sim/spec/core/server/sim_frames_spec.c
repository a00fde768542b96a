/*
 * sim_frames_spec.c - watches in protobuf: an event is a frame, and faults
 * change frames as they change lines.
 */
#include "fault_rig.h"

#include "protobuf_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ACCEPT "application/vnd.kubernetes.protobuf;stream=watch"

enum { SHORT_MS = 50 }; /* in which nothing comes */

/* A watch that is read frame by frame. */
typedef struct frames {
    kl__stream *stream;
    kl__buf bytes;
    kl__edit *edit; /* of the last event */
} frames;

static void watch(sim_rig *f, frames *all, const char *target)
{
    memset(all, 0, sizeof(*all));
    all->stream = fault_send_as(f, target, ACCEPT);
    assert_non_null(all->stream);
}

/* Reads until so many bytes are there. KL_EIO: the stream ended before. */
static kl_code await(frames *all, size_t length, int patience_ms)
{
    kl_code code = KL_OK;

    while (code == KL_OK && all->bytes.length < length) {
        char *room = kl__buf_reserve(&all->bytes, 4096);
        size_t read = 0;

        code = kl__stream_read(all->stream, room, 4096, &read,
                               fault_in(patience_ms), NULL, NULL);
        all->bytes.length += read;
        code = code == KL_OK && read == 0 ? KL_EIO : code;
    }
    return code;
}

/* The next frame, without its head. */
static kl_code next_frame(frames *all, int patience_ms, kl__buf *content)
{
    kl_code code = await(all, PROTOBUF_FRAME_HEAD, patience_ms);
    size_t length = 0;

    if (code == KL_OK) {
        length = protobuf_frame_length((unsigned char *)all->bytes.bytes);
        code = await(all, PROTOBUF_FRAME_HEAD + length, patience_ms);
    }
    if (code == KL_OK) {
        kl__buf_reset(content);
        kl__buf_append(content, all->bytes.bytes + PROTOBUF_FRAME_HEAD, length);
        kl__buf_consume(&all->bytes, PROTOBUF_FRAME_HEAD + length);
    }
    return code;
}

/* The next event; NULL: see err. */
static kl__node *next_event(frames *all, kl_error *err)
{
    kl__buf content = {0};
    kl__node *event;

    assert_int_equal(next_frame(all, SIM_CLIENT_PATIENCE_MS, &content), KL_OK);
    kl__edit_free(all->edit);
    all->edit = kl__edit_new(NULL);
    event = protobuf_read_event(
        all->edit, kl__wire_of(content.bytes, content.length), err);
    kl__buf_deinit(&content);
    return event;
}

/* Asserts type and name of the next event: "ADDED a". */
static void expect(frames *all, const char *wanted)
{
    static const char *const path[] = {"object", "metadata", "name", NULL};
    kl_error err = {0};
    const kl__node *event = next_event(all, &err);
    const char *name = kl__node_string(kl__node_find(event, path), NULL);
    char got[128];

    if (event == NULL) {
        fail_msg("not %s: %s", wanted, err.message);
    }
    snprintf(got, sizeof(got), "%s %s", kl__node_text(event, "type"),
             name != NULL ? name : "-");
    assert_string_equal(got, wanted);
}

static void expect_end(frames *all, kl_code wanted)
{
    kl__buf content = {0};

    assert_int_equal(next_frame(all, SIM_CLIENT_PATIENCE_MS, &content), wanted);
    kl__buf_deinit(&content);
}

static void expect_silence(frames *all)
{
    kl__buf content = {0};

    assert_int_equal(next_frame(all, SHORT_MS, &content), KL_ETIMEOUT);
    kl__buf_deinit(&content);
}

static void finish(frames *all)
{
    kl__stream_close(all->stream);
    kl__buf_deinit(&all->bytes);
    kl__edit_free(all->edit);
}

static void a_watch_comes_in_frames(void **state)
{
    sim_rig *f = *state;
    frames all;

    sim_add(f->sim, "a");
    watch(f, &all,
          FAULT_OBJECTS "?watch=1&sendInitialEvents=true&resourceVersionMatch="
                        "NotOlderThan&allowWatchBookmarks=true");
    expect(&all, "ADDED a");
    expect(&all, "BOOKMARK -");
    sim_touch(f->sim, "a", "x");
    expect(&all, "MODIFIED a");
    sim_expect(f->sim, "DELETE", FAULT_OBJECTS "/a", NULL, 200);
    expect(&all, "DELETED a");
    expect_silence(&all);
    finish(&all);
}

static void a_410_is_an_error_event_in_a_frame(void **state)
{
    static const char *const code[] = {"object", "code", NULL};
    sim_rig *f = *state;
    const kl__node *event;
    frames all;

    fault_order(f, "{\"action\":\"expire\",\"verb\":\"watch\"}");
    watch(f, &all, FAULT_WATCH);
    event = next_event(&all, NULL);
    assert_string_equal(kl__node_text(event, "type"), "ERROR");
    assert_int_equal(kl__node_integer(kl__node_find(event, code)), 410);
    expect_end(&all, KL_EIO);
    finish(&all);
}

/* Orders what is to happen to the first event, and adds two. */
static void tamper(sim_rig *f, frames *all, const char *how)
{
    char rule[256];

    snprintf(rule, sizeof(rule), "{\"action\":\"event\",\"how\":%s}", how);
    fault_order(f, rule);
    watch(f, all, FAULT_WATCH);
    sim_add(f->sim, "a");
    sim_add(f->sim, "b");
}

static void an_event_that_is_changed_is_a_whole_frame(void **state)
{
    static const struct {
        const char *how;
        const char *events[3];
    } cases[] = {
        {"\"duplicate\"", {"ADDED a", "ADDED a", "ADDED b"}},
        {"\"drop\"", {"ADDED b"}},
        {"\"swap\"", {"ADDED b", "ADDED a"}},
        {"\"unknown_type\"", {"SURPRISED a", "ADDED b"}},
        {"\"no_metadata\"", {"ADDED -", "ADDED b"}},
        {"\"no_object\"", {"ADDED -", "ADDED b"}},
        {"\"error\"", {"ERROR -"}},
        {"\"huge\",\"bytes\":100000", {"ADDED a", "ADDED b"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sim_rig *f = NULL;
        frames all;

        assert_int_equal(sim_rig_set_up((void **)&f), 0);
        tamper(f, &all, cases[i].how);
        for (size_t j = 0; j < 3 && cases[i].events[j] != NULL; j++) {
            expect(&all, cases[i].events[j]);
        }
        finish(&all);
        sim_rig_tear_down((void **)&f);
    }
}

static void an_event_of_another_kind_says_so(void **state)
{
    kl_error err = {0};
    frames all;

    tamper(*state, &all, "\"other_kind\"");
    assert_null(next_event(&all, &err));
    assert_non_null(strstr(err.message, "Gizmo"));
    expect(&all, "ADDED b");
    finish(&all);
}

static void an_event_that_is_huge_is_as_long_as_it_was_ordered(void **state)
{
    kl__buf content = {0};
    frames all;

    tamper(*state, &all, "\"huge\",\"bytes\":100000");
    assert_int_equal(next_frame(&all, SIM_CLIENT_PATIENCE_MS, &content), KL_OK);
    assert_true(content.length > 100000 && content.length < 101000);
    kl__buf_deinit(&content);
    finish(&all);
}

static void an_event_that_is_broken_has_no_envelope(void **state)
{
    kl_error err = {0};
    frames all;

    tamper(*state, &all, "\"broken\"");
    assert_null(next_event(&all, &err));
    assert_string_equal(err.message,
                        "provided data does not appear to be a protobuf "
                        "message, expected prefix [107 56 115 0]");
    expect(&all, "ADDED b");
    finish(&all);
}

static void a_frame_that_is_not_closed_swallows_the_next(void **state)
{
    kl__buf content = {0};
    kl_error err = {0};
    frames all;

    tamper(*state, &all, "\"unclosed\"");
    assert_null(next_event(&all, &err));
    assert_int_equal(err.code, KL_EPARSE);
    assert_int_not_equal(next_frame(&all, SHORT_MS, &content), KL_OK);
    kl__buf_deinit(&content);
    finish(&all);
}

static void half_a_frame_ends_the_stream(void **state)
{
    frames all;

    tamper(*state, &all, "\"truncated\"");
    expect_end(&all, KL_EIO);
    assert_true(all.bytes.length > PROTOBUF_FRAME_HEAD);
    finish(&all);
}

static void a_text_comes_in_frames_of_its_own(void **state)
{
    kl__buf content = {0};
    frames all;

    tamper(*state, &all, "\"raw\",\"body\":\"null\\n\\nmore\"");
    expect(&all, "ADDED a");
    for (size_t i = 0; i < 3; i++) {
        static const char *const wanted[] = {"null", "", "more"};

        assert_int_equal(next_frame(&all, SIM_CLIENT_PATIENCE_MS, &content),
                         KL_OK);
        assert_int_equal(content.length, strlen(wanted[i]));
        assert_memory_equal(content.bytes, wanted[i], content.length);
    }
    expect(&all, "ADDED b");
    kl__buf_deinit(&content);
    finish(&all);
}

static void events_are_counted_as_frames(void **state)
{
    sim_rig *f = *state;
    frames all;

    fault_order(f, "{\"action\":\"cut\",\"after_events\":2}");
    watch(f, &all, FAULT_WATCH);
    sim_add(f->sim, "a");
    sim_add(f->sim, "b");
    sim_add(f->sim, "c");
    expect(&all, "ADDED a");
    expect(&all, "ADDED b");
    expect_end(&all, KL_EUNAVAILABLE);
    finish(&all);
}

static void bytes_are_counted_as_they_are(void **state)
{
    sim_rig *f = *state;
    frames all;

    fault_order(f, "{\"action\":\"freeze\",\"after_bytes\":10}");
    watch(f, &all, FAULT_WATCH);
    sim_add(f->sim, "a");
    assert_int_equal(await(&all, 10, SIM_CLIENT_PATIENCE_MS), KL_OK);
    assert_int_equal(await(&all, 11, SHORT_MS), KL_ETIMEOUT);
    finish(&all);
}

static void frames_come_byte_by_byte(void **state)
{
    sim_rig *f = *state;
    frames all;

    fault_order(f, "{\"action\":\"delay\",\"bytes\":1}");
    watch(f, &all, FAULT_WATCH);
    sim_add(f->sim, "a");
    sim_add(f->sim, "b");
    assert_int_equal(await(&all, 1, SIM_CLIENT_PATIENCE_MS), KL_OK);
    assert_int_equal(all.bytes.length, 1);
    expect(&all, "ADDED a");
    expect(&all, "ADDED b");
    finish(&all);
}

static void an_expiry_of_an_open_watch_is_a_frame_behind_others(void **state)
{
    sim_rig *f = *state;
    frames all;

    fault_order(f, "{\"action\":\"delay\",\"bytes\":1}");
    watch(f, &all, FAULT_WATCH);
    sim_add(f->sim, "a");
    assert_int_equal(await(&all, 1, SIM_CLIENT_PATIENCE_MS), KL_OK);
    fault_order(f, "{\"action\":\"expire\",\"verb\":\"watch\",\"open\":true}");
    expect(&all, "ADDED a");
    expect(&all, "ERROR -");
    expect_end(&all, KL_EIO);
    finish(&all);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, sim_rig_set_up, sim_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_watch_comes_in_frames),
        TEST(a_410_is_an_error_event_in_a_frame),
        cmocka_unit_test(an_event_that_is_changed_is_a_whole_frame),
        TEST(an_event_of_another_kind_says_so),
        TEST(an_event_that_is_huge_is_as_long_as_it_was_ordered),
        TEST(an_event_that_is_broken_has_no_envelope),
        TEST(a_frame_that_is_not_closed_swallows_the_next),
        TEST(half_a_frame_ends_the_stream),
        TEST(a_text_comes_in_frames_of_its_own),
        TEST(events_are_counted_as_frames),
        TEST(bytes_are_counted_as_they_are),
        TEST(frames_come_byte_by_byte),
        TEST(an_expiry_of_an_open_watch_is_a_frame_behind_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
