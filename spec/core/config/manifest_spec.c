/*
 * manifest_spec.c - YAML and JSON mean what kubectl takes them to mean. The
 * expected values were measured on sigs.k8s.io/yaml 1.6.
 */
#include "kubelua/manifest.h"

#include "base/buf.h"
#include "base/mem.h"
#include "config/yaml_tree.h"
#include "failing_alloc.h"
#include "kubelua/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Collects documents, one a line. */
static kl_code collect(void *context, const char *json, size_t length,
                       kl_error *err)
{
    kl__buf *out = context;

    kl__buf_append(out, json, length);
    kl__buf_putc(out, '\n');
    return out->failed ? kl_error_set(err, KL_ENOMEM, "out of memory") : KL_OK;
}

/* What a text means, or "CODE: message" of its error. */
static char *meaning_n(const char *text, size_t length)
{
    kl__buf out = {0};
    kl_error err;
    kl_code code = kl_manifest_each(text, length, collect, &out, &err);

    if (code != KL_OK) {
        assert_int_equal(err.code, code);
        kl__buf_reset(&out);
        kl__buf_printf(&out, "%s: %s\n", kl_code_name(code), err.message);
    }
    if (out.length > 0) {
        out.bytes[--out.length] = '\0';
    }
    return kl__buf_take(&out, NULL);
}

static void assert_means(const char *text, const char *json)
{
    char *got = meaning_n(text, strlen(text));

    if (strcmp(got, json) != 0) {
        print_error("%s\n", text);
    }
    assert_string_equal(got, json);
    kl__free(got);
}

static void assert_fails(const char *text, const char *code, const char *why)
{
    char *got = meaning_n(text, strlen(text));

    if (strncmp(got, code, strlen(code)) != 0 || strstr(got, why) == NULL) {
        print_error("%s\n-> %s\n", text, got);
    }
    assert_memory_equal(got, code, strlen(code));
    assert_non_null(strstr(got, why));
    kl__free(got);
}

static void maps_lists_and_texts_become_json(void **state)
{
    (void)state;
    assert_means("a: b\nc:\n- d\n- e: f\n",
                 "{\"a\":\"b\",\"c\":[\"d\",{\"e\":\"f\"}]}");
    assert_means("a: |\n  x\n  y\nb: >-\n  x\n  y\n",
                 "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}");
    assert_means("{a: [], b: {}}", "{\"a\":[],\"b\":{}}");
    assert_means("a: \"\\u00e9\\t\"\n", "{\"a\":\"\xc3\xa9\\t\"}");
    assert_means("a:\n", "{\"a\":null}");
}

static void plain_scalars_have_the_types_of_yaml_1_1(void **state)
{
    static const char *const rows[][2] = {
        {"yes", "true"},
        {"On", "true"},
        {"y", "true"},
        {"NO", "false"},
        {"off", "false"},
        {"tRue", "\"tRue\""},
        {"~", "null"},
        {"Null", "null"},
        {"12", "12"},
        {"+12", "12"},
        {"-0", "0"},
        {"017", "15"},
        {"0o17", "15"},
        {"0b11", "3"},
        {"-0x1F", "-31"},
        {"0x_1F", "31"},
        {"1_000", "1000"},
        {"089", "89"},
        {"0x", "\"0x\""},
        {"0o8", "\"0o8\""},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "18446744073709551616"},
        {"1.50", "1.5"},
        {"1.0", "1"},
        {"1.", "1"},
        {"1e3", "1000"},
        {".5", "0.5"},
        {"+.5", "0.5"},
        {"-.5", "-0.5"},
        {".1_0", "0.1"},
        {"._1", "\"._1\""},
        {".1e", "\".1e\""},
        {"1_000.5", "1000.5"},
        {"1e400", "\"1e400\""},
        {"1:30", "\"1:30\""},
        {"2001-01-01", "\"2001-01-01\""},
        {"2001-12-14T21:59:43Z", "\"2001-12-14T21:59:43Z\""},
        {"1,000", "\"1,000\""},
        {".", "\".\""},
        {"=", "\"=\""},
        {"10.0.0.1", "\"10.0.0.1\""},
        {"1.2.3", "\"1.2.3\""},
        {"v1", "\"v1\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[64], json[64];

        snprintf(text, sizeof(text), "a: %s", rows[i][0]);
        snprintf(json, sizeof(json), "{\"a\":%s}", rows[i][1]);
        assert_means(text, json);
    }
}

