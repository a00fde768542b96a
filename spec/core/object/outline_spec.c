/*
 * outline_spec.c - an object read off an outline is the object that a parser
 * makes of the same text, and what the outline calls JSON the parser does too,
 * whatever the chunks: over many texts, most of them broken in one place.
 */
#include "json/skip.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 4096, TEXTS = 20000 };

/* A text that grows; all of them fit. */
typedef struct writer {
    char text[ROOM];
    size_t length;
} writer;

static size_t any(size_t below)
{
    return (size_t)random() % below;
}

static void put(writer *to, const char *text)
{
    size_t length = strlen(text);

    if (to->length + length < ROOM / 2) {
        memcpy(to->text + to->length, text, length + 1);
        to->length += length;
    }
}

#define ONE_OF(list) list[any(sizeof(list) / sizeof(list[0]))]

static void put_string(writer *to)
{
    static const char *const parts[] = {
        "a",
        "web",
        "shop-1",
        " ",
        "/",
        "\\\"",
        "\\\\",
        "\\n",
        "\\/",
        "\\u0026",
        "\\u003C",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "{\\\"a\\\":1}",
        "checksum/config",
        "0123456789abcdef0123456789abcdef0123456789abcdef"};

    put(to, "\"");
    for (size_t left = any(6); left > 0; left--) {
        put(to, ONE_OF(parts));
    }
    put(to, "\"");
}

static void put_value(writer *to, int depth)
{
    static const char *const scalars[] = {
        "0",        "-1",  "42",   "1.5",
        "-0.25e+7", "1E9", "true", "false",
        "null",     "{}",  "[]",   "123456789012345678901234567890",
        "\"\""};
    size_t left = any(4) + 1;

    if (depth == 0 || any(3) == 0) {
        put(to, ONE_OF(scalars));
    } else if (any(3) == 0) {
        put_string(to);
    } else if (any(2) == 0) {
        for (put(to, "["); left > 0; left--) {
            put_value(to, depth - 1);
            put(to, left > 1 ? "," : "");
        }
        put(to, "]");
    } else {
        for (put(to, "{"); left > 0; left--) {
            put_string(to);
            put(to, ":");
            put_value(to, depth - 1);
            put(to, left > 1 ? "," : "");
        }
        put(to, "}");
    }
}

static void put_metadata(writer *to)
{
    static const char *const members[] = {
        "\"namespace\":\"web\"",
        "\"uid\":\"u-1\"",
        "\"resourceVersion\":\"7\"",
        "\"labels\":{\"name\":\"x\",\"a\":\"b\"}",
        "\"managedFields\":[{\"f:a\":{},\"f:b\":{\".\":{}}}]",
        "\"managedFields\":[{\"manager\":\"kubelet\",\"fieldsV1\":{"
        "\"f:status\":{\"f:conditions\":{\"k:{\\\"type\\\":\\\"Ready\\\"}\":"
        "{\".\":{},\"f:status\":{},\"f:type\":{}}},\"f:podIPs\":{\".\":{},"
        "\"k:{\\\"ip\\\":\\\"10.0.0.1\\\"}\":{\".\":{},\"f:ip\":{}}},"
        "\"f:startTime\":{}}},\"subresource\":\"status\"}]",
        "\"metadata\":{\"name\":\"y\"}",
        "\"uid\":null",
        "\"annotations\":{\"metadata\":{\"uid\":\"z\"}}"};

    put(to, "\"metadata\":{");
    for (size_t left = any(4); left > 0; left--) {
        put(to, ONE_OF(members));
        put(to, ",");
    }
    put(to, "\"name\":\"shop-1\"");
    for (size_t left = any(4); left > 0; left--) {
        put(to, ",");
        put(to, ONE_OF(members));
    }
    put(to, "}");
}

static void put_object(writer *to)
{
    static const char *const members[] = {
        "\"kind\":\"Pod\"", "\"apiVersion\":\"v1\"", "\"type\":\"Opaque\""};

    *to = (writer){.length = 0};
    put(to, "{");
    for (size_t left = any(3); left > 0; left--) {
        put(to, ONE_OF(members));
        put(to, ",");
    }
    put_metadata(to);
    for (size_t left = any(3); left > 0; left--) {
        put(to, ",");
        put_string(to);
        put(to, ":");
        put_value(to, 4);
    }
    put(to, "}");
}

