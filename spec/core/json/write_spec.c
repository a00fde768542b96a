/*
 * write_spec.c - the writer writes JSON that reads back the same, and nothing
 * that is none.
 */
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "kubelua/writer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void gives(kl_writer *writer, const char *expected)
{
    kl_error err = {0};
    size_t length;
    const char *text = kl_writer_finish(writer, &length, &err);

    if (text == NULL) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
    kl_writer_free(writer);
}

static void refuses(kl_writer *writer, const char *message)
{
    kl_error err = {0};

    assert_null(kl_writer_finish(writer, NULL, &err));
    assert_int_equal(err.code, KL_EINVAL);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", err.message, message);
    }
    kl_writer_free(writer);
}

static void objects_and_arrays_nest(void **state)
{
    kl_writer *writer = kl_writer_new();

    (void)state;
    kl_writer_begin_object(writer);
    kl_writer_name(writer, "a", 1);
    kl_writer_begin_array(writer);
    kl_writer_integer(writer, 1);
    kl_writer_begin_object(writer);
    kl_writer_end_object(writer);
    kl_writer_begin_array(writer);
    kl_writer_end_array(writer);
    kl_writer_bool(writer, true);
    kl_writer_end_array(writer);
    kl_writer_name(writer, "", 0);
    kl_writer_null(writer);
    kl_writer_name(writer, "{", 1);
    kl_writer_bool(writer, false);
    kl_writer_end_object(writer);
    gives(writer, "{\"a\":[1,{},[],true],\"\":null,\"{\":false}");
}

static void numbers_read_back_the_same(void **state)
{
    kl_writer *writer = kl_writer_new();

    (void)state;
    kl_writer_begin_array(writer);
    kl_writer_integer(writer, INT64_MAX);
    kl_writer_integer(writer, INT64_MIN);
    kl_writer_real(writer, 0.1);
    kl_writer_real(writer, 1);
    kl_writer_real(writer, -5e-324);
    kl_writer_real(writer, 1.7976931348623157e308);
    kl_writer_raw(writer, "123456789012345678901", 21);
    kl_writer_end_array(writer);
    gives(writer, "[9223372036854775807,-9223372036854775808,0.1,1.0,"
                  "-5e-324,1.7976931348623157e308,123456789012345678901]");
}

static void strings_are_escaped(void **state)
{
    kl_writer *writer = kl_writer_new();

    (void)state;
    kl_writer_string(writer,
                     "a\"\\/\b\f\n\r\t\0\x1f\x7f \xc3\xa9\xf0\x9f\x98\x80", 19);
    gives(writer, "\"a\\\"\\\\/\\u0008\\u000c\\n\\r\\t\\u0000\\u001f\x7f "
                  "\xc3\xa9\xf0\x9f\x98\x80\"");
}

static void a_parsed_value_is_written_completely(void **state)
{
    static const char json[] = "{\"a\":[1,{\"b\":12345678901234567890123}]}";
    kl_doc *doc = kl_doc_parse(json, sizeof(json) - 1, NULL);
    kl_writer *writer = kl_writer_new();

    (void)state;
    kl_writer_begin_array(writer);
    kl_writer_value(writer, kl_doc_root(doc));
    kl_writer_value(writer, NULL);
    kl_writer_end_array(writer);
    kl_doc_unref(doc);
    gives(writer, "[{\"a\":[1,{\"b\":12345678901234567890123}]},null]");
}

static void writing_text_that_is_not_utf8_is_an_error(void **state)
{
    static const char *const wrong[] = {
        "\x80",         "\xc3",         "\xc0\xaf",         "\xe0\x80\xaf",
        "\xed\xa0\x80", "\xf5\x80\x80", "\xf4\x90\x80\x80", "a\xe2\x82",
        "\xc3(",        "\xff",         "\xf0\x80\x80\x80"};
    kl_writer *writer;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        writer = kl_writer_new();
        kl_writer_string(writer, wrong[i], strlen(wrong[i]));
        refuses(writer, "not UTF-8");
    }
    writer = kl_writer_new();
    kl_writer_begin_object(writer);
    kl_writer_name(writer, "\xff", 1);
    refuses(writer, "a name that is not UTF-8");
}

static void writing_nan_or_infinity_is_an_error(void **state)
{
    const double wrong[] = {NAN, INFINITY, -INFINITY};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        kl_writer *writer = kl_writer_new();

        kl_writer_real(writer, wrong[i]);
        refuses(writer, "infinite or none");
    }
}

