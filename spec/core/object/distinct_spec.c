/*
 * distinct_spec.c - of several members of one name the last counts, as in Go's
 * decoder, for all that read an object: its identity, fields, paths in the text
 * and in the tree, and its JSON without what does not count.
 */
#include "failing_alloc.h"
#include "json/scan.h"
#include "json/text.h"
#include "kubelua/cursor.h"
#include "kubelua/fields.h"
#include "kubelua/memory.h"
#include "object/object.h"
#include "object/packer.h"
#include "pods.h"
#include "random_json.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
#define META HEAD "\"metadata\":{\"name\":\"a\"},"

typedef struct twice {
    const char *text;
    const char *counts; /* what Go's decoder keeps of it */
} twice;

static const twice texts[] = {
    {META "\"spec\":{\"nodeName\":\"1\",\"nodeName\":\"2\"}}",
     META "\"spec\":{\"nodeName\":\"2\"}}"},
    {META "\"spec\":{\"nodeName\":\"1\",\"x\":{\"nodeName\":\"no\"},"
          "\"nodeName\":\"2\",\"y\":[\"nodeName\"],\"nodeName\":\"3\"}}",
     META "\"spec\":{\"x\":{\"nodeName\":\"no\"},\"y\":[\"nodeName\"],"
          "\"nodeName\":\"3\"}}"},
    /* An object replaces an object: they are not merged. */
    {META "\"spec\":{\"nodeName\":\"1\",\"x\":1},\"spec\":{\"x\":2}}",
     META "\"spec\":{\"x\":2}}"},
    {META "\"spec\":{\"nodeName\":\"1\",\"nodeName\":null}}",
     META "\"spec\":{\"nodeName\":null}}"},
    {META "\"spec\":{\"nodeName\":\"1\",\"node\\u004eame\":\"2\"}}",
     META "\"spec\":{\"node\\u004eame\":\"2\"}}"},
    {META "\"spec\":{\"node\\u004eame\":\"1\",\"nodeName\":\"2\"}}",
     META "\"spec\":{\"nodeName\":\"2\"}}"},
    {META "\"spec\":{\"nodeName\":\"1\",\"NodeName\":\"2\"}}",
     META "\"spec\":{\"nodeName\":\"1\",\"NodeName\":\"2\"}}"},
    {META
     "\"spec\":{\"containers\":[{\"image\":\"1\",\"image\":\"2\"},"
     "{\"image\":\"3\"}],\"x\":{\"a\":{\"b\":1},\"a\":{\"b\":2,\"b\":3}}}}",
     META "\"spec\":{\"containers\":[{\"image\":\"2\"},{\"image\":\"3\"}],"
          "\"x\":{\"a\":{\"b\":3}}}}"},
    {META "\"spec\":{\"x\":{\"a\":{\"b\":1},\"c\":{\"b\":2},\"a\":{\"b\":3}}}}",
     META "\"spec\":{\"x\":{\"c\":{\"b\":2},\"a\":{\"b\":3}}}}"},
    {META "\"spec\":{\"\":1,\"nodeName\":\"\\\"nodeName\\\":\",\"\":2}}",
     META "\"spec\":{\"nodeName\":\"\\\"nodeName\\\":\",\"\":2}}"},
    {HEAD "\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}",
     HEAD "\"metadata\":{\"name\":\"b\"}}"},
    {HEAD "\"metadata\":{\"name\":\"a\",\"n\\u0061me\":\"b\"}}",
     HEAD "\"metadata\":{\"n\\u0061me\":\"b\"}}"},
    {HEAD "\"metadata\":{\"name\":\"a\",\"uid\":\"1\",\"uid\":\"2\","
          "\"resourceVersion\":\"3\",\"resourceVersion\":\"4\"}}",
     HEAD "\"metadata\":{\"name\":\"a\",\"uid\":\"2\","
          "\"resourceVersion\":\"4\"}}"},
    {HEAD "\"metadata\":{\"name\":\"a\",\"uid\":\"1\"},"
          "\"metadata\":{\"name\":\"b\"}}",
     HEAD "\"metadata\":{\"name\":\"b\"}}"},
    {HEAD "\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"1\"},"
          "\"labels\":{\"tier\":\"2\",\"tier\":\"3\"}},\"kind\":\"Other\"}",
     "{\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"labels\":{"
     "\"tier\":\"3\"}},\"kind\":\"Other\"}"},
    {HEAD "\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"\xc3\xa4\","
          "\"app\":\"2\"},\"uid\":\"1\",\"uid\":\"2\"}}",
     HEAD "\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"2\"},"
          "\"uid\":\"2\"}}"},
    {META "\"spec\":{\"x\":{\"a\":[{\"b\":1,\"b\":2}],\"a\":[{\"b\":3},{}]}},"
          "\"status\":{\"phase\":\"1\",\"phase\":\"2\"}}",
     META "\"spec\":{\"x\":{\"a\":[{\"b\":3},{}]}},"
          "\"status\":{\"phase\":\"2\"}}"},
};
enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