/* Puts something where it does not belong, or takes something away. */
static void break_somewhere(writer *text)
{
    static const char *const parts[] = {",",
                                        ":",
                                        "\"",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "\\",
                                        "\\u12",
                                        "\\ud834",
                                        "\\x",
                                        "1",
                                        "-",
                                        "01",
                                        "1.",
                                        "tru",
                                        "nulll",
                                        " ",
                                        "\n",
                                        "\x01",
                                        "\x80",
                                        "\xc3\xa4",
                                        "\"name\":\"z\",",
                                        "\"uid\":1,",
                                        "\"metadata\":{},",
                                        "\"na\\u006de\":\"z\",",
                                        "/",
                                        "e5",
                                        "{}",
                                        "[]",
                                        "\x7f",
                                        "\\\""};
    const char *part = ONE_OF(parts);
    size_t at = any(text->length);
    size_t gone = any(3) == 0 ? 1 : 0;
    size_t length = gone != 0 && any(2) == 0 ? 0 : strlen(part);

    memmove(text->text + at + length, text->text + at + gone,
            text->length - at - gone);
    memcpy(text->text + at, part, length);
    text->length += length - gone;
}

/* Runs over it in chunks; true: it ends where the text does. */
static bool outline_by(kl__skip_way way, const writer *text, size_t chunk,
                       kl__outline *outline)
{
    const char *at = text->text;
    kl__skip_result result = KL__SKIP_MORE;
    kl__skip_levels levels;
    kl__skip skip;

    outline->is_sure = false;
    if (!kl__skip_begin(&skip, &levels, text->text[0]) ||
        text->text[0] != '{') {
        return false;
    }
    skip.way = way;
    kl__skip_outline(&skip, outline);
    for (size_t fed = 0; fed < text->length && result == KL__SKIP_MORE;) {
        fed = fed + chunk < text->length ? fed + chunk : text->length;
        result = kl__skip_run(&skip, &at, text->text + fed);
    }
    return result == KL__SKIP_DONE && at == text->text + text->length;
}

static bool outline_of(const writer *text, size_t chunk, kl__outline *outline)
{
    return outline_by(KL__SKIP_BEST, text, chunk, outline);
}

static void is_the_same_object(kl_object *a, kl_object *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL) {
        assert_string_equal(kl_object_key(a), kl_object_key(b));
        assert_string_equal(kl_object_name(a), kl_object_name(b));
        assert_string_equal(kl_object_namespace(a), kl_object_namespace(b));
        assert_string_equal(kl_object_uid(a), kl_object_uid(b));
        assert_string_equal(kl_object_kind(a), kl_object_kind(b));
        assert_string_equal(kl_object_api_version(a), kl_object_api_version(b));
        assert_string_equal(kl_object_resource_version(a),
                            kl_object_resource_version(b));
        assert_string_equal(kl_object_json(a, NULL, NULL),
                            kl_object_json(b, NULL, NULL));
    }
    kl_object_unref(a);
    kl_object_unref(b);
}

/* Reads it both ways; whether the outline was sure. */
static bool compare(const writer *text, const kl_object_options *options)
{
    kl__outline outline;
    bool is_whole = outline_of(text, ROOM, &outline);
    kl__text_shape shape = kl__text_measure(text->text, text->length);
    kl_doc *doc;

    if (!is_whole) { /* such a frame is never cut */
        assert_false(outline.is_sure && text->length == 0);
        return false;
    }
    doc = kl_doc_parse(text->text, text->length, NULL);
    assert_true(doc != NULL || !outline.is_sure);
    kl_doc_unref(doc);
    shape.outline = &outline;
    is_the_same_object(
        kl__object_parse_measured(text->text, text->length, &shape, options,
                                  NULL),
        kl_object_parse(text->text, text->length, options, NULL));
    return outline.is_sure;
}

static const kl_object_options kinds[] = {
    {0},
    {.kind = "Pod", .api_version = "v1"},
    {.kind = "Pod", .keep_managed_fields = true},
    {.kind = "Pod", .api_version = "v1", .metadata_only = true}};

