/*
 * curl_gather_spec.c - when the bytes of a list are held back until there are
 * many, and when not; and that the reader gets all of them although no more
 * come.
 */
#include "http/curl_loop.h"

#include "certificate.h"
#include "gate.h"
#include "http_client.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    LONG_LIST = 300 * 1024, /* more than what is never held back */
    PIECE = 1000,
    OVER = 1 /* a time that is over */
};

/* ---- decisions ---- */

/* Two streams of a loop that does not run. */
typedef struct idle_loop {
    kl__curl_transport transport;
    kl__curl_stream *list, *other;
} idle_loop;

static kl__curl_stream *new_stream(idle_loop *loop, bool gathers)
{
    kl__curl_stream *stream = kl__curl_stream_new(
        &loop->transport, &(kl__request){.target = "/", .gathers = gathers});

    assert_non_null(stream);
    stream->easy = curl_easy_init();
    assert_non_null(stream->easy);
    stream->secure = true;
    stream->head.response = (kl__response){.status = 200, .http2 = true};
    stream->head.complete = true;
    stream->attempts = 1;
    stream->local_port = 1234;
    kl__list_append(&loop->transport.streams, &stream->node);
    return stream;
}

static int set_up_idle(void **state)
{
    static idle_loop loop;

    memset(&loop, 0, sizeof(loop));
    kl__list_init(&loop.transport.streams);
    kl__list_init(&loop.transport.news);
    kl__list_init(&loop.transport.gathering);
    for (int i = 0; i < KL__CURL_SOCKETS; i++) {
        loop.transport.sockets[i] = -1;
    }
    loop.list = new_stream(&loop, true);
    loop.other = new_stream(&loop, false);
    *state = &loop;
    return 0;
}

static int tear_down_idle(void **state)
{
    idle_loop *loop = *state;

    kl__curl_stream_free(loop->other);
    kl__curl_stream_free(loop->list);
    return 0;
}

/* Bytes have come, and the reader has not read `unread` of them. */
static void receive(kl__curl_stream *stream, size_t length, size_t unread)
{
    kl__curl_note_list(stream, length);
    atomic_store(&stream->unread, unread);
}

static void a_short_list_is_not_held_back(void **state)
{
    idle_loop *loop = *state;

    receive(loop->list, PIECE, PIECE);
    assert_false(kl__curl_holds_back(loop->list));
    assert_false(loop->transport.is_flowing);
}

static void a_long_list_is_held_back_until_there_is_much(void **state)
{
    idle_loop *loop = *state;

    receive(loop->list, LONG_LIST, PIECE);
    assert_true(loop->transport.is_flowing);
    assert_true(kl__curl_holds_back(loop->list));
    receive(loop->list, PIECE, 64 * 1024);
    assert_false(kl__curl_holds_back(loop->list));
    receive(loop->list, PIECE, PIECE);
    assert_true(kl__curl_holds_back(loop->list));
}

static void a_list_is_held_back_for_a_limited_time(void **state)
{
    idle_loop *loop = *state;

    receive(loop->list, LONG_LIST, PIECE);
    assert_true(kl__curl_holds_back(loop->list));
    loop->list->held_until_ms = OVER;
    assert_false(kl__curl_holds_back(loop->list));
    assert_true(kl__curl_holds_back(loop->list)); /* from then on again */
}

static void nothing_is_held_back_once_the_list_is_complete(void **state)
{
    idle_loop *loop = *state;

    receive(loop->list, LONG_LIST, PIECE);
    kl__stream_stop_gathering(&loop->list->base);
    assert_false(kl__curl_holds_back(loop->list));
    assert_true(kl__list_empty(&loop->transport.gathering));
}

static void an_end_and_a_pause_are_not_held_back(void **state)
{
    idle_loop *loop = *state;

    receive(loop->list, LONG_LIST, PIECE);
    atomic_store(&loop->list->paused, true);
    assert_false(kl__curl_holds_back(loop->list));
    atomic_store(&loop->list->paused, false);
    assert_true(kl__curl_holds_back(loop->list));
    loop->list->finished = true;
    assert_false(kl__curl_holds_back(loop->list));
}