static const char *const paths[] = {"kind",
                                    "metadata",
                                    "metadata.name",
                                    "metadata.labels",
                                    "metadata.labels.app",
                                    "metadata.labels.tier",
                                    "spec",
                                    "spec.nodeName",
                                    "spec.x",
                                    "spec.x.a",
                                    "spec.x.a.b",
                                    "spec.x[*].b",
                                    "spec.x.a[*].b",
                                    "spec.containers[*].image",
                                    "spec.containers[1].image",
                                    "spec[\"\"]",
                                    "spec[*]",
                                    "status.phase"};
enum { PATHS = sizeof(paths) / sizeof(paths[0]) };

/* The JSON of a value without what does not count; NULL for none. */
static char *json_of(const kl_value *value)
{
    size_t length;
    char *json, *copy;

    if (kl_value_type(value) == KL_NULL) {
        return NULL;
    }
    json = kl_value_json(value, &length, NULL);
    assert_int_equal(
        kl_cursor_distinct(json, json + length, &copy, &length, NULL), KL_OK);
    if (copy == NULL) {
        return json;
    }
    kl_free(json);
    return copy;
}

static void is_same(const kl_value *found, const kl_value *expected)
{
    char *a = json_of(found), *b = json_of(expected);

    assert_true((a == NULL) == (b == NULL));
    if (a != NULL) {
        assert_string_equal(a, b);
    }
    kl_free(a);
    kl_free(b);
}

/* The same, all members included. */
static void is_whole(const kl_value *found, const kl_value *expected)
{
    char *a = kl_value_json(found, NULL, NULL);
    char *b = kl_value_json(expected, NULL, NULL);

    assert_string_equal(a, b);
    kl_free(a);
    kl_free(b);
}

/* The value at `at` of a text that ends at `end`. */
static void is_same_at(const char *at, const char *end,
                       const kl_value *expected)
{
    kl_doc *doc = NULL;

    if (at != NULL) {
        size_t length = (size_t)(kl_cursor_skip(at, end) - at);

        doc = kl_doc_parse(at, length, NULL);
        assert_non_null(doc);
    }
    is_same(doc != NULL ? kl_doc_root(doc) : NULL, expected);
    kl_doc_unref(doc);
}

static void fields_agree(kl_object *object, const kl_value *expected,
                         kl_path *const *compiled)
{
    kl_fields *all = kl_fields_new(paths, PATHS, NULL);

    assert_non_null(all);
    assert_int_equal(kl_fields_read(all, object, NULL), KL_OK);
    for (size_t i = 0; i < PATHS; i++) {
        kl_fields *one = kl_fields_new(&paths[i], 1, NULL);
        const kl_value *value = kl_path_first(compiled[i], expected);

        is_same(kl_fields_value(all, i), value);
        assert_int_equal(kl_fields_read(one, object, NULL), KL_OK);
        is_same(kl_fields_value(one, 0), value);
        kl_fields_free(one);
    }
    kl_fields_free(all);
}