static kl_writer *started(char bracket)
{
    kl_writer *writer = kl_writer_new();

    if (bracket == '{') {
        kl_writer_begin_object(writer);
    } else if (bracket == '[') {
        kl_writer_begin_array(writer);
    }
    return writer;
}

static void a_value_or_name_out_of_place_is_an_error(void **state)
{
    kl_writer *writer = started('{');

    (void)state;
    kl_writer_null(writer);
    refuses(writer, "without a name");
    writer = started('{');
    kl_writer_name(writer, "a", 1);
    kl_writer_name(writer, "b", 1);
    refuses(writer, "where no member begins");
    writer = started('{');
    kl_writer_name(writer, "a", 1);
    kl_writer_end_object(writer);
    refuses(writer, "a name without a value");
    writer = started('[');
    kl_writer_name(writer, "a", 1);
    refuses(writer, "where no member begins");
    writer = started('[');
    kl_writer_end_object(writer);
    refuses(writer, "an end without its beginning");
    writer = started(' ');
    kl_writer_end_array(writer);
    refuses(writer, "an end without its beginning");
    writer = started(' ');
    kl_writer_null(writer);
    kl_writer_null(writer);
    refuses(writer, "a second value");
    writer = started(' ');
    kl_writer_raw(writer, "", 0);
    refuses(writer, "an empty text");
}

static void finishing_an_incomplete_value_is_an_error(void **state)
{
    kl_writer *writer = started('[');
    kl_error err = {0};

    (void)state;
    assert_null(kl_writer_finish(writer, NULL, &err));
    assert_int_equal(err.code, KL_EINVAL);
    kl_writer_end_array(writer);
    gives(writer, "[]");
    refuses(started(' '), "there is no value");
    kl_writer_free(NULL);
}

static void the_first_failure_is_reported(void **state)
{
    kl_writer *writer = started('[');

    (void)state;
    kl_writer_string(writer, "\xff", 1);
    kl_writer_end_object(writer);
    kl_writer_end_array(writer);
    kl_writer_null(writer);
    refuses(writer, "not UTF-8");
}

static void writing_is_limited_to_10000_levels_as_reading_is(void **state)
{
    kl_writer *writer = kl_writer_new();
    const char *text;
    size_t length;
    kl_doc *doc;

    (void)state;
    for (int i = 0; i < KL_MAX_DEPTH; i++) {
        kl_writer_begin_array(writer);
    }
    for (int i = 0; i < KL_MAX_DEPTH; i++) {
        kl_writer_end_array(writer);
    }
    text = kl_writer_finish(writer, &length, NULL);
    doc = kl_doc_parse(text, length, NULL);
    assert_non_null(doc);
    kl_doc_unref(doc);
    kl_writer_free(writer);
    writer = kl_writer_new();
    for (int i = 0; i <= KL_MAX_DEPTH; i++) {
        kl_writer_begin_array(writer);
    }
    refuses(writer, "nested deeper than 10000 levels");
}

static kl_code write_all(void *context)
{
    kl_writer *writer = kl_writer_new();
    kl_error err = {0};
    const char *text;

    if (writer == NULL) {
        return KL_ENOMEM;
    }
    kl_writer_begin_object(writer);
    for (int i = 0; i < 20; i++) {
        kl_writer_name(writer, "name", 4);
        kl_writer_real(writer, 0.5);
        kl_writer_name(writer, "value", 5);
        kl_writer_value(writer, context);
        kl_writer_name(writer, "text", 4);
        kl_writer_string(writer, "x\ny", 3);
    }
    kl_writer_end_object(writer);
    text = kl_writer_finish(writer, NULL, &err);
    kl_writer_free(writer);
    return text != NULL ? KL_OK : err.code;
}

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    assert_true(failing_alloc_each(write_all, NULL) >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_arrays_nest),
        cmocka_unit_test(numbers_read_back_the_same),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(a_parsed_value_is_written_completely),
        cmocka_unit_test(writing_text_that_is_not_utf8_is_an_error),
        cmocka_unit_test(writing_nan_or_infinity_is_an_error),
        cmocka_unit_test(a_value_or_name_out_of_place_is_an_error),
        cmocka_unit_test(finishing_an_incomplete_value_is_an_error),
        cmocka_unit_test(the_first_failure_is_reported),
        cmocka_unit_test(writing_is_limited_to_10000_levels_as_reading_is),
        cmocka_unit_test(running_out_of_memory_is_an_error_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
