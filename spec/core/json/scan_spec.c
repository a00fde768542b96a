/*
 * scan_spec.c - the frames of a stream are the same however it is chunked, and
 * a stream that lies is found out early.
 */
#include "base/buf.h"
#include "failing_alloc.h"
#include "json/scan.h"
#include "json/text.h"
#include "kubelua/memory.h"
#include "kubelua/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Appends each frame as a line; KL_OK once the scan wants more. */
static kl_code drain(kl__scan *scan, kl__buf *log, kl_error *err)
{
    kl__frame frame;
    kl_code code;

    while ((code = kl__scan_next(scan, &frame, err)) == KL_OK &&
           frame.type != KL__FRAME_MORE) {
        if (frame.type != KL__FRAME_END) {
            assert_int_equal(frame.spaces,
                             kl__text_measure(frame.text, frame.length).spaces);
        }
        if (frame.type == KL__FRAME_EVENT) {
            kl__buf_append(log, frame.name, frame.name_length);
            kl__buf_putc(log, ' ');
        } else {
            kl__buf_puts(log, frame.type == KL__FRAME_ITEM ? "item "
                              : frame.name != NULL         ? "end "
                                                           : "no list ");
        }
        kl__buf_append(log, frame.text, frame.length);
        kl__buf_putc(log, '\n');
    }
    return code;
}

/* What becomes of a text in chunks: the first of `first` bytes, the others of
 * `others`; if that is odd, nothing more comes for long after each of them. The
 * log ends with how the stream ended. */
static char *frames_of(kl__scan_mode mode, const char *text, size_t first,
                       size_t others)
{
    kl__scan *scan = kl__scan_new(mode);
    size_t length = strlen(text), size = first;
    kl_error err = {0};
    kl__buf log = {0};
    kl_code code = KL_OK;

    for (size_t at = 0; at < length && code == KL_OK; at += size) {
        size = at == 0 ? first : others;
        size = size < length - at ? size : length - at;
        code = kl__scan_feed(scan, text + at, size, &err);
        if (code == KL_OK) {
            code = drain(scan, &log, &err);
        }
        if (code == KL_OK && others % 2 == 1) {
            assert_non_null(kl__scan_room(scan, 1, NULL));
            kl__scan_rest(scan);
        }
    }
    if (code != KL_OK) {
        kl__buf_printf(&log, "%s %s", kl_code_name(code), err.message);
    } else if (!kl__scan_at_boundary(scan)) {
        kl__buf_puts(&log, "unfinished");
    }
    kl__scan_free(scan);
    return kl__buf_take(&log, NULL);
}

static void same_however_chunked(kl__scan_mode mode, const char *text,
                                 const char *expected)
{
    size_t length = strlen(text);

    for (size_t first = 1; first <= length; first++) {
        char *whole = frames_of(mode, text, first, length);

        assert_string_equal(whole, expected);
        kl_free(whole);
    }
    for (size_t size = 1; size < 9; size++) {
        char *small = frames_of(mode, text, size, size);

        assert_string_equal(small, expected);
        kl_free(small);
    }
}

static void a_list_gives_its_items_and_then_the_rest(void **state)
{
    (void)state;
    same_however_chunked(
        KL__SCAN_LIST,
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},"
        "\"items\":[{\"a\":[1,{\"b\":\"]}\\\"\\\\\"}]},{}]}\n",
        "item {\"a\":[1,{\"b\":\"]}\\\"\\\\\"}]}\n"
        "item {}\n"
        "end "
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"}}\n");
}

static void metadata_may_come_after_the_items(void **state)
{
    (void)state;
    same_however_chunked(
        KL__SCAN_LIST,
        "{\"apiVersion\":\"v1\",\"items\":[{\"items\":[{}]}],\"kind\":\"L\","
        "\"metadata\":{\"continue\":\"x\",\"items\":[1]},\"n\":-1.5e3}",
        "item {\"items\":[{}]}\n"
        "end {\"apiVersion\":\"v1\",\"kind\":\"L\",\"metadata\":"
        "{\"continue\":\"x\",\"items\":[1]},\"n\":-1.5e3}\n");
}