static void a_connection_of_lists_only_waits_longest(void **state)
{
    idle_loop *loop = *state;
    int alone_ms;

    receive(loop->list, LONG_LIST, PIECE);
    loop->other->local_port = 4321; /* on another connection */
    alone_ms = kl__curl_hold_ms(loop->list);
    loop->other->local_port = loop->list->local_port;
    receive(loop->other, LONG_LIST, PIECE);
    assert_int_equal(kl__curl_hold_ms(loop->list), alone_ms);
    kl__curl_end_gathering(loop->other); /* it is a watch from now on */
    assert_in_range(kl__curl_hold_ms(loop->list), 1, alone_ms - 1);
}

static void an_answer_is_not_held_back(void **state)
{
    idle_loop *loop = *state;

    receive(loop->list, LONG_LIST, PIECE);
    loop->other->head.complete = false;
    assert_int_equal(kl__curl_hold_ms(loop->list), 0);
    loop->other->head.complete = true;
    loop->other->is_brief = true;
    assert_int_equal(kl__curl_hold_ms(loop->list), 0);
    loop->other->local_port = 4321; /* it comes over another connection */
    assert_true(kl__curl_hold_ms(loop->list) > 0);
    loop->other->attempts = 0; /* it may get this one */
    assert_int_equal(kl__curl_hold_ms(loop->list), 0);
    curl_easy_cleanup(loop->other->easy);
    loop->other->easy = NULL; /* it has ended */
    assert_true(kl__curl_hold_ms(loop->list) > 0);
}

static void over_http1_a_connection_has_one_list(void **state)
{
    idle_loop *loop = *state;

    loop->list->head.response.http2 = false;
    loop->other->is_brief = true;
    receive(loop->list, LONG_LIST, PIECE);
    assert_true(kl__curl_hold_ms(loop->list) > 0);
}

static void a_closed_socket_is_forgotten(void **state)
{
    idle_loop *loop = *state;

    receive(loop->list, LONG_LIST, PIECE);
    kl__curl_note_socket(&loop->transport, 7);
    loop->list->socket = 7;
    kl__curl_forget_socket(&loop->transport, 7);
    assert_int_equal(loop->list->socket, -1);
    for (int i = 0; i < KL__CURL_SOCKETS; i++) {
        assert_int_equal(loop->transport.sockets[i], -1);
    }
}

static void without_tls_nothing_is_held_back(void **state)
{
    idle_loop *loop = *state;

    loop->list->secure = false;
    receive(loop->list, LONG_LIST, PIECE);
    assert_false(kl__curl_holds_back(loop->list));
    assert_false(loop->transport.is_flowing);
}

/* ---- all of it ---- */

static certificate authority, identity;

static int make_certificates(void **state)
{
    (void)state;
    authority = certificate_authority("our authority");
    identity =
        certificate_sign(&authority, &(certificate_options){.ip = "127.0.0.1"});
    return 0;
}

static int drop_certificates(void **state)
{
    (void)state;
    certificate_clear(&identity);
    certificate_clear(&authority);
    return 0;
}

static int set_up_secure(void **state)
{
    fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->server = hostile_new(&(hostile_options){.identity = &identity});
    f->transport = new_transport();
    *state = f;
    return 0;
}

static kl__stream *ask_list(fixture *f)
{
    kl__tls *tls = kl__tls_new(&(kl__tls_options){.insecure = true});
    const kl__request request = {.method = "GET",
                                 .base_url = hostile_url(f->server),
                                 .target = "/list",
                                 .tls = tls,
                                 .gathers = true};
    kl__stream *stream = kl__transport_open(f->transport, &request, NULL);

    assert_non_null(stream);
    kl__tls_unref(tls);
    await_head(stream);
    return stream;
}

/* Reads `wanted` bytes, in ten seconds at most. */
static void read_bytes(kl__stream *stream, size_t wanted)
{
    static char bytes[64 * 1024];
    size_t count = 0, length;

    while (count < wanted) {
        size_t most = wanted - count;

        most = most < sizeof(bytes) ? most : sizeof(bytes);
        assert_int_equal(
            kl__stream_read(stream, bytes, most, &length, soon(), NULL, NULL),
            KL_OK);
        assert_true(length > 0);
        count += length;
    }
}

/* A record of 1 KB of TLS each. */
#define BYTES_64 \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BYTES_256 BYTES_64 BYTES_64 BYTES_64 BYTES_64
#define BYTES_1024 BYTES_256 BYTES_256 BYTES_256 BYTES_256

