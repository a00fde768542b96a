/*
 * curl_stream_spec.c - a stream's reader waits, is cancelled, falls behind, and
 * goes; and a transport ends under it.
 */
#include "http/transport.h"

#include "hostile_server.h"
#include "http_client.h"

#include "base/clock.h"
#include "kubelua/client.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* spec/core/cancel holds every call to 50 ms of its own time; this is by the
 * clock of a machine that has other work. */
enum { CANCEL_MS = 1000, FLOOD = 64 * 1024 * 1024 };

static int64_t now(void)
{
    return kl__clock_now(kl__clock_real());
}

/* ---- waiting ---- */

static void a_stream_can_be_read_after_a_timeout(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    kl__response response;
    char bytes[8];
    size_t length;

    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("head"), HOSTILE_STREAM, HOSTILE_GATE("body"),
                     HOSTILE_CHUNK("x"), HOSTILE_STREAM_END));
    stream = ask(f, "/");
    assert_int_equal(
        kl__stream_response(stream, &response, now() + 5, NULL, NULL),
        KL_ETIMEOUT);
    hostile_open_gate(f->server, "head");
    await_head(stream);
    assert_int_equal(kl__stream_read(stream, bytes, sizeof(bytes), &length,
                                     now() + 5, NULL, NULL),
                     KL_ETIMEOUT);
    assert_int_equal(length, 0);
    hostile_open_gate(f->server, "body");
    assert_int_equal(kl__stream_read(stream, bytes, sizeof(bytes), &length,
                                     soon(), NULL, NULL),
                     KL_OK);
    assert_int_equal(length, 1);
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
}

/* A thread that blocks on a stream until something ends it. */
typedef struct reader {
    pthread_t thread;
    kl__stream *stream;
    kl__cancel *cancel;
    bool wants_head;
    kl_code code;
    int64_t ended_ms;
} reader;

static void *block(void *arg)
{
    reader *r = arg;
    kl__response response;
    char bytes[64];
    size_t length = 1;

    if (r->wants_head) {
        r->code =
            kl__stream_response(r->stream, &response, soon(), r->cancel, NULL);
    } else {
        do {
            r->code = kl__stream_read(r->stream, bytes, sizeof(bytes), &length,
                                      soon(), r->cancel, NULL);
        } while (r->code == KL_OK && length > 0);
    }
    r->ended_ms = now();
    return NULL;
}

static void start(reader *r)
{
    assert_int_equal(pthread_create(&r->thread, NULL, block, r), 0);
}

static void a_cancel_ends_a_read_from_a_frozen_server(void **state)
{
    fixture *f = *state;
    int64_t fired_ms;

    hostile_on(f->server, "/head", STEPS(HOSTILE_FREEZE));
    hostile_on(f->server, "/body",
               STEPS(HOSTILE_STREAM, HOSTILE_CHUNK("x"), HOSTILE_FREEZE));
    for (int i = 0; i < 2; i++) {
        kl__cancel cancel;
        reader r = {.cancel = &cancel, .wants_head = i == 0};

        kl__cancel_init(&cancel);
        r.stream = ask(f, i == 0 ? "/head" : "/body");
        assert_true(hostile_await_requests(f->server, "", (size_t)i + 1));
        start(&r);
        fired_ms = now();
        kl__cancel_fire(&cancel);
        pthread_join(r.thread, NULL);
        assert_int_equal(r.code, KL_ECANCELED);
        assert_in_range(r.ended_ms - fired_ms, 0, CANCEL_MS);
        kl__stream_close(r.stream);
        kl__cancel_deinit(&cancel);
    }
}

static void a_fired_cancel_ends_a_read_even_if_bytes_wait(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    kl__cancel cancel;
    char byte;
    size_t length;

    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "ab")));
    stream = ask(f, "/");
    kl__cancel_init(&cancel);
    assert_int_equal(
        kl__stream_read(stream, &byte, 1, &length, soon(), &cancel, NULL),
        KL_OK);
    kl__cancel_fire(&cancel);
    assert_int_equal(
        kl__stream_read(stream, &byte, 1, &length, soon(), &cancel, NULL),
        KL_ECANCELED);
    kl__stream_close(stream);
    kl__cancel_deinit(&cancel);
}

static void last_byte_ms_is_after_the_request(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    int64_t opened_ms = now();

    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, "{}")));
    stream = ask(f, "/");
    assert_in_range(kl__stream_last_byte_ms(stream), opened_ms, now());
    while (now() <= opened_ms) { /* the clock ticks */
    }
    opened_ms = now();
    hostile_open_gate(f->server, "go");
    await_head(stream);
    assert_in_range(kl__stream_last_byte_ms(stream), opened_ms, now());
    kl__stream_close(stream);
}

/* ---- falling behind ---- */

#define PATTERN                                                        \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void flood(fixture *f, const char *target)
{
    hostile_on(f->server, target,
               STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 67108864"
                                  "\r\n\r\n"),
                     HOSTILE_FLOOD(PATTERN, FLOOD)));
}

static size_t read_count(kl__stream *stream, size_t wanted)
{
    static char bytes[1024 * 1024];
    size_t total = 0, length = 1;

    while (total < wanted && length > 0) {
        size_t size = wanted - total;

        size = size < sizeof(bytes) ? size : sizeof(bytes);
        assert_int_equal(
            kl__stream_read(stream, bytes, size, &length, soon(), NULL, NULL),
            KL_OK);
        for (size_t i = 0; i < length; i++) {
            assert_true(bytes[i] == "0123456789abcdef"[(total + i) % 16]);
        }
        total += length;
    }
    return total;
}

