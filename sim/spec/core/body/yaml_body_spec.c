/*
 * yaml_body_spec.c - a body in YAML is read as kube-apiserver reads it.
 */
#include "spec_case.h"
#include "sim/core/body/yaml_body.h"

#include "failing_alloc.h"
#include "kubelua/memory.h"

/* What a text means, or why it is refused. */
static void assert_means(const char *text, const char *expected)
{
    kl_error err = {0};
    kl_doc *doc = kl__yaml_body(text, strlen(text), &err);
    char *json =
        doc != NULL ? kl_value_json(kl_doc_root(doc), NULL, NULL) : NULL;

    assert_string_equal(json != NULL ? json : err.message, expected);
    kl_free(json);
    kl_doc_unref(doc);
}

PLAIN_CASE(only_the_first_yaml_document_is_read)
{
    assert_means("a: 1\n---\nb: [", "{\"a\":1}");
    assert_means("---\n---\na: 1\n", "null");
    assert_means("", "null");
    assert_means("# nothing\n", "null");
    assert_means("{\"a\": [1, 2]}", "{\"a\":[1,2]}");
}

PLAIN_CASE(a_fault_is_told_with_its_line)
{
    assert_means("a: x\nb: y\na: z\n",
                 "line 3, column 1: key \"a\" is there twice");
    assert_means("a: b\n c: d\n",
                 "line 2, column 3: mapping values are not allowed in this "
                 "context");
    assert_means("a: &a [*a]\n", "line 1, column 8: *a contains itself");
    assert_means("<<: 1\n",
                 "line 1, column 5: \"<<\" wants a map or a list of maps");
}

static kl_code read_body(void *context)
{
    const char *text = context;
    kl_error err = {0};
    kl_doc *doc = kl__yaml_body(text, strlen(text), &err);

    kl_doc_unref(doc);
    return doc != NULL ? KL_OK : err.code;
}

PLAIN_CASE(running_out_of_memory_is_an_error)
{
    assert_true(failing_alloc_each(read_body, "a: x\nb: [1, {b: c}]\n") > 1);
}