static void a_list_may_have_no_items(void **state)
{
    (void)state;
    same_however_chunked(KL__SCAN_LIST, "{\"items\":[]}", "end {}\n");
    same_however_chunked(KL__SCAN_LIST, "{\"items\":null,\"a\":true}",
                         "end {\"a\":true}\n");
}

static void a_list_without_items_is_not_an_empty_list(void **state)
{
    (void)state;
    same_however_chunked(KL__SCAN_LIST, "{\"a\":null}",
                         "no list {\"a\":null}\n");
    same_however_chunked(KL__SCAN_LIST, "{}", "no list {}\n");
}

static void an_indented_list_is_a_list(void **state)
{
    (void)state;
    same_however_chunked(KL__SCAN_LIST,
                         " \r\n{ \"kind\" : 1 ,\n\t\"items\" : [ { } ,\n"
                         " {\"x\": 1 } ] , \"z\" : [ ] }\n",
                         "item { }\nitem {\"x\": 1 }\n"
                         "end {\"kind\" : 1,\"z\" : [ ]}\n");
}

static void a_watch_gives_its_events(void **state)
{
    (void)state;
    same_however_chunked(
        KL__SCAN_WATCH,
        "{\"type\":\"ADDED\",\"object\":{\"a\":\"}{\"}}\n"
        "{\"object\":{\"b\":[{},[]]},\"type\":\"DELETED\"}"
        "{\"x\":[1,{}],\"type\":\"ERROR\",\"y\":null,\"object\":{},\"z\":\"\"}"
        "\r\n\r\n { \"type\" : \"BOOKMARK\" , \"object\" : { } } ",
        "ADDED {\"a\":\"}{\"}\n"
        "DELETED {\"b\":[{},[]]}\n"
        "ERROR {}\n"
        "BOOKMARK { }\n");
}

static void a_stream_that_ends_midway_is_unfinished(void **state)
{
    (void)state;
    same_however_chunked(KL__SCAN_WATCH,
                         "{\"type\":\"A\",\"object\":{}}{\"type\":\"ADDED\"",
                         "A {}\nunfinished");
    same_however_chunked(KL__SCAN_LIST, "{\"items\":[{}],\"a\":1",
                         "item {}\nunfinished");
    same_however_chunked(KL__SCAN_LIST, "{\"items\":[{}",
                         "item {}\nunfinished");
}

static void an_empty_body_ends_a_watch_but_not_a_list(void **state)
{
    kl__scan *watch = kl__scan_new(KL__SCAN_WATCH);
    kl__scan *list = kl__scan_new(KL__SCAN_LIST);

    (void)state;
    assert_true(kl__scan_at_boundary(watch));
    assert_false(kl__scan_at_boundary(list));
    kl__scan_free(watch);
    kl__scan_free(list);
    kl__scan_free(NULL);
}

/* The message names what is wrong at that byte, however chunked; what was cut
 * out before stays out. */
static void breaks(kl__scan_mode mode, const char *text, size_t at,
                   const char *message)
{
    size_t length = strlen(text);
    char place[40];

    snprintf(place, sizeof(place), "at byte %zu: ", at);
    for (size_t first = 1; first <= length; first++) {
        char *log = frames_of(mode, text, first, 1);

        if (strstr(log, "parse ") == NULL || strstr(log, place) == NULL ||
            strstr(log, message) == NULL) {
            fail_msg("%s: \"%s\" lacks \"%s%s\"", text, log, place, message);
        }
        kl_free(log);
    }
}