static void quoted_scalars_are_always_text(void **state)
{
    (void)state;
    assert_means("['1', \"yes\", '', '~', \"0x1\"]",
                 "[\"1\",\"yes\",\"\",\"~\",\"0x1\"]");
    assert_means("a: |-\n  12\n", "{\"a\":\"12\"}");
}

static void a_tag_decides_the_type_of_a_scalar(void **state)
{
    (void)state;
    assert_means("[!!str 3, !!int \"3\", !!float 3, !!bool yes, ! 12]",
                 "[\"3\",3,3,true,\"12\"]");
    assert_means("[!!binary aGk=, !foo bar, !!timestamp 2001-01-01]",
                 "[\"hi\",\"bar\",\"2001-01-01\"]");
    assert_fails("a: !!int x", "parse", "line 1, column 4: \"x\" is no !!int");
    assert_fails("a: !!null x", "parse", "is no !!null");
    assert_fails("a: !!binary '*'", "parse", "not base64");
    assert_fails("a:\n- !!binary /w==", "parse",
                 "line 2, column 3: !!binary holds what is no UTF-8");
}

static void keys_become_texts(void **state)
{
    (void)state;
    assert_means("1: a\n1.10: b\ntrue: c\n1e6: d\n1234567.5: e\n2001-01-01: f",
                 "{\"1\":\"a\",\"1.1\":\"b\",\"true\":\"c\",\"1e+06\":\"d\","
                 "\"1.2345675e+06\":\"e\",\"2001-01-01\":\"f\"}");
    assert_means("1e40: a\n-1e40: b", "{\".inf\":\"a\",\"-.inf\":\"b\"}");
    assert_means("on: push", "{\"true\":\"push\"}");
    assert_means("&k a: 1\nb: {*k : 2}", "{\"a\":1,\"b\":{\"a\":2}}");
    assert_fails("~: 1", "parse", "a key is null");
    assert_fails("? [a]\n: 1", "parse", "a key is a list or map");
}

static void a_duplicate_key_is_an_error(void **state)
{
    (void)state;
    assert_fails("a: 1\nb: 2\na: 3\n", "parse",
                 "line 3, column 1: key \"a\" is there twice");
    assert_fails("1: a\n'1': b", "parse", "key \"1\" is there twice");
    assert_fails("{\"a\\0b\": 1, \"a\\0b\": 2}", "parse", "is there twice");
    assert_means("{\"a\\0b\": 1, \"a\": 2}", "{\"a\\u0000b\":1,\"a\":2}");
}

static void an_alias_is_replaced_by_its_anchor(void **state)
{
    (void)state;
    assert_means(
        "a: &x {b: 1}\nc: *x\nd: [*x, *x]",
        "{\"a\":{\"b\":1},\"c\":{\"b\":1},\"d\":[{\"b\":1},{\"b\":1}]}");
    assert_means("- &x 1\n- *x\n- &x 2\n- *x", "[1,1,2,2]");
    assert_fails("a: *x", "parse",
                 "line 1, column 4: an alias names no anchor");
    assert_fails("--- &x a\n--- *x", "parse", "names no anchor");
    assert_fails("a: &x [*x]", "parse", "*x contains itself");
    assert_fails("&x a: {<<: *x}", "parse", "wants a map");
    assert_fails("&x {a: {<<: *x}}", "parse", "*x contains itself");
}

static void a_merge_key_adds_the_members_of_other_maps(void **state)
{
    (void)state;
    assert_means("b: &b {x: 1, z: 2}\nc: {<<: *b, z: 3}",
                 "{\"b\":{\"x\":1,\"z\":2},\"c\":{\"x\":1,\"z\":3}}");
    assert_means("<<: [{a: 1}, {a: 2, b: 3}]", "{\"a\":1,\"b\":3}");
    assert_means("<<: {<<: {a: 1}, b: 2}", "{\"a\":1,\"b\":2}");
    assert_means("'<<': {a: 1}", "{\"<<\":{\"a\":1}}");
    assert_fails("<<: 3", "parse", "\"<<\" wants a map");
    assert_fails("<<: [1]", "parse", "\"<<\" wants a map");
}