/* Twice: what is remembered of the first time is right. */
static void copies_agree(kl_object *object, const char *text,
                         const kl_value *expected)
{
    for (int i = 0; i < 2; i++) {
        size_t length = 0;
        char *copy;
        kl_doc *doc;

        assert_int_equal(
            kl_object_json_distinct(object, text, &copy, &length, NULL), KL_OK);
        doc = copy != NULL
                  ? kl_doc_parse(copy, length, NULL)
                  : kl_doc_parse(text, kl_object_json_length(object), NULL);
        is_whole(kl_doc_root(doc), expected);
        kl_doc_unref(doc);
        kl_free(copy);
    }
}

static void readers_agree(kl_object *object, const kl_value *expected)
{
    size_t length;
    const char *text = kl_object_json(object, &length, NULL);
    const kl_value *tree = kl_object_open(object, NULL);
    const char *places[PATHS], *places_of_object[PATHS];
    kl_path *compiled[PATHS];

    for (size_t i = 0; i < PATHS; i++) {
        compiled[i] = kl_path_parse(paths[i], NULL);
        assert_non_null(compiled[i]);
    }
    kl_cursor_paths((const kl_path *const *)compiled, PATHS, text,
                    text + length, places);
    kl_cursor_object_paths((const kl_path *const *)compiled, PATHS, text,
                           text + length, places_of_object);
    for (size_t i = 0; i < PATHS; i++) {
        const kl_value *value = kl_path_first(compiled[i], expected);

        is_same(kl_path_first(compiled[i], tree), value);
        is_same_at(places[i], text + length, value);
        is_same_at(places_of_object[i], text + length, value);
        is_same_at(kl_cursor_path(compiled[i], text, text + length),
                   text + length, value);
    }
    is_same(tree, expected);
    copies_agree(object, text, expected);
    fields_agree(object, expected, compiled);
    for (size_t i = 0; i < PATHS; i++) {
        kl_path_free(compiled[i]);
    }
    kl_object_close(object);
    kl_object_close_json(object);
}

static void is_member(const kl_value *of, const char *name, const char *text)
{
    const kl_value *value = kl_value_get(of, name);

    assert_string_equal(text,
                        value != NULL ? kl_value_string(value, NULL) : "");
}

/* Takes the object. */
static void reads_as(kl_object *object, const char *counts)
{
    kl_doc *doc = kl_doc_parse(counts, strlen(counts), NULL);
    const kl_value *root, *metadata;

    assert_non_null(object);
    assert_non_null(doc);
    root = kl_doc_root(doc);
    metadata = kl_value_get(root, "metadata");
    is_member(root, "kind", kl_object_kind(object));
    is_member(metadata, "name", kl_object_name(object));
    is_member(metadata, "uid", kl_object_uid(object));
    is_member(metadata, "resourceVersion", kl_object_resource_version(object));
    readers_agree(object, root);
    kl_doc_unref(doc);
    kl_object_unref(object);
}

static void all_readers_of_an_object_take_the_last_member(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        reads_as(object_of(texts[i].text, NULL), texts[i].counts);
    }
}

/* The object of the first item or event of a stream. */
static kl_object *cut_object(kl__scan_mode mode, const char *stream)
{
    kl__scan *scan = kl__scan_new(mode);
    kl__frame frame;
    kl__text_shape shape = {0};
    kl_object *object;

    assert_int_equal(kl__scan_feed(scan, stream, strlen(stream), NULL), KL_OK);
    assert_int_equal(kl__scan_next(scan, &frame, NULL), KL_OK);
    assert_non_null(frame.text);
    shape.spaces = frame.spaces;
    shape.outline = frame.outline;
    object =
        kl__object_parse_measured(frame.text, frame.length, &shape, NULL, NULL);
    kl__scan_free(scan);
    return object;
}