static void an_invalid_list_is_an_error_with_its_position(void **state)
{
    (void)state;
    breaks(KL__SCAN_LIST, "<html>", 0, "expected \"{\"; found: <");
    breaks(KL__SCAN_LIST, "[]", 0, "expected \"{\"");
    breaks(KL__SCAN_LIST, "{,", 1, "a member's name or \"}\"");
    breaks(KL__SCAN_LIST, "{\"a\" 1", 5, "expected \":\"");
    breaks(KL__SCAN_LIST, "{\"a\":}", 5, "expected a value");
    breaks(KL__SCAN_LIST, "{\"a\":1 2", 7, "expected \",\" or \"}\"");
    breaks(KL__SCAN_LIST, "{\"a\":1,}", 7, "expected a member's name;");
    breaks(KL__SCAN_LIST, "{\"a\":1\"", 6, "expected \",\" or \"}\"");
    breaks(KL__SCAN_LIST, "{\"items\":{}", 9, "items is not an array");
    breaks(KL__SCAN_LIST, "{\"items\":nil,", 12, "items is not an array");
    breaks(KL__SCAN_LIST, "{\"items\":[1", 10, "an item's \"{\" or \"]\"");
    breaks(KL__SCAN_LIST, "{\"items\":[null", 10, "an item's \"{\"");
    breaks(KL__SCAN_LIST, "{\"items\":[{},]", 13, "expected an item's \"{\";");
    breaks(KL__SCAN_LIST, "{\"items\":[{} {", 13, "expected \",\" or \"]\"");
    breaks(KL__SCAN_LIST, "{\"items\":[],\"items\":[", 20, "items twice");
    breaks(KL__SCAN_LIST, "{\"items\":null,\"items\":[", 22, "items twice");
    breaks(KL__SCAN_LIST, "{\"items\":[],\"items\":null}", 24, "items twice");
    breaks(KL__SCAN_LIST, "{\"items\":[{\"a\":[}", 16, "closes another");
    breaks(KL__SCAN_LIST, "{\"a\":{]", 6, "closes another");
    breaks(KL__SCAN_LIST, "{} {", 3, "nothing after the list");
}

static void an_invalid_event_is_an_error_with_its_position(void **state)
{
    (void)state;
    breaks(KL__SCAN_WATCH, "too many", 0, "expected \"{\"; found: t");
    breaks(KL__SCAN_WATCH, "{\"type\":\"A\",\"object\":{}},", 24,
           "expected \"{\"");
    breaks(KL__SCAN_WATCH, "{\"type\":1", 8, "type is one string");
    breaks(KL__SCAN_WATCH, "{\"object\":[", 10, "object is one object");
    breaks(KL__SCAN_WATCH, "{\"type\":\"A\"}", 11, "without a type");
    breaks(KL__SCAN_WATCH, "{\"object\":{}}", 12, "without a type");
    breaks(KL__SCAN_WATCH, "{\"type\":\"A\",\"type\":\"B\"", 19,
           "type is one string");
    breaks(KL__SCAN_WATCH, "{\"object\":{},\"object\":{", 22,
           "object is one object");
}

/* Frames of a text as one chunk and byte by byte, without what was found where
 * it breaks, which depends on how much of it has come. */
static void breaks_the_same_way(kl__scan_mode mode, const char *text)
{
    char *whole = frames_of(mode, text, strlen(text), 1);
    char *bytes = frames_of(mode, text, 1, 1);
    char *end;

    if ((end = strstr(whole, "; found: ")) != NULL) {
        *end = '\0';
    }
    if ((end = strstr(bytes, "; found: ")) != NULL) {
        *end = '\0';
    }
    assert_string_equal(whole, bytes);
    kl_free(whole);
    kl_free(bytes);
}

static void a_damaged_stream_fails_alike_for_all_chunk_sizes(void **state)
{
    static const char *const streams[] = {
        "{\"type\":\"A\",\"object\":{\"b\":[[],{\"\\\"\":\"\\\\\"}]}}\n{\"x\":"
        "1}",
        "{\"a\":[true,\"]\"],\"items\":[{\"b\":{}},{}],\"c\":-1.5,\"d\":null}"};
    static const char others[] = "{}[]\",:\\ n1x";
    char text[100];

    (void)state;
    for (size_t mode = KL__SCAN_WATCH; mode <= KL__SCAN_LIST; mode++) {
        size_t length = strlen(streams[mode]);

        for (size_t i = 0; i < length * (sizeof(others) - 1); i++) {
            strcpy(text, streams[mode]);
            text[i % length] = others[i / length];
            breaks_the_same_way((kl__scan_mode)mode, text);
        }
        for (size_t i = 0; i < length; i++) {
            strcpy(text, streams[mode]);
            memmove(text + i, text + i + 1, length - i);
            breaks_the_same_way((kl__scan_mode)mode, text);
        }
    }
}

