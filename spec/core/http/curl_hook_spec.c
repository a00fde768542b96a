/*
 * curl_hook_spec.c - a reader that must not block, and can do nothing with a
 * part of an answer: when it is told, and what close does afterwards.
 */
#include "http/transport.h"

#include "hostile_server.h"
#include "http_client.h"

#include "base/clock.h"
#include "base/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { REST = 256 * 1024, LONG_ANSWER = 96 * 1024 };

/* Counts how often it was told. */
typedef struct ear {
    kl__mutex mutex;
    kl__cond cond;
    int count;
} ear;

static void hear(void *arg)
{
    ear *self = arg;

    kl__mutex_lock(&self->mutex);
    self->count++;
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

static void init_ear(ear *self)
{
    *self = (ear){.count = 0};
    kl__mutex_init(&self->mutex, KL__RANK_NEWS);
    kl__cond_init(&self->cond);
}

static void deinit_ear(ear *self)
{
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
}

static int count_of(ear *self)
{
    int count;

    kl__mutex_lock(&self->mutex);
    count = self->count;
    kl__mutex_unlock(&self->mutex);
    return count;
}

static void await_count(ear *self, int count)
{
    int64_t deadline = soon();
    bool in_time = true;

    kl__mutex_lock(&self->mutex);
    while (in_time && self->count < count) {
        in_time = kl__cond_wait(&self->cond, &self->mutex, deadline);
    }
    kl__mutex_unlock(&self->mutex);
    assert_true(in_time);
}

/* A stream whose reader is told of the end. */
static kl__stream *ask_for_all(fixture *f, ear *heard)
{
    const kl__stream_hook hook = {.wake = hear, .arg = heard, .at_end = true};
    kl__stream *stream;

    init_ear(heard);
    stream = ask(f, "/");
    assert_false(kl__stream_set_hook(stream, &hook));
    return stream;
}

static char read_byte(kl__stream *stream)
{
    char byte = 0;
    size_t length;

    assert_int_equal(
        kl__stream_read(stream, &byte, 1, &length, soon(), NULL, NULL), KL_OK);
    assert_int_equal(length, 1);
    return byte;
}

static void a_part_of_a_body_does_not_wake_a_reader_of_the_whole(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    ear heard;

    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("head"), HOSTILE_STREAM, HOSTILE_CHUNK("x"),
                     HOSTILE_GATE("end"), HOSTILE_CHUNK("y"),
                     HOSTILE_STREAM_END));
    stream = ask_for_all(f, &heard);
    hostile_open_gate(f->server, "head");
    await_head(stream);
    assert_int_equal(read_byte(stream), 'x');
    assert_int_equal(count_of(&heard), 0);
    hostile_open_gate(f->server, "end");
    await_count(&heard, 1);
    assert_int_equal(read_byte(stream), 'y');
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
    assert_int_equal(count_of(&heard), 1);
    deinit_ear(&heard);
}

/* With a byte unread, the next piece that curl has, of 16 KB, does not fit. It
 * is sent in one piece: of several, the first would be news of its own. */
static void a_reader_of_the_whole_is_woken_when_its_window_is_full(void **state)
{
    fixture *f = *state;
    const kl__request request = {.method = "GET",
                                 .base_url = hostile_url(f->server),
                                 .target = "/",
                                 .window = 16 * 1024};
    kl__stream_hook hook = {.wake = hear, .at_end = true};
    kl__stream *stream;
    kl__buf body = {0};
    static char rest[REST + 1];
    ear heard;

    memset(rest, 'z', REST);
    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("head"),
                     HOSTILE_TEXT("HTTP/1.1 200 OK\r\nConnection: close"
                                  "\r\n\r\nxy"),
                     HOSTILE_GATE("rest"), HOSTILE_TEXT(rest), HOSTILE_CLOSE));
    init_ear(&heard);
    hook.arg = &heard;
    stream = kl__transport_open(f->transport, &request, NULL);
    assert_non_null(stream);
    assert_false(kl__stream_set_hook(stream, &hook));
    hostile_open_gate(f->server, "head");
    await_head(stream);
    assert_int_equal(read_byte(stream), 'x');
    assert_int_equal(count_of(&heard), 0);
    hostile_open_gate(f->server, "rest");
    await_count(&heard, 1);
    assert_int_equal(read_to_end(stream, &body, NULL), KL_OK);
    assert_int_equal(body.length, 1 + REST);
    kl__buf_deinit(&body);
    deinit_ear(&heard);
}

