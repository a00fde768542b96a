/*
 * doc_spec.c - documents are read strictly, keep every number, and are refused
 * if walking them would be dangerous.
 */
#include "base/mem.h"
#include "failing_alloc.h"
#include "json/doc.h"
#include "json/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static kl_doc *parse(const char *json)
{
    kl_error err = {0};
    kl_doc *doc = kl_doc_parse(json, strlen(json), &err);

    if (doc == NULL) {
        fail_msg("%s: %s", json, err.message);
    }
    return doc;
}

static void refuses(const char *json, size_t length, const char *message)
{
    kl_error err = {0};
    kl_doc *doc = kl_doc_parse(json, length, &err);

    assert_null(doc);
    assert_int_equal(err.code, KL_EPARSE);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", err.message, message);
    }
}

static void every_json_type_has_its_kl_type(void **state)
{
    const kl_type expected[] = {KL_NULL,     KL_BOOL,  KL_INTEGER, KL_INTEGER,
                                KL_UNSIGNED, KL_REAL,  KL_NUMBER,  KL_NUMBER,
                                KL_STRING,   KL_ARRAY, KL_OBJECT};
    kl_doc *doc = parse("[null,true,9223372036854775807,-9223372036854775808,"
                        "9223372036854775808,1.5,18446744073709551616,1e999,"
                        "\"s\",[],{}]");
    const kl_value *root = kl_doc_root(doc);

    (void)state;
    for (size_t i = 0; i < kl_value_size(root); i++) {
        assert_int_equal(kl_value_type(kl_value_at(root, i)), expected[i]);
    }
    assert_int_equal(kl_value_size(root), 11);
    kl_doc_unref(doc);
}

static void integers_are_never_rounded(void **state)
{
    kl_doc *doc = parse("[9007199254740993,-9223372036854775808,"
                        "18446744073709551615,123456789012345678901234567890,"
                        "-123456789012345678901234567890]");
    const kl_value *root = kl_doc_root(doc);
    size_t length;
    char *json;

    (void)state;
    assert_true(kl_value_integer(kl_value_at(root, 0)) == 9007199254740993);
    assert_true(kl_value_integer(kl_value_at(root, 1)) == INT64_MIN);
    assert_true(kl_value_unsigned(kl_value_at(root, 1)) == 0);
    assert_true(kl_value_integer(kl_value_at(root, 2)) == 0);
    assert_true(kl_value_unsigned(kl_value_at(root, 2)) == UINT64_MAX);
    assert_string_equal(kl_value_string(kl_value_at(root, 3), &length),
                        "123456789012345678901234567890");
    assert_int_equal(length, 30);
    assert_true(kl_value_integer(kl_value_at(root, 3)) == 0);
    assert_true(kl_value_real(kl_value_at(root, 4)) == -1.2345678901234568e29);
    json = kl_value_json(root, &length, NULL);
    assert_string_equal(json, "[9007199254740993,-9223372036854775808,"
                              "18446744073709551615,"
                              "123456789012345678901234567890,"
                              "-123456789012345678901234567890]");
    assert_int_equal(length, strlen(json));
    kl_free(json);
    kl_doc_unref(doc);
}

static void a_real_reads_as_an_integer_only_if_it_is_whole(void **state)
{
    kl_doc *doc = parse("[3.0,-3.0,3.5,1e300,9223372036854775808.0]");
    const kl_value *root = kl_doc_root(doc);

    (void)state;
    assert_true(kl_value_integer(kl_value_at(root, 0)) == 3);
    assert_true(kl_value_integer(kl_value_at(root, 1)) == -3);
    assert_true(kl_value_unsigned(kl_value_at(root, 1)) == 0);
    assert_true(kl_value_integer(kl_value_at(root, 2)) == 0);
    assert_true(kl_value_integer(kl_value_at(root, 3)) == 0);
    assert_true(kl_value_unsigned(kl_value_at(root, 3)) == 0);
    assert_true(kl_value_integer(kl_value_at(root, 4)) == 0);
    assert_true(kl_value_unsigned(kl_value_at(root, 4)) == UINT64_C(1) << 63);
    assert_true(kl_value_real(kl_value_at(root, 2)) == 3.5);
    kl_doc_unref(doc);
}