static void after_a_failure_every_call_fails(void **state)
{
    kl__scan *scan = kl__scan_new(KL__SCAN_WATCH);
    kl__frame frame;
    kl_error first = {0}, second = {0};

    (void)state;
    assert_int_equal(kl__scan_feed(scan, "x", 1, NULL), KL_OK);
    assert_int_equal(kl__scan_next(scan, &frame, &first), KL_EPARSE);
    assert_int_equal(kl__scan_feed(scan, "{}", 2, NULL), KL_EPARSE);
    assert_int_equal(kl__scan_next(scan, &frame, &second), KL_EPARSE);
    assert_string_equal(first.message, second.message);
    assert_int_equal(frame.type, KL__FRAME_MORE);
    assert_false(kl__scan_at_boundary(scan));
    kl__scan_free(scan);
}

/* Feeds `count` copies of a byte, and expects no frame of them. */
static void feed_many(kl__scan *scan, char byte, size_t count)
{
    static char chunk[1 << 16];
    kl__frame frame;

    memset(chunk, byte, sizeof(chunk));
    while (count > 0) {
        size_t size = count < sizeof(chunk) ? count : sizeof(chunk);

        assert_int_equal(kl__scan_feed(scan, chunk, size, NULL), KL_OK);
        assert_int_equal(kl__scan_next(scan, &frame, NULL), KL_OK);
        assert_int_equal(frame.type, KL__FRAME_MORE);
        count -= size;
    }
}

static void feed_text(kl__scan *scan, const char *text)
{
    assert_int_equal(kl__scan_feed(scan, text, strlen(text), NULL), KL_OK);
}

static void next_fails_for(kl__scan *scan, kl_code failure, const char *message)
{
    kl__frame frame;
    kl_error err = {0};

    assert_int_equal(kl__scan_next(scan, &frame, NULL), KL_OK);
    assert_int_not_equal(frame.type, KL__FRAME_MORE);
    assert_int_equal(frame.failure, failure);
    assert_int_equal(kl__frame_error(&frame, &err), failure);
    assert_string_equal(err.message, message);
    assert_string_equal(frame.remains->name, "x");
    assert_string_equal(frame.remains->version, "7");
    assert_int_equal(frame.text == NULL, failure == KL_ETOO_LARGE);
}

static void next_is_readable(kl__scan *scan)
{
    kl__frame frame;

    assert_int_equal(kl__scan_next(scan, &frame, NULL), KL_OK);
    assert_int_not_equal(frame.type, KL__FRAME_MORE);
    assert_int_equal(frame.failure, KL_OK);
    assert_null(frame.remains);
}

static const char identity[] =
    "\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"7\"}";

static void an_item_that_is_nested_too_deeply_is_passed_by(void **state)
{
    kl__scan *scan = kl__scan_new(KL__SCAN_LIST);

    (void)state;
    feed_text(scan, "{\"items\":[{\"a\":");
    feed_many(scan, '[', KL_MAX_DEPTH);
    feed_many(scan, ']', KL_MAX_DEPTH);
    feed_text(scan, ",");
    feed_text(scan, identity);
    feed_text(scan, "},{},");
    next_fails_for(scan, KL_EPARSE, "JSON nested deeper than 10000 levels");
    next_is_readable(scan);
    feed_text(scan, "{\"a\":");
    feed_many(scan, '[', KL_MAX_DEPTH - 1);
    feed_many(scan, ']', KL_MAX_DEPTH - 1);
    feed_text(scan, "}]}");
    next_is_readable(scan);
    next_is_readable(scan);
    assert_true(kl__scan_at_boundary(scan));
    kl__scan_free(scan);
}

