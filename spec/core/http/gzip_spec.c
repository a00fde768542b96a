/*
 * gzip_spec.c - compressed bodies, through the decoder alone and over a socket.
 */
#include "http/inflate.h"

#include "hostile_server.h"
#include "http_client.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#define GZIP_HEAD \
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"

/* Appends a member. */
static void compress_into(kl__buf *out, const char *bytes, size_t length)
{
    z_stream z = {0};
    size_t bound;

    assert_int_equal(
        deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    bound = deflateBound(&z, length) + 32;
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)length;
    z.next_out = (Bytef *)kl__buf_reserve(out, bound);
    z.avail_out = (uInt)bound;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->length += z.total_out;
    deflateEnd(&z);
}

static void three_members(kl__buf *out)
{
    compress_into(out, "one ", 4);
    compress_into(out, "", 0);
    compress_into(out, "two", 3);
}

/* Decodes with inputs and outputs of these sizes. */
static kl_code decode(const kl__buf *in, size_t in_step, size_t out_step,
                      kl__buf *out, bool *whole)
{
    kl__inflate *gzip = kl__inflate_new();
    kl_code code = KL_OK;
    char bytes[64];

    for (size_t at = 0; at < in->length && code == KL_OK; at += in_step) {
        size_t left = in->length - at;
        kl__inflate_io io = {.in = in->bytes + at,
                             .in_length = left < in_step ? left : in_step};

        do {
            io.out = bytes;
            io.out_length = out_step;
            code = kl__inflate_step(gzip, &io, NULL);
            kl__buf_append(out, bytes, out_step - io.out_length);
        } while (code == KL_OK && io.out_length == 0);
    }
    *whole = kl__inflate_is_whole(gzip);
    kl__inflate_free(gzip);
    return code;
}

static void gzip_members_are_one_text_for_all_chunk_sizes(void **state)
{
    kl__buf in = {0};

    (void)state;
    three_members(&in);
    for (size_t in_step = 1; in_step <= in.length; in_step++) {
        for (size_t out_step = 1; out_step <= 9; out_step += 4) {
            kl__buf out = {0};
            bool whole = false;

            assert_int_equal(decode(&in, in_step, out_step, &out, &whole),
                             KL_OK);
            assert_string_equal(out.bytes, "one two");
            assert_true(whole);
            kl__buf_deinit(&out);
        }
    }
    kl__buf_deinit(&in);
}

static void a_truncated_gzip_member_is_not_whole(void **state)
{
    kl__buf in = {0}, out = {0};
    bool whole = true;

    (void)state;
    compress_into(&in, "one", 3);
    in.length--;
    assert_int_equal(decode(&in, in.length, 64, &out, &whole), KL_OK);
    assert_false(whole);
    kl__buf_deinit(&in);
    kl__buf_deinit(&out);
}

static void a_damaged_gzip_member_is_an_error(void **state)
{
    kl__buf in = {0};

    (void)state;
    three_members(&in);
    for (size_t at = 0; at < in.length; at++) {
        kl__buf out = {0};
        bool whole = false;
        kl_code code;

        in.bytes[at] ^= 0x55;
        code = decode(&in, in.length, 64, &out, &whole);
        in.bytes[at] ^= 0x55;
        /* The time, flags and system of a gzip header do not matter. */
        assert_true(code == KL_EPARSE || !whole ||
                    strcmp(out.bytes, "one two") == 0);
        kl__buf_deinit(&out);
    }
    kl__buf_deinit(&in);
}

/* ---- over a socket ---- */

static void a_compressed_body_arrives_decoded(void **state)
{
    fixture *f = *state;
    kl__buf in = {0}, body = {0};
    hostile_step steps[] = {HOSTILE_TEXT(GZIP_HEAD), HOSTILE_BYTES(NULL, 0),
                            HOSTILE_CLOSE};

    three_members(&in);
    steps[1] = (hostile_step)HOSTILE_BYTES(in.bytes, in.length);
    steps[1].piece = 1;
    hostile_on(f->server, "", steps, 3);
    assert_int_equal(read_to_end(ask(f, "/"), &body, NULL), KL_OK);
    assert_string_equal(body.bytes, "one two");
    kl__buf_deinit(&body);
    kl__buf_deinit(&in);
}