static void so_they_do_in_an_item_of_a_list_and_in_a_watch_event(void **state)
{
    char stream[1000];

    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        snprintf(stream, sizeof(stream), "{\"items\":[%s]}", texts[i].text);
        reads_as(cut_object(KL__SCAN_LIST, stream), texts[i].counts);
        snprintf(stream, sizeof(stream), "{\"type\":\"ADDED\",\"object\":%s}",
                 texts[i].text);
        reads_as(cut_object(KL__SCAN_WATCH, stream), texts[i].counts);
    }
}

static void so_they_do_in_a_packed_object(void **state)
{
    kl__packer *packer = pack_trained();

    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        reads_as(
            kl__packer_pack(packer, object_of(texts[i].text, NULL), PACK_CROWD),
            texts[i].counts);
    }
    kl__packer_free(packer);
}

static void a_text_without_repeated_names_is_its_own_copy(void **state)
{
    char *copy;
    size_t length;

    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text = texts[i].counts;

        assert_int_equal(
            kl_cursor_distinct(text, text + strlen(text), &copy, &length, NULL),
            KL_OK);
        assert_null(copy);
    }
}

enum { READERS = 4 };

static void *copy_often(void *context)
{
    for (int i = 0; i < 200; i++) {
        const char *text = kl_object_json(context, NULL, NULL);
        size_t length;
        char *copy;

        assert_int_equal(
            kl_object_json_distinct(context, text, &copy, &length, NULL),
            KL_OK);
        assert_null(copy);
        assert_non_null(kl_object_open(context, NULL));
        kl_object_close(context);
        kl_object_close_json(context);
    }
    return NULL;
}

/* What is remembered has its own bits, which the sanitizer watches. */
static void threads_copy_one_object_at_a_time(void **state)
{
    kl_object *objects[] = {object_of(texts[0].counts, NULL), NULL};
    kl__packer *packer = pack_trained();
    pthread_t threads[READERS];

    (void)state;
    objects[1] =
        kl__packer_pack(packer, object_of(texts[0].counts, NULL), PACK_CROWD);
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < READERS; j++) {
            assert_int_equal(
                pthread_create(&threads[j], NULL, copy_often, objects[i]), 0);
        }
        for (size_t j = 0; j < READERS; j++) {
            assert_int_equal(pthread_join(threads[j], NULL), 0);
        }
        kl_object_unref(objects[i]);
    }
    kl__packer_free(packer);
}

/* True if an object of the value has a name twice. */
static bool has_repeated(const kl_value *value)
{
    kl_value_iter iter = {0};
    const kl_value *part;
    size_t *numbers, count;
    bool found;

    assert_int_equal(kl_value_replaced(value, &numbers, &count, NULL), KL_OK);
    kl_free(numbers);
    found = count > 0;
    while (!found && (part = kl_value_next(value, &iter, NULL)) != NULL) {
        found = has_repeated(part);
    }
    return found;
}

/* Go's rule is that of kl_value_hash, too. */
static void random_json_keeps_its_hash_without_what_does_not_count(void **state)
{
    enum { LENGTH = 4000, COUNT = 2000 };
    static char text[LENGTH + 1];
    size_t changed = 0;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        size_t length = random_json(text, LENGTH);
        kl_doc *doc = kl_doc_parse(text, length, NULL), *other;
        char hash[KL_HASH_SIZE], hash_of_copy[KL_HASH_SIZE], *copy;

        text[length] = '\0';
        assert_int_equal(
            kl_cursor_distinct(text, text + length, &copy, &length, NULL),
            KL_OK);
        assert_true((copy != NULL) == has_repeated(kl_doc_root(doc)));
        if (copy != NULL) {
            changed++;
            other = kl_doc_parse(copy, length, NULL);
            assert_non_null(other);
            kl_value_hash(kl_doc_root(doc), hash, NULL);
            kl_value_hash(kl_doc_root(other), hash_of_copy, NULL);
            assert_string_equal(hash, hash_of_copy);
            kl_doc_unref(other);
        }
        kl_free(copy);
        kl_doc_unref(doc);
    }
    assert_in_range(changed, COUNT / 20, COUNT);
}