static void an_event_that_is_nested_too_deeply_is_passed_by(void **state)
{
    kl__scan *scan = kl__scan_new(KL__SCAN_WATCH);

    (void)state;
    feed_text(scan, "{\"object\":{");
    feed_text(scan, identity);
    feed_text(scan, ",\"a\":");
    feed_many(scan, '[', 3 * KL_MAX_DEPTH);
    feed_many(scan, ']', 3 * KL_MAX_DEPTH);
    feed_text(scan, "},\"type\":\"ADDED\"}{\"type\":\"ADDED\",\"object\":{}}");
    next_fails_for(scan, KL_EPARSE, "JSON nested deeper than 10000 levels");
    next_is_readable(scan);
    kl__scan_free(scan);
}

static void a_member_of_a_list_that_is_too_deep_breaks_the_stream(void **state)
{
    kl__scan *scan = kl__scan_new(KL__SCAN_LIST);
    kl__frame frame;
    kl_error err = {0};

    (void)state;
    feed_text(scan, "{\"a\":");
    feed_many(scan, '[', KL_MAX_DEPTH + 1);
    feed_many(scan, ']', KL_MAX_DEPTH);
    feed_text(scan, "]");
    assert_int_equal(kl__scan_next(scan, &frame, &err), KL_EPARSE);
    assert_non_null(strstr(err.message, "nested too deeply"));
    kl__scan_free(scan);
}

/* More than KL__MAX_FRAME bytes are not kept: the name before them and the
 * version behind them are found. */
static void an_item_that_is_too_large_is_passed_by(void **state)
{
    kl__scan *scan = kl__scan_new(KL__SCAN_LIST);

    (void)state;
    feed_text(scan, "{\"items\":[{\"metadata\":{\"name\":\"x\"},\"a\":\"");
    feed_many(scan, 'x', (size_t)KL__MAX_FRAME + 100000);
    feed_text(scan, "\",\"metadata\":{\"resourceVersion\":\"7\"}},{}]}");
    next_fails_for(scan, KL_ETOO_LARGE, "it takes more than 64 MB");
    next_is_readable(scan);
    next_is_readable(scan);
    assert_true(kl__scan_at_boundary(scan));
    kl__scan_free(scan);
}

static void an_event_that_is_too_large_is_passed_by(void **state)
{
    kl__scan *scan = kl__scan_new(KL__SCAN_WATCH);
    kl__frame frame;

    (void)state;
    feed_text(scan, "{\"type\":\"MODIFIED\",\"object\":{");
    feed_text(scan, identity);
    feed_text(scan, ",\"a\":\"");
    feed_many(scan, 'x', (size_t)KL__MAX_FRAME + 100000);
    feed_text(scan, "\"}}{\"type\":\"ADDED\",\"object\":{}}");
    assert_int_equal(kl__scan_next(scan, &frame, NULL), KL_OK);
    assert_int_equal(frame.failure, KL_ETOO_LARGE);
    assert_int_equal(frame.name_length, 8);
    assert_memory_equal(frame.name, "MODIFIED", 8);
    assert_string_equal(frame.remains->name, "x");
    next_is_readable(scan);
    kl__scan_free(scan);
}

static const char hundred_bytes[] =
    "01234567890123456789012345678901234567890123456789"
    "01234567890123456789012345678901234567890123456789";