static void a_string_may_hold_nul_bytes(void **state)
{
    kl_doc *doc = parse("{\"a\\u0000b\":\"x\\u0000y\"}");
    const kl_value *root = kl_doc_root(doc);
    size_t length;
    const char *text;

    (void)state;
    assert_null(kl_value_get(root, "a"));
    text = kl_value_string(kl_value_get_n(root, "a\0b", 3), &length);
    assert_int_equal(length, 3);
    assert_memory_equal(text, "x\0y", 4);
    kl_doc_unref(doc);
}

static void a_missing_member_reads_as_null_at_any_depth(void **state)
{
    kl_doc *doc = parse("{\"a\":1}");
    const kl_value *gone = kl_value_get(kl_doc_root(doc), "b");
    kl_value_iter iter = {0};
    char *json;

    (void)state;
    gone = kl_value_at(kl_value_get(kl_value_get_n(gone, "c", 1), "d"), 0);
    assert_null(gone);
    assert_int_equal(kl_value_type(gone), KL_NULL);
    assert_false(kl_value_bool(gone));
    assert_true(kl_value_integer(gone) == 0 && kl_value_unsigned(gone) == 0);
    assert_true(kl_value_real(gone) == 0);
    assert_null(kl_value_string(gone, NULL));
    assert_int_equal(kl_value_size(gone), 0);
    assert_null(kl_value_next(gone, &iter, NULL));
    json = kl_value_json(gone, NULL, NULL);
    assert_string_equal(json, "null");
    kl_free(json);
    kl_doc_unref(doc);
}

static void members_and_elements_come_in_order(void **state)
{
    kl_doc *doc = parse("{\"b\":[1,[2,[3]],{\"x\":4}],\"a\":{\"y\":[]},"
                        "\"c\":5}");
    const kl_value *root = kl_doc_root(doc), *key, *value;
    kl_value_iter iter = {0};
    char seen[64] = "";

    (void)state;
    while ((value = kl_value_next(root, &iter, &key)) != NULL) {
        strcat(seen, kl_value_string(key, NULL));
        assert_ptr_equal(kl_value_get(root, kl_value_string(key, NULL)), value);
    }
    assert_string_equal(seen, "bac");
    iter = (kl_value_iter){0};
    for (size_t i = 0; i < 3; i++) {
        value = kl_value_next(kl_value_get(root, "b"), &iter, &key);
        assert_null(key);
        assert_ptr_equal(value, kl_value_at(kl_value_get(root, "b"), i));
    }
    assert_null(kl_value_next(kl_value_get(root, "b"), &iter, NULL));
    kl_doc_unref(doc);
}

static void invalid_json_is_an_error_with_its_position(void **state)
{
    (void)state;
    refuses("", 0, "empty");
    refuses("  ", 2, "is empty");
    refuses("{\"a\":1", 6, "ends at byte 6");
    refuses("{\"a\":tru}", 9, "at byte 5: tru}");
    refuses("[1,]", 4, "at byte 2");
    refuses("{} {}", 5, "at byte 3: {}");
    refuses("[NaN]", 5, "at byte 1");
    refuses("[01]", 4, "at byte 1");
    refuses("/* */1", 6, "at byte 0");
    refuses("[\"\x01\"]", 5, "at byte");
    refuses("<html>", 6, "at byte 0: <html>");
}

static void text_that_is_not_utf8_is_an_error(void **state)
{
    (void)state;
    refuses("\"\x80\"", 3, "at byte");
    refuses("\"\xc0\xaf\"", 4, "at byte");
    refuses("\"\xed\xa0\x80\"", 5, "at byte");
    refuses("\"\xf4\x90\x80\x80\"", 6, "at byte");
    refuses("\"\\ud800\"", 8, "at byte");
}

static char *nested(size_t depth)
{
    char *json = malloc(2 * depth + 1);

    assert_non_null(json);
    memset(json, '[', depth);
    memset(json + depth, ']', depth);
    json[2 * depth] = '\0';
    return json;
}

static void nesting_of_10000_levels_is_read_and_10001_is_an_error(void **state)
{
    char *json = nested(KL_MAX_DEPTH);
    kl_doc *doc = parse(json);

    (void)state;
    kl_doc_unref(doc);
    free(json);
    json = nested(KL_MAX_DEPTH + 1);
    refuses(json, strlen(json), "deeper than 10000");
    free(json);
    doc = parse("\"[[[[\\\"[[[\"");
    kl_doc_unref(doc);
}

