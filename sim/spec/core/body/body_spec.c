/*
 * body_spec.c - bodies of YAML, and compressed ones: those compressed in pieces
 * are decompressed by inflate.h.
 */
#include "failing_alloc.h"
#include "http/inflate.h"
#include "kubelua/memory.h"
#include "sim/core/body/deflate.h"
#include "sim/core/body/yaml_body.h"
#include "spec_case.h"

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

/* ---- Bodies that are compressed in pieces are decompressed by inflate.h.
 */

enum { LENGTH = 300000 };

/* A text with something to find in it. */
static char *make_text(void)
{
    static char text[LENGTH];

    for (size_t i = 0; i < LENGTH; i++) {
        text[i] = (char)('a' + i * i % 23 + i / 1000 % 3);
    }
    return text;
}

static void expect_inflated(const kl__buf *packed, const char *text,
                            size_t length)
{
    static char out[LENGTH + 1];
    kl__inflate *gzip = kl__inflate_new();
    kl__inflate_io io = {packed->bytes, packed->length, out, sizeof(out)};

    assert_non_null(gzip);
    assert_int_equal(kl__inflate_step(gzip, &io, NULL), KL_OK);
    assert_true(kl__inflate_is_whole(gzip));
    assert_int_equal(sizeof(out) - io.out_length, length);
    assert_memory_equal(out, text, length);
    kl__inflate_free(gzip);
}

PLAIN_CASE(pieces_are_compressed_into_one_body)
{
    static const size_t pieces[] = {1, 1000, 65536, LENGTH};
    const char *text = make_text();

    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        kl__deflate *gzip = kl__deflate_new();
        kl__buf packed = {0};

        assert_non_null(gzip);
        for (size_t at = 0; at < LENGTH; at += pieces[i]) {
            size_t left = LENGTH - at;
            size_t size = pieces[i] < left ? pieces[i] : left;

            kl__deflate_add(gzip, text + at, size, size == left, &packed);
        }
        assert_false(packed.failed);
        assert_true(packed.length < LENGTH);
        expect_inflated(&packed, text, LENGTH);
        kl__buf_deinit(&packed);
        kl__deflate_free(gzip);
    }
}

PLAIN_CASE(an_empty_body_can_be_compressed)
{
    kl__deflate *gzip = kl__deflate_new();
    kl__buf packed = {0};

    kl__deflate_add(gzip, "", 0, true, &packed);
    expect_inflated(&packed, "", 0);
    kl__buf_deinit(&packed);
    kl__deflate_free(gzip);
}

static kl_code pack(void *context)
{
    kl__deflate *gzip = kl__deflate_new();
    kl__buf packed = {0};
    kl_code code = KL_ENOMEM;

    if (gzip != NULL) {
        kl__deflate_add(gzip, context, LENGTH, true, &packed);
        code = packed.failed ? KL_ENOMEM : KL_OK;
    }
    kl__buf_deinit(&packed);
    kl__deflate_free(gzip);
    return code;
}

PLAIN_CASE(compressing_can_run_out_of_memory)
{
    failing_alloc_each(pack, make_text());
}