static void a_merge_overwrites_what_stands_before_it_as_in_kubectl(void **state)
{
    (void)state;
    assert_means("a: 1\n<<: {a: 2, b: 3}", "{\"a\":2,\"b\":3}");
}

static void documents_come_in_order_and_empty_ones_are_skipped(void **state)
{
    (void)state;
    assert_means("---\na: 1\n---\n# nothing\n---\n~\n--- {b: 2}\n...\n---\n",
                 "{\"a\":1}\n{\"b\":2}");
    assert_means("", "");
    assert_means("# a comment\n", "");
    assert_int_equal(kl_manifest_each(NULL, 0, collect, NULL, NULL), KL_OK);
    assert_means("\xef\xbb\xbf"
                 "a: 1",
                 "{\"a\":1}");
}

static void several_json_values_are_read_as_documents(void **state)
{
    (void)state;
    assert_means(" {\"a\": 1.50}\n", "{\"a\": 1.50}");
    assert_means("{\"a\":\"}\\\"\"}{\"b\":[{}]}\n[1]",
                 "{\"a\":\"}\\\"\"}\n{\"b\":[{}]}\n[1]");
    assert_means("{\"a\":1}\n---\n{\"b\":2}", "{\"a\":1}\n{\"b\":2}");
    assert_means("{a: 1, \"b\": x,}", "{\"a\":1,\"b\":\"x\"}");
}

static void invalid_yaml_is_an_error_with_line_and_column(void **state)
{
    (void)state;
    assert_fails("a: 1\nb: [1, 2\nc: 3\n", "parse", "line ");
    assert_fails("a: b: c", "parse", "line 1, column 5");
    assert_fails("a: \"x\n", "parse", "line ");
    assert_fails("\tb: 1", "parse", "line 1");
    assert_fails("{\"a\": 1", "parse", "line 2, column 1");
    assert_fails("a: ok\nb: \xff\xfe", "parse", "line 2");
    assert_fails("a: .inf", "parse", "JSON has no .inf");
}

static void merges_of_empty_maps_are_limited_too(void **state)
{
    enum { MAPS = 500, MERGES = 900 };
    static char text[32 * 1024];
    size_t at = (size_t)snprintf(text, sizeof(text), "a: &a {}\nb: &b {<<: [");

    (void)state;
    for (int i = 0; i < MAPS; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, "*a,");
    }
    at += (size_t)snprintf(text + at, sizeof(text) - at, "]}\n");
    for (int i = 0; i < MERGES; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, "c%d: {<<: *b}\n",
                               i);
    }
    assert_fails(text, "too_large", "aliases multiply this document");
}

static void tag_directives_are_limited(void **state)
{
    static char text[4096];
    size_t at = 0;

    (void)state;
    for (int i = 0; i < 101; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "%%TAG !t%d! tag:x,2000:\n", i);
    }
    snprintf(text + at, sizeof(text) - at, "--- x\n");
    assert_fails(text, "too_large", "line 101: more than 100 %TAG");
    assert_means(strchr(text, '\n') + 1, "\"x\"");
}

static void nesting_is_limited_to_512_levels(void **state)
{
    static char text[4 * KL__YAML_DEPTH];
    kl__buf deep = {0};

    (void)state;
    memset(text, '[', KL__YAML_DEPTH + 1);
    assert_fails(text, "too_large", "nested deeper than 512 levels");
    memset(text, '[', KL__YAML_DEPTH);
    memset(text + KL__YAML_DEPTH, ']', KL__YAML_DEPTH);
    assert_means(text, text);
    for (int i = 0; i < KL__YAML_DEPTH + 1; i++) {
        kl__buf_printf(&deep, "%*s-\n", i, "");
    }
    assert_fails(deep.bytes, "too_large", "nested deeper than 512 levels");
    kl__buf_deinit(&deep);
}