static void a_document_lives_until_its_last_reference(void **state)
{
    kl_doc *doc = parse("\"x\"");

    (void)state;
    assert_ptr_equal(kl_doc_ref(doc), doc);
    kl_doc_unref(doc);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 1);
    assert_string_equal(kl_value_string(kl_doc_root(doc), NULL), "x");
    kl_doc_unref(doc);
    kl_doc_unref(NULL);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
}

static void an_offset_is_the_position_of_a_string_in_the_text(void **state)
{
    const char *json = "{\"a\\n\":\"b\",\"cd\":[\"\\u0041\"]}";
    kl_doc *doc = parse(json);
    const kl_value *root = kl_doc_root(doc), *key;
    kl_value_iter iter = {0};

    (void)state;
    kl_value_next(root, &iter, NULL);
    kl_value_next(root, &iter, &key);
    assert_memory_equal(json + kl__doc_offset(doc, key), "cd", 2);
    assert_memory_equal(
        json + kl__doc_offset(doc, kl_value_at(kl_value_get(root, "cd"), 0)),
        "\\u0041", 6);
    kl_doc_unref(doc);
}

static void whitespace_is_dropped_outside_of_strings_only(void **state)
{
    char json[] = " {\n\t\"a b\" : [ 1 , \" \\\" \" ] }\r\n";
    kl__text_shape shape = kl__text_measure(json, strlen(json));
    size_t length = kl__text_compact(json, json, strlen(json));

    (void)state;
    json[length] = '\0';
    assert_string_equal(json, "{\"a b\":[1,\" \\\" \"]}");
    assert_int_equal(shape.spaces, 12);
    assert_int_equal(shape.depth, 2);
    assert_int_equal(kl__text_measure(json, length).spaces, 0);
}

static void a_quote_is_found_at_each_of_eight_positions(void **state)
{
    char text[64];

    (void)state;
    for (size_t at = 0; at < 40; at++) {
        memset(text, 'x', sizeof(text));
        text[at] = at % 2 == 0 ? '"' : '\\';
        assert_ptr_equal(kl__string_stop(text, text + 40), text + at);
        text[at] = '#'; /* one above a quote: the borrow of a false match */
        assert_ptr_equal(kl__string_stop(text, text + 40), text + 40);
    }
}

static kl_code parse_and_write(void *context)
{
    kl_error err = {0};
    const char *json = context;
    kl_doc *doc = kl_doc_parse(json, strlen(json), &err);
    char *text;

    if (doc == NULL) {
        return err.code;
    }
    text = kl_value_json(kl_doc_root(doc), NULL, &err);
    kl_doc_unref(doc);
    kl_free(text);
    return text != NULL ? KL_OK : err.code;
}

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state)
{
    char json[] = "{\"a\":[1,2,{\"b\":\"c\"},1234567890123456789012345],"
                  "\"d\":\"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee\"}";

    (void)state;
    assert_true(failing_alloc_each(parse_and_write, json) >= 4);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_json_type_has_its_kl_type),
        cmocka_unit_test(integers_are_never_rounded),
        cmocka_unit_test(a_real_reads_as_an_integer_only_if_it_is_whole),
        cmocka_unit_test(a_string_may_hold_nul_bytes),
        cmocka_unit_test(a_missing_member_reads_as_null_at_any_depth),
        cmocka_unit_test(members_and_elements_come_in_order),
        cmocka_unit_test(invalid_json_is_an_error_with_its_position),
        cmocka_unit_test(text_that_is_not_utf8_is_an_error),
        cmocka_unit_test(nesting_of_10000_levels_is_read_and_10001_is_an_error),
        cmocka_unit_test(a_document_lives_until_its_last_reference),
        cmocka_unit_test(an_offset_is_the_position_of_a_string_in_the_text),
        cmocka_unit_test(whitespace_is_dropped_outside_of_strings_only),
        cmocka_unit_test(a_quote_is_found_at_each_of_eight_positions),
        cmocka_unit_test(running_out_of_memory_is_an_error_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
