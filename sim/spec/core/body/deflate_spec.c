/*
 * deflate_spec.c - bodies that are compressed in pieces are decompressed by
 * inflate.h.
 */
#include "spec_case.h"
#include "sim/core/body/deflate.h"
#include "http/inflate.h"

#include "failing_alloc.h"

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