static void server_output_is_read_without_parsing(void **state)
{
    writer text;

    (void)state;
    srandom(5);
    for (int i = 0; i < TEXTS; i++) {
        put_object(&text);
        assert_int_equal(compare(&text, &ONE_OF(kinds)),
                         kl__skip_has(KL__SKIP_16));
    }
}

static void an_outline_is_never_sure_of_invalid_json(void **state)
{
    writer text;
    int sure = 0;

    (void)state;
    srandom(6);
    for (int i = 0; i < 10 * TEXTS; i++) {
        put_object(&text);
        for (size_t left = any(2) + 1; left > 0; left--) {
            break_somewhere(&text);
        }
        sure += compare(&text, &ONE_OF(kinds)) ? 1 : 0;
    }
    assert_true(sure < 5 * TEXTS); /* else too little was broken */
}

static void is_the_same_outline(const kl__outline *a, const kl__outline *b)
{
    assert_int_equal(a->is_sure, b->is_sure);
    if (a->is_sure) {
        assert_int_equal(a->count, b->count);
        for (size_t key = 0; key < a->count; key++) {
            assert_int_equal(a->keys[key].at, b->keys[key].at);
            assert_int_equal(a->keys[key].is_in, b->keys[key].is_in);
        }
    }
}

static void outlines_do_not_depend_on_the_chunks(void **state)
{
    static const size_t chunks[] = {1, 7, 63, 64, 65, 200};
    writer text;

    (void)state;
    srandom(7);
    for (int i = 0; i < TEXTS / 4; i++) {
        kl__outline whole, cut;
        bool ends;

        put_object(&text);
        if (any(2) == 0) {
            break_somewhere(&text);
        }
        ends = outline_of(&text, ROOM, &whole);
        assert_int_equal(outline_of(&text, ONE_OF(chunks), &cut), ends);
        is_the_same_outline(&cut, &whole);
    }
}

/* Where 16 bytes are read at once is the measure for the wider ways. */
static void outlines_do_not_depend_on_the_width(void **state)
{
    static const kl__skip_way wider[] = {KL__SKIP_32, KL__SKIP_64};
    writer text;

    (void)state;
    srandom(8);
    for (int i = 0; i < 4 * TEXTS; i++) {
        kl__outline narrow, wide;
        bool ends;

        put_object(&text);
        for (size_t left = any(2); left > 0; left--) {
            break_somewhere(&text);
        }
        ends = outline_by(KL__SKIP_16, &text, ROOM, &narrow);
        for (size_t way = 0; way < sizeof(wider) / sizeof(wider[0]); way++) {
            if (kl__skip_has(wider[way])) {
                assert_int_equal(outline_by(wider[way], &text, ROOM, &wide),
                                 ends);
                is_the_same_outline(&wide, &narrow);
            }
        }
    }
}

/* Some blocks are read before the end of the object in them is found. */
static void bytes_behind_an_object_do_not_change_its_outline(void **state)
{
    static const char bytes[] = "\\{}[]\":, \n\x01\x80,1nu";
    writer text;

    (void)state;
    srandom(9);
    for (int i = 0; i < TEXTS; i++) {
        kl__outline alone, followed;
        size_t length;

        put_object(&text);
        if (any(2) == 0) {
            break_somewhere(&text);
        }
        length = text.length;
        if (!outline_of(&text, ROOM, &alone)) {
            continue;
        }
        while (text.length < length + 400) {
            /* In the object's last block, a backslash makes it unsure. */
            size_t first = text.length < length + 64 ? 1 : 0;

            text.text[text.length++] =
                bytes[first + any(sizeof(bytes) - 1 - first)];
        }
        for (size_t way = KL__SKIP_16; way <= KL__SKIP_64; way++) {
            if (kl__skip_has((kl__skip_way)way)) {
                outline_by((kl__skip_way)way, &text, ROOM, &followed);
                is_the_same_outline(&followed, &alone);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_output_is_read_without_parsing),
        cmocka_unit_test(an_outline_is_never_sure_of_invalid_json),
        cmocka_unit_test(outlines_do_not_depend_on_the_chunks),
        cmocka_unit_test(outlines_do_not_depend_on_the_width),
        cmocka_unit_test(bytes_behind_an_object_do_not_change_its_outline),
    };

    return cmocka_run_group_tests_name("outline", tests, NULL, NULL);
}