static void a_gzip_member_is_delivered_when_it_is_complete(void **state)
{
    fixture *f = *state;
    kl__buf in = {0};
    hostile_step steps[] = {HOSTILE_TEXT(GZIP_HEAD), HOSTILE_BYTES(NULL, 0),
                            HOSTILE_GATE("rest"), HOSTILE_CLOSE};
    kl__stream *stream;
    char bytes[64];
    size_t length;

    compress_into(&in, "event", 5);
    steps[1] = (hostile_step)HOSTILE_BYTES(in.bytes, in.length);
    hostile_on(f->server, "", steps, 4);
    stream = ask(f, "/");
    assert_int_equal(kl__stream_read(stream, bytes, sizeof(bytes), &length,
                                     soon(), NULL, NULL),
                     KL_OK);
    assert_int_equal(length, 5);
    hostile_open_gate(f->server, "rest");
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
    kl__buf_deinit(&in);
}

static void a_truncated_gzip_body_is_an_error(void **state)
{
    fixture *f = *state;
    kl__buf in = {0};
    kl_error err;
    hostile_step steps[] = {HOSTILE_TEXT(GZIP_HEAD), HOSTILE_BYTES(NULL, 0),
                            HOSTILE_CLOSE};

    compress_into(&in, "one two", 7);
    steps[1] = (hostile_step)HOSTILE_BYTES(in.bytes, in.length - 5);
    hostile_on(f->server, "", steps, 3);
    assert_int_equal(read_to_end(ask(f, "/"), NULL, &err), KL_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "broke off"));
    kl__buf_deinit(&in);
}

static void a_damaged_gzip_body_is_a_parse_error(void **state)
{
    fixture *f = *state;
    kl_error err;

    hostile_on(
        f->server, "",
        STEPS(HOSTILE_TEXT(GZIP_HEAD "this is no gzip at all"), HOSTILE_CLOSE));
    assert_int_equal(read_to_end(ask(f, "/"), NULL, &err), KL_EPARSE);
    assert_non_null(strstr(err.message, "127.0.0.1:"));
    assert_non_null(strstr(err.message, "gzip"));
}

static void an_encoding_other_than_gzip_is_a_parse_error(void **state)
{
    fixture *f = *state;
    kl_error err;

    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n"
                                  "Content-Length: 1\r\n\r\nx")));
    assert_int_equal(read_to_end(ask(f, "/"), NULL, &err), KL_EPARSE);
    assert_non_null(strstr(err.message, "encoding"));
}

static atomic_size_t largest;

static void *watching_malloc(size_t size)
{
    if (size > atomic_load(&largest)) {
        atomic_store(&largest, size);
    }
    return malloc(size);
}

static void *watching_realloc(void *block, size_t size)
{
    if (size > atomic_load(&largest)) {
        atomic_store(&largest, size);
    }
    return realloc(block, size);
}

/* 64 MB of zeroes come as 64 KB, and are never in memory at once. */
static void a_decompression_bomb_expands_only_as_it_is_read(void **state)
{
    const kl_allocator watching = {watching_malloc, watching_realloc, free};
    const size_t size = 64 * 1024 * 1024;
    fixture *f = *state;
    kl__buf in = {0};
    char *zeroes = calloc(1, size);
    char bytes[4096];
    size_t total = 0, length;
    kl__stream *stream;
    hostile_step steps[] = {HOSTILE_TEXT(GZIP_HEAD), HOSTILE_BYTES(NULL, 0),
                            HOSTILE_CLOSE};

    assert_non_null(zeroes);
    compress_into(&in, zeroes, size);
    free(zeroes);
    steps[1] = (hostile_step)HOSTILE_BYTES(in.bytes, in.length);
    hostile_on(f->server, "", steps, 3);
    end_transport(f->transport); /* so that the allocator can be changed */
    kl_set_allocator(&watching);
    f->transport = new_transport();
    stream = ask(f, "/");
    do {
        assert_int_equal(kl__stream_read(stream, bytes, sizeof(bytes), &length,
                                         soon(), NULL, NULL),
                         KL_OK);
        total += length;
    } while (length > 0);
    kl__stream_close(stream);
    end_transport(f->transport);
    kl_set_allocator(NULL);
    f->transport = NULL;
    assert_int_equal(total, size);
    assert_in_range(atomic_load(&largest), 1, 512 * 1024);
    kl__buf_deinit(&in);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(gzip_members_are_one_text_for_all_chunk_sizes),
        cmocka_unit_test(a_truncated_gzip_member_is_not_whole),
        cmocka_unit_test(a_damaged_gzip_member_is_an_error),
        SPEC(a_compressed_body_arrives_decoded),
        SPEC(a_gzip_member_is_delivered_when_it_is_complete),
        SPEC(a_truncated_gzip_body_is_an_error),
        SPEC(a_damaged_gzip_body_is_a_parse_error),
        SPEC(an_encoding_other_than_gzip_is_a_parse_error),
        SPEC(a_decompression_bomb_expands_only_as_it_is_read),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