/* Comparing each name with each other one would take minutes. */
static void a_map_of_50000_keys_that_are_all_twice_is_read(void **state)
{
    enum { KEYS = 50000, ROOM = KEYS * 2 * 24 + 200 };
    char *text = malloc(ROOM), *at = text, *copy;
    size_t length, count, *numbers;
    kl_object *object;

    (void)state;
    at += sprintf(at, "%s\"data\":{", META);
    for (int i = 0; i < 2 * KEYS; i++) {
        at += sprintf(at, "%s\"key-%05d\":%d", i > 0 ? "," : "", i % KEYS, i);
    }
    strcpy(at, "}}");
    object = object_of(text, NULL);
    assert_int_equal(
        kl_value_replaced(kl_value_get(kl_object_open(object, NULL), "data"),
                          &numbers, &count, NULL),
        KL_OK);
    assert_int_equal(count, KEYS);
    assert_int_equal(numbers[KEYS - 1], KEYS - 1);
    kl_object_close(object);
    assert_int_equal(
        kl_cursor_distinct(text, text + strlen(text), &copy, &length, NULL),
        KL_OK);
    assert_non_null(strstr(copy, "{\"key-00000\":50000,\"key-00001\":50001,"));
    assert_non_null(strstr(copy, ",\"key-49999\":99999}}"));
    kl_free(numbers);
    kl_free(copy);
    kl_object_unref(object);
    free(text);
}

static void ten_thousand_levels_of_one_name_are_read(void **state)
{
    enum { DEPTH = KL_MAX_DEPTH };
    static char text[DEPTH * 6 + 20];
    char *at = text, *copy;
    size_t length;

    (void)state;
    for (int i = 0; i < DEPTH; i++) {
        at += sprintf(at, "{\"a\":");
    }
    at += sprintf(at, "1,\"a\":2");
    memset(at, '}', DEPTH);
    at[DEPTH] = '\0';
    assert_int_equal(kl_cursor_distinct(text, at + DEPTH, &copy, &length, NULL),
                     KL_OK);
    assert_int_equal(length, strlen(text) - strlen("\"a\":1,"));
    kl_free(copy);
}

/* Some names of each object, with escapes, and more than need no memory. */
static kl_code read_copy(void *context)
{
    static char text[4000];
    char *at = text, *copy;
    size_t length;
    kl_error err = {.code = KL_OK};
    kl_object *object;

    (void)context;
    at += sprintf(at,
                  "%s\"metadata\":{\"name\":\"a\",\"n\\u0061me\":\"b\"},"
                  "\"data\":{",
                  HEAD);
    for (int i = 0; i < 100; i++) {
        at += sprintf(at, "\"k%d\":{\"x\":[]},", i);
    }
    strcpy(at, "\"k\\u0031\":2}}");
    object = kl_object_parse(text, strlen(text), NULL, &err);
    if (object == NULL) {
        return err.code;
    }
    assert_string_equal(kl_object_name(object), "b");
    kl_object_unref(object);
    if (kl_cursor_distinct(text, text + strlen(text), &copy, &length, &err) ==
        KL_OK) {
        assert_null(strstr(copy, "\"k1\""));
        kl_free(copy);
    }
    return err.code;
}

static void each_failed_allocation_is_an_error(void **state)
{
    (void)state;
    failing_alloc_each(read_copy, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_readers_of_an_object_take_the_last_member),
        cmocka_unit_test(so_they_do_in_an_item_of_a_list_and_in_a_watch_event),
        cmocka_unit_test(so_they_do_in_a_packed_object),
        cmocka_unit_test(a_text_without_repeated_names_is_its_own_copy),
        cmocka_unit_test(threads_copy_one_object_at_a_time),
        cmocka_unit_test(
            random_json_keeps_its_hash_without_what_does_not_count),
        cmocka_unit_test(a_map_of_50000_keys_that_are_all_twice_is_read),
        cmocka_unit_test(ten_thousand_levels_of_one_name_are_read),
        cmocka_unit_test(each_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, pack_choose_usual_limits, NULL);
}
