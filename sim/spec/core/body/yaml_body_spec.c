/*
 * yaml_body_spec.c - a body in YAML is read as kube-apiserver reads it. The
 * expected values were measured on a real one.
 */
#include "spec_case.h"
#include "sim/core/body/yaml_body.h"

#include "failing_alloc.h"
#include "kubelua/memory.h"

/* What a text means, with what is there twice behind it. */
static void assert_means(const char *text, const char *expected)
{
    kl__buf twice = {0}, got = {0};
    kl_error err = {0};
    kl_doc *doc = kl__yaml_body(text, strlen(text), &twice, &err);
    char *json =
        doc != NULL ? kl_value_json(kl_doc_root(doc), NULL, NULL) : NULL;

    kl__buf_printf(&got, "%s%s%s", json != NULL ? json : err.message,
                   twice.length > 0 ? "\n" : "",
                   twice.length > 0 ? twice.bytes : "");
    if (strcmp(got.bytes, expected) != 0) {
        print_error("%s\n", text);
    }
    assert_string_equal(got.bytes, expected);
    kl_free(json);
    kl_doc_unref(doc);
    kl__buf_deinit(&twice);
    kl__buf_deinit(&got);
}

PLAIN_CASE(only_the_first_yaml_document_is_read)
{
    assert_means("a: 1\n---\nb: [", "{\"a\":1}");
    assert_means("---\n---\na: 1\n", "null");
    assert_means("", "null");
    assert_means("# nothing\n", "null");
    assert_means("{\"a\": [1, 2]}", "{\"a\":[1,2]}");
}

PLAIN_CASE(the_last_of_repeated_names_wins)
{
    assert_means("a: x\nb: y1\na: z\n",
                 "{\"a\":\"z\",\"b\":\"y1\"}\n"
                 "line 3: key \"a\" already set in map\n");
    assert_means("a:\n  1: x\n  1: z\n  yes: x\n  on: z\n",
                 "{\"a\":{\"1\":\"z\",\"true\":\"z\"}}\n"
                 "line 3: key 1 already set in map\n"
                 "line 5: key true already set in map\n");
    assert_means("x: &x {a: 1}\nz:\n  a: 2\n  <<: *x\n",
                 "{\"x\":{\"a\":1},\"z\":{\"a\":1}}\n"
                 "line 1: key \"a\" already set in map\n");
}

PLAIN_CASE(repeated_names_in_json_are_reported_as_in_yaml)
{
    assert_means("{\"a\":{\"b\":1,\"b\":2}}",
                 "{\"a\":{\"b\":2}}\nline 1: key \"b\" already set in map\n");
    assert_means("[{\"a\":1},{\"a\":2}]", "[{\"a\":1},{\"a\":2}]");
}

PLAIN_CASE(invalid_yaml_is_refused_in_the_words_of_go)
{
    assert_means("a: [b", "yaml: line 1: did not find expected ',' or ']'");
    assert_means("a: b\n c: d\n",
                 "yaml: line 2: mapping values are not allowed in this "
                 "context");
    assert_means("a: *b\n", "yaml: unknown anchor 'b' referenced");
    assert_means("a: &a [*a]\n", "yaml: anchor 'a' value contains itself");
    assert_means("<<: 1\n", "yaml: map merge requires map or sequence of maps "
                            "as the value");
    assert_means("a: .inf\n", "json: unsupported value: +Inf");
    assert_means("a: \x01\n", "yaml: control characters are not allowed");
}

static kl_code read_body(void *context)
{
    const char *text = context;
    kl__buf twice = {0};
    kl_error err = {0};
    kl_doc *doc = kl__yaml_body(text, strlen(text), &twice, &err);

    kl_doc_unref(doc);
    kl__buf_deinit(&twice);
    return doc != NULL ? KL_OK : err.code;
}

PLAIN_CASE(running_out_of_memory_is_an_error)
{
    assert_true(failing_alloc_each(read_body, "a: x\na: [1, {b: c}]\n") > 1);
}