#define LIST(end)                                                              \
    STEPS(HOSTILE_STREAM, {.kind = HOSTILE_KIND_SEND, .bytes = "4b000\r\n"},   \
          {.kind = HOSTILE_KIND_FLOOD, .bytes = BYTES_1024, .total = 0x4b000}, \
          HOSTILE_TEXT("\r\n"), HOSTILE_GATE("more"),                          \
          HOSTILE_CHUNK("0123456"), end)

static void what_has_come_is_read_although_no_more_comes(void **state)
{
    fixture *f = *state;
    kl__stream *stream;

    hostile_on(f->server, "", LIST(HOSTILE_GATE("end")));
    stream = ask_list(f);
    read_bytes(stream, 0x4b000);
    hostile_open_gate(f->server, "more");
    read_bytes(stream, 7);
    kl__stream_close(stream);
    hostile_open_gate(f->server, "end");
}

static void wake_reader(void *arg)
{
    gate_pass(arg);
}

static int count_passed(gate *self)
{
    int count;

    kl__mutex_lock(&self->mutex);
    count = self->count;
    kl__mutex_unlock(&self->mutex);
    return count;
}

/* Reads `wanted` bytes, and sleeps until it is told of more. */
static void read_when_told(kl__stream *stream, gate *told, size_t wanted)
{
    static char bytes[64 * 1024];
    size_t count = 0, length;

    while (count < wanted) {
        int seen = count_passed(told);
        kl_code code = kl__stream_read(stream, bytes, sizeof(bytes), &length, 0,
                                       NULL, NULL);

        if (code == KL_ETIMEOUT) {
            assert_true(gate_await(told, seen + 1));
        } else {
            assert_int_equal(code, KL_OK);
            count += length;
        }
    }
    assert_int_equal(count, wanted);
}

static void a_reader_is_told_of_the_last_bytes(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    gate told;

    hostile_on(f->server, "", LIST(HOSTILE_GATE("end")));
    gate_init(&told);
    stream = ask_list(f);
    (void)kl__stream_set_hook(
        stream, &(kl__stream_hook){.wake = wake_reader, .arg = &told});
    read_when_told(stream, &told, 0x4b000);
    hostile_open_gate(f->server, "more");
    read_when_told(stream, &told, 7);
    kl__stream_close(stream);
    gate_deinit(&told);
    hostile_open_gate(f->server, "end");
}

static void a_list_that_breaks_off_ends(void **state)
{
    fixture *f = *state;
    kl__stream *stream;

    hostile_on(f->server, "", LIST({.kind = HOSTILE_KIND_CLOSE}));
    stream = ask_list(f);
    read_bytes(stream, 0x4b000);
    hostile_open_gate(f->server, "more");
    read_bytes(stream, 7);
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_EUNAVAILABLE);
}

static void a_list_can_be_closed_while_it_gathers(void **state)
{
    fixture *f = *state;
    kl__stream *stream;

    hostile_on(f->server, "", LIST(HOSTILE_GATE("end")));
    stream = ask_list(f);
    read_bytes(stream, LONG_LIST / 2);
    kl__stream_close(stream);
    hostile_open_gate(f->server, "more");
    hostile_open_gate(f->server, "end");
}

int main(void)
{
#define IDLE(name) \
    cmocka_unit_test_setup_teardown(name, set_up_idle, tear_down_idle)
#define SERVED(name) \
    cmocka_unit_test_setup_teardown(name, set_up_secure, tear_down)
    const struct CMUnitTest tests[] = {
        IDLE(a_short_list_is_not_held_back),
        IDLE(a_long_list_is_held_back_until_there_is_much),
        IDLE(a_list_is_held_back_for_a_limited_time),
        IDLE(nothing_is_held_back_once_the_list_is_complete),
        IDLE(an_end_and_a_pause_are_not_held_back),
        IDLE(a_connection_of_lists_only_waits_longest),
        IDLE(an_answer_is_not_held_back),
        IDLE(over_http1_a_connection_has_one_list),
        IDLE(a_closed_socket_is_forgotten),
        IDLE(without_tls_nothing_is_held_back),
        SERVED(what_has_come_is_read_although_no_more_comes),
        SERVED(a_reader_is_told_of_the_last_bytes),
        SERVED(a_list_that_breaks_off_ends),
        SERVED(a_list_can_be_closed_while_it_gathers),
    };

    return cmocka_run_group_tests(tests, make_certificates, drop_certificates);
}