static void a_slow_reader_stops_the_server_by_backpressure(void **state)
{
    fixture *f = *state;
    kl__stream *slow, *quick;
    size_t sent;

    flood(f, "/flood");
    hostile_on(f->server, "/quick", STEPS(HOSTILE_ANSWER(200, "{}")));
    slow = ask(f, "/flood");
    assert_true(hostile_await_stall(f->server));
    sent = hostile_sent_bytes(f->server);
    assert_in_range(sent, 256 * 1024, FLOOD / 2); /* the kernel's buffers too */
    /* The transport itself goes on. */
    quick = ask(f, "/quick");
    assert_int_equal(read_to_end(quick, NULL, NULL), KL_OK);
    /* And so does the stream, once it is read. */
    assert_int_equal(read_count(slow, FLOOD), FLOOD);
    assert_int_equal(read_to_end(slow, NULL, NULL), KL_OK);
}

static void a_tiny_window_still_delivers_the_whole_body(void **state)
{
    fixture *f = *state;
    kl__request request = {.method = "GET",
                           .base_url = hostile_url(f->server),
                           .target = "/",
                           .window = 1};
    kl__stream *stream;

    flood(f, "/");
    stream = kl__transport_open(f->transport, &request, NULL);
    assert_true(hostile_await_stall(f->server));
    assert_int_equal(read_count(stream, FLOOD), FLOOD);
    kl__stream_close(stream);
}

static void a_paused_stream_can_be_closed(void **state)
{
    fixture *f = *state;
    kl__stream *stream;

    flood(f, "/");
    stream = ask(f, "/");
    assert_true(hostile_await_stall(f->server));
    kl__stream_close(stream);
    assert_true(hostile_await_ended(f->server, 1));
}

/* ---- ends ---- */

static void closing_the_transport_ends_blocked_readers(void **state)
{
    fixture *f = *state;
    reader readers[2] = {{.wants_head = true}, {.wants_head = false}};
    int64_t closed_ms;

    hostile_on(f->server, "/0", STEPS(HOSTILE_FREEZE));
    hostile_on(f->server, "/1",
               STEPS(HOSTILE_STREAM, HOSTILE_CHUNK("x"), HOSTILE_FREEZE));
    readers[0].stream = ask(f, "/0");
    readers[1].stream = ask(f, "/1");
    await_head(readers[1].stream);
    assert_true(hostile_await_requests(f->server, "", 2));
    start(&readers[0]);
    start(&readers[1]);
    closed_ms = now();
    kl__transport_close(f->transport);
    for (int i = 0; i < 2; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].code, KL_ECLOSED);
        assert_in_range(readers[i].ended_ms - closed_ms, 0, CANCEL_MS);
        kl__stream_close(readers[i].stream);
    }
}

static void closing_the_transport_closes_finished_streams_too(void **state)
{
    fixture *f = *state;
    kl__stream *finished, *open;
    char bytes[8];
    size_t length = 1;

    hostile_on(f->server, "/1", STEPS(HOSTILE_ANSWER(200, "{}")));
    hostile_on(f->server, "/2", STEPS(HOSTILE_FREEZE));
    finished = ask(f, "/1");
    while (length > 0) {
        assert_int_equal(kl__stream_read(finished, bytes, sizeof(bytes),
                                         &length, soon(), NULL, NULL),
                         KL_OK);
    }
    open = ask(f, "/2");
    kl__transport_close(f->transport);
    /* The loop ends them in order: with the second, the first is closed. */
    assert_int_equal(read_to_end(open, NULL, NULL), KL_ECLOSED);
    assert_int_equal(read_to_end(finished, NULL, NULL), KL_ECLOSED);
}

static void a_closed_transport_opens_no_stream(void **state)
{
    fixture *f = *state;
    kl__request request = {
        .method = "GET", .base_url = hostile_url(f->server), .target = "/"};
    kl_error err;

    kl__transport_close(f->transport);
    kl__transport_close(f->transport); /* once more is fine */
    assert_null(kl__transport_open(f->transport, &request, &err));
    assert_int_equal(err.code, KL_ECLOSED);
}

static void a_stream_outlives_its_owners_transport_reference(void **state)
{
    fixture *f = *state;
    kl__stream *stream;

    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    stream = ask(f, "/");
    kl_transport_unref(f->transport);
    f->transport = NULL;
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
}

static void a_stream_can_be_closed_at_once(void **state)
{
    fixture *f = *state;

    hostile_always(f->server, "", STEPS(HOSTILE_FREEZE));
    for (int i = 0; i < 50; i++) {
        kl__stream_close(ask(f, "/"));
    }
    kl__stream_close(NULL);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(a_stream_can_be_read_after_a_timeout),
        SPEC(a_cancel_ends_a_read_from_a_frozen_server),
        SPEC(a_fired_cancel_ends_a_read_even_if_bytes_wait),
        SPEC(last_byte_ms_is_after_the_request),
        SPEC(a_slow_reader_stops_the_server_by_backpressure),
        SPEC(a_tiny_window_still_delivers_the_whole_body),
        SPEC(a_paused_stream_can_be_closed),
        SPEC(closing_the_transport_closes_finished_streams_too),
        SPEC(closing_the_transport_ends_blocked_readers),
        SPEC(a_closed_transport_opens_no_stream),
        SPEC(a_stream_outlives_its_owners_transport_reference),
        SPEC(a_stream_can_be_closed_at_once),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