static void set_hook_returns_true_if_the_response_has_arrived(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    kl__stream_hook hook = {.wake = hear, .at_end = true};
    ear heard;

    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "x")));
    init_ear(&heard);
    hook.arg = &heard;
    stream = ask(f, "/");
    await_head(stream);
    assert_true(kl__stream_set_hook(stream, &hook));
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
    deinit_ear(&heard);
}

/* The loop has left it: close frees it, with what was not read. */
static void a_stream_can_be_closed_when_its_end_was_reported(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    ear heard;

    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, "x")));
    stream = ask_for_all(f, &heard);
    hostile_open_gate(f->server, "go");
    await_count(&heard, 1);
    kl__stream_close(stream);
    deinit_ear(&heard);
}

/* A reader that takes the answer on the transport's thread. */
typedef struct taker {
    kl__stream *stream;
    ear woken;
    ear held;
    ear ended;
    kl__buf body;
    kl_code code; /* how the body ended */
} taker;

static void hear_wake(void *arg)
{
    hear(&((taker *)arg)->woken);
}

static void hear_hold(void *arg)
{
    hear(&((taker *)arg)->held);
}

static void take_all(void *arg)
{
    taker *self = arg;

    self->code = read_to_end(self->stream, &self->body, NULL); /* closes */
    hear(&self->ended);
}

static void open_taken(fixture *f, taker *self)
{
    const kl__stream_hook hook = {.wake = hear_wake,
                                  .hold = hear_hold,
                                  .end = take_all,
                                  .arg = self,
                                  .at_end = true};
    const kl__request request = {
        .method = "GET", .base_url = hostile_url(f->server), .target = "/"};

    *self = (taker){.code = KL_ETIMEOUT};
    init_ear(&self->woken);
    init_ear(&self->held);
    init_ear(&self->ended);
    self->stream = kl__transport_open(f->transport, &request, NULL);
    assert_non_null(self->stream);
    assert_false(kl__stream_set_hook(self->stream, &hook));
}

static void free_taken(taker *self)
{
    kl__buf_deinit(&self->body);
    deinit_ear(&self->woken);
    deinit_ear(&self->held);
    deinit_ear(&self->ended);
}

static void a_short_answer_is_taken_and_closed_on_the_transport(void **state)
{
    fixture *f = *state;
    taker reader;

    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, "short")));
    open_taken(f, &reader);
    hostile_open_gate(f->server, "go");
    await_count(&reader.ended, 1);
    assert_int_equal(reader.code, KL_OK);
    assert_string_equal(reader.body.bytes, "short");
    assert_int_equal(count_of(&reader.held), 1);
    assert_int_equal(count_of(&reader.woken), 0);
    free_taken(&reader);
}

static void a_broken_answer_is_taken_on_the_transport(void **state)
{
    fixture *f = *state;
    taker reader;

    hostile_on(f->server, "", STEPS(HOSTILE_GATE("go"), HOSTILE_RESET));
    open_taken(f, &reader);
    hostile_open_gate(f->server, "go");
    await_count(&reader.ended, 1);
    assert_int_equal(reader.code, KL_EUNAVAILABLE);
    assert_int_equal(count_of(&reader.woken), 0);
    free_taken(&reader);
}

/* To decode it would hold up the other streams. */
static void a_long_answer_wakes_its_reader(void **state)
{
    fixture *f = *state;
    static char text[LONG_ANSWER + 1];
    taker reader;

    memset(text, 'z', LONG_ANSWER);
    hostile_on(f->server, "",
               STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, text)));
    open_taken(f, &reader);
    hostile_open_gate(f->server, "go");
    await_count(&reader.woken, 1);
    assert_int_equal(read_to_end(reader.stream, &reader.body, NULL), KL_OK);
    assert_int_equal(reader.body.length, LONG_ANSWER);
    assert_int_equal(count_of(&reader.held), 0);
    free_taken(&reader);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(a_part_of_a_body_does_not_wake_a_reader_of_the_whole),
        SPEC(a_reader_of_the_whole_is_woken_when_its_window_is_full),
        SPEC(set_hook_returns_true_if_the_response_has_arrived),
        SPEC(a_stream_can_be_closed_when_its_end_was_reported),
        SPEC(a_short_answer_is_taken_and_closed_on_the_transport),
        SPEC(a_broken_answer_is_taken_on_the_transport),
        SPEC(a_long_answer_wakes_its_reader),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