/* The bytes that make them too large may come together with their end. */
static void a_large_end_that_comes_at_once_is_passed_by_too(void **state)
{
    kl__scan *scan = kl__scan_new(KL__SCAN_LIST);
    kl__frame frame;

    (void)state;
    feed_text(scan, "{\"items\":[{");
    feed_text(scan, identity);
    feed_text(scan, ",\"a\":\"");
    feed_many(scan, 'x', (size_t)KL__MAX_FRAME - 100);
    feed_text(scan, hundred_bytes);
    feed_text(scan, "\"},{}]}");
    next_fails_for(scan, KL_ETOO_LARGE, "it takes more than 64 MB");
    next_is_readable(scan);
    next_is_readable(scan);
    kl__scan_free(scan);

    scan = kl__scan_new(KL__SCAN_WATCH);
    feed_text(scan, "{\"type\":\"MODIFIED\",\"object\":{");
    feed_text(scan, identity);
    feed_text(scan, ",\"a\":\"");
    feed_many(scan, 'x', (size_t)KL__MAX_FRAME - 100);
    feed_text(scan, hundred_bytes);
    feed_text(scan, "\"}");
    assert_int_equal(kl__scan_next(scan, &frame, NULL), KL_OK);
    assert_int_equal(frame.type, KL__FRAME_MORE);
    feed_text(scan, "}{\"type\":\"ADDED\",\"object\":{}}");
    next_fails_for(scan, KL_ETOO_LARGE, "it takes more than 64 MB");
    next_is_readable(scan);
    kl__scan_free(scan);
}

static void a_member_of_a_list_that_is_too_large_breaks_the_stream(void **state)
{
    enum { CHUNK = 1024 * 1024 };
    kl__scan *scan = kl__scan_new(KL__SCAN_LIST);
    char *chunk = malloc(CHUNK);
    kl__frame frame;
    kl_error err = {0};
    size_t fed = 0;
    kl_code code = KL_OK;

    (void)state;
    assert_non_null(chunk);
    memset(chunk, 'x', CHUNK);
    feed_text(scan, "{\"a\":\"");
    while (code == KL_OK && fed < 2 * (size_t)KL__MAX_FRAME) {
        assert_int_equal(kl__scan_feed(scan, chunk, CHUNK, NULL), KL_OK);
        code = kl__scan_next(scan, &frame, &err);
        fed += CHUNK;
    }
    assert_int_equal(code, KL_ETOO_LARGE);
    assert_int_equal(fed, KL__MAX_FRAME);
    kl__scan_free(scan);
    free(chunk);
}

static void an_excerpt_shows_the_begin_of_the_stream(void **state)
{
    kl__scan *scan = kl__scan_new(KL__SCAN_WATCH);
    char text[20];

    (void)state;
    kl__scan_feed(scan, "<ht", 3, NULL);
    kl__scan_feed(scan, "ml>\n\x1b[1m", 8, NULL);
    kl__scan_excerpt(scan, text, sizeof(text));
    assert_string_equal(text, "<html> ?[1m");
    kl__scan_feed(scan, "0123456789", 10, NULL);
    kl__scan_excerpt(scan, text, sizeof(text));
    assert_string_equal(text, "<html> ?[1m01234...");
    kl__scan_free(scan);
}

/* An event whose object has `size` bytes of one string, and many small ones. */
static char *large_event(size_t size, size_t *length)
{
    static const char head[] = "{\"type\":\"ADDED\",\"object\":{\"a\":\"";
    kl__buf text = {0};

    kl__buf_puts(&text, head);
    for (size_t i = 0; i < size; i++) {
        kl__buf_putc(&text, "xyz{}[]\\\\"[i % 9]);
    }
    kl__buf_puts(&text, "\"}}\n");
    return kl__buf_take(&text, length);
}

static void two_megabytes_byte_by_byte_take_linear_time(void **state)
{
    kl__scan *scan = kl__scan_new(KL__SCAN_WATCH);
    kl__frame frame = {0};
    size_t length;
    char *text = large_event(9 * 200 * 1000, &length);
    clock_t start = clock();

    (void)state;
    for (size_t i = 0; i < length && frame.type == KL__FRAME_MORE; i++) {
        assert_int_equal(kl__scan_feed(scan, text + i, 1, NULL), KL_OK);
        assert_int_equal(kl__scan_next(scan, &frame, NULL), KL_OK);
    }
    assert_int_equal(frame.type, KL__FRAME_EVENT);
    assert_int_equal(frame.length, length - 27);
    /* 0.07 s measured, 7 under ThreadSanitizer; rescanning takes an hour. */
    assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
    kl__scan_free(scan);
    kl_free(text);
}