static void the_expansion_of_aliases_is_limited(void **state)
{
    kl__buf text = {0};

    (void)state;
    kl__buf_puts(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        kl__buf_printf(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++) {
            kl__buf_printf(&text, "*a%d, ", i - 1);
        }
        kl__buf_puts(&text, "]\n");
    }
    assert_fails(text.bytes, "too_large", "aliases multiply");
    kl__buf_reset(&text);
    kl__buf_puts(&text, "a0: &a0 {k: x}\n");
    for (int i = 1; i < 24; i++) {
        kl__buf_printf(&text, "a%d: &a%d {a: {<<: *a%d}, b: {<<: *a%d}}\n", i,
                       i, i - 1, i - 1);
    }
    assert_fails(text.bytes, "too_large", "aliases multiply");
    kl__buf_deinit(&text);
}

static void repeating_a_huge_text_by_alias_is_limited(void **state)
{
    kl__buf text = {0};

    (void)state;
    kl__buf_puts(&text, "- &x ");
    for (int i = 0; i < 100000; i++) {
        kl__buf_puts(&text, "0123456789");
    }
    for (int i = 0; i < 100; i++) {
        kl__buf_puts(&text, "\n- *x");
    }
    assert_fails(text.bytes, "too_large", "aliases multiply");
    kl__buf_deinit(&text);
}

static kl_code stop_at_second(void *context, const char *json, size_t length,
                              kl_error *err)
{
    int *seen = context;

    (void)json;
    (void)length;
    return ++*seen == 2 ? kl_error_set(err, KL_ECLOSED, "enough") : KL_OK;
}

static void an_error_of_the_callback_ends_the_reading(void **state)
{
    static const char *const texts[] = {"a: 1\n---\na: 2\n---\na: 3\n",
                                        "{\"a\":1}{\"a\":2}{\"a\":3}"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        kl_error err;
        int seen = 0;

        assert_int_equal(kl_manifest_each(texts[i], strlen(texts[i]),
                                          stop_at_second, &seen, &err),
                         KL_ECLOSED);
        assert_int_equal(seen, 2);
        assert_string_equal(err.message, "enough");
    }
}

static kl_code read_once(void *context)
{
    static const char good[] =
        "x: &x {a: 1.5, b: 0x10}\ny: {<<: *x, c: !!binary aGk=}\n---\n- z\n";
    kl__buf out = {0};
    kl_code code =
        kl_manifest_each(good, sizeof(good) - 1, collect, &out, NULL);

    (void)context;
    kl__buf_deinit(&out);
    return code;
}

static void running_out_of_memory_is_an_error_that_leaks_nothing(void **state)
{
    (void)state;
    failing_alloc_each(read_once, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_lists_and_texts_become_json),
        cmocka_unit_test(plain_scalars_have_the_types_of_yaml_1_1),
        cmocka_unit_test(quoted_scalars_are_always_text),
        cmocka_unit_test(a_tag_decides_the_type_of_a_scalar),
        cmocka_unit_test(keys_become_texts),
        cmocka_unit_test(a_duplicate_key_is_an_error),
        cmocka_unit_test(an_alias_is_replaced_by_its_anchor),
        cmocka_unit_test(a_merge_key_adds_the_members_of_other_maps),
        cmocka_unit_test(
            a_merge_overwrites_what_stands_before_it_as_in_kubectl),
        cmocka_unit_test(documents_come_in_order_and_empty_ones_are_skipped),
        cmocka_unit_test(several_json_values_are_read_as_documents),
        cmocka_unit_test(invalid_yaml_is_an_error_with_line_and_column),
        cmocka_unit_test(merges_of_empty_maps_are_limited_too),
        cmocka_unit_test(tag_directives_are_limited),
        cmocka_unit_test(nesting_is_limited_to_512_levels),
        cmocka_unit_test(the_expansion_of_aliases_is_limited),
        cmocka_unit_test(repeating_a_huge_text_by_alias_is_limited),
        cmocka_unit_test(an_error_of_the_callback_ends_the_reading),
        cmocka_unit_test(running_out_of_memory_is_an_error_that_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