static void an_idle_watch_frees_the_memory_of_a_large_event(void **state)
{
    size_t length;
    char *text;
    kl__scan *scan;
    kl__frame frame;
    long before;

    (void)state;
    failing_alloc_install();
    text = large_event(9 * 200 * 1000, &length);
    scan = kl__scan_new(KL__SCAN_WATCH);
    before = failing_alloc_live();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kl__scan_feed(scan, text, length, NULL), KL_OK);
        assert_int_equal(kl__scan_next(scan, &frame, NULL), KL_OK);
        assert_int_equal(frame.type, KL__FRAME_EVENT);
        assert_int_equal(failing_alloc_live(), before + 1);
        assert_int_equal(kl__scan_next(scan, &frame, NULL), KL_OK);
        assert_int_equal(frame.type, KL__FRAME_MORE);
        assert_int_equal(failing_alloc_live(), before);
        assert_true(kl__scan_at_boundary(scan));
    }
    kl__scan_free(scan);
    kl_free(text);
    failing_alloc_uninstall();
}

static kl_code scan_all(void *context)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"a string that is longer than one buffer of "
        "the list's rest at its first size\"},\"items\":[{\"a\":1},{}]}";
    kl__scan *scan = kl__scan_new(KL__SCAN_LIST);
    kl_error err = {0};
    kl_code code;
    kl__frame frame = {0};

    (void)context;
    if (scan == NULL) {
        return KL_ENOMEM;
    }
    code = kl__scan_feed(scan, text, 40, &err);
    if (code == KL_OK) {
        code = kl__scan_next(scan, &frame, &err);
    }
    if (code == KL_OK) {
        code = kl__scan_feed(scan, text + 40, sizeof(text) - 1 - 40, &err);
    }
    while (code == KL_OK && frame.type != KL__FRAME_END) {
        code = kl__scan_next(scan, &frame, &err);
    }
    assert_int_equal(kl__scan_at_boundary(scan), code == KL_OK);
    kl__scan_free(scan);
    return code;
}

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    assert_true(failing_alloc_each(scan_all, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_gives_its_items_and_then_the_rest),
        cmocka_unit_test(metadata_may_come_after_the_items),
        cmocka_unit_test(a_list_may_have_no_items),
        cmocka_unit_test(a_list_without_items_is_not_an_empty_list),
        cmocka_unit_test(an_indented_list_is_a_list),
        cmocka_unit_test(a_watch_gives_its_events),
        cmocka_unit_test(a_stream_that_ends_midway_is_unfinished),
        cmocka_unit_test(an_empty_body_ends_a_watch_but_not_a_list),
        cmocka_unit_test(an_invalid_list_is_an_error_with_its_position),
        cmocka_unit_test(an_invalid_event_is_an_error_with_its_position),
        cmocka_unit_test(a_damaged_stream_fails_alike_for_all_chunk_sizes),
        cmocka_unit_test(after_a_failure_every_call_fails),
        cmocka_unit_test(an_item_that_is_nested_too_deeply_is_passed_by),
        cmocka_unit_test(an_event_that_is_nested_too_deeply_is_passed_by),
        cmocka_unit_test(a_member_of_a_list_that_is_too_deep_breaks_the_stream),
        cmocka_unit_test(an_item_that_is_too_large_is_passed_by),
        cmocka_unit_test(an_event_that_is_too_large_is_passed_by),
        cmocka_unit_test(a_large_end_that_comes_at_once_is_passed_by_too),
        cmocka_unit_test(
            a_member_of_a_list_that_is_too_large_breaks_the_stream),
        cmocka_unit_test(an_excerpt_shows_the_begin_of_the_stream),
        cmocka_unit_test(two_megabytes_byte_by_byte_take_linear_time),
        cmocka_unit_test(an_idle_watch_frees_the_memory_of_a_large_event),
        cmocka_unit_test(running_out_of_memory_is_an_error_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
