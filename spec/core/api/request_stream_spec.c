/*
 * request_stream_spec.c - requests whose bodies are read as they come: bytes,
 * holding up, ends and failures, against a scripted transport.
 */
#include "client_rig.h"

#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BIG = 400 * 1024, ROOM = 256 };

typedef request_rig world;

static const kl_call follow = {
    .method = "GET", .target = "/log?follow=true", .streams = true};

/* Sends it and waits for the head of a stream that is answered with 200. */
static kl_request *open_stream(world *self)
{
    kl_request *request = request_send_call(self, &follow, self);
    kl_reply reply;

    assert_ptr_equal(request_next_tag(self), self);
    assert_int_equal(kl_request_result(request, &reply, &self->err), KL_OK);
    assert_int_equal(reply.status, 200);
    assert_null(reply.body);
    assert_string_equal(kl_reply_header(&reply, "content-type"),
                        "application/json");
    kl_reply_clear(&reply);
    return request;
}

/* Reads what comes next, as a text: "" at the end. Waits by the tag. */
static const char *read_text(world *self, kl_request *request, kl_code *code)
{
    static char text[ROOM];
    size_t length;

    while ((*code = kl_request_read(request, text, ROOM - 1, &length,
                                    &self->err)) == KL_ETIMEOUT) {
        assert_ptr_equal(request_next_tag(self), self);
    }
    text[length] = '\0';
    return text;
}

static void expect_text(world *self, kl_request *request, const char *text)
{
    kl_code code;

    assert_string_equal(read_text(self, request, &code), text);
    assert_int_equal(code, KL_OK);
}

static void expect_failure(world *self, kl_request *request, kl_code expected)
{
    kl_code code;

    assert_string_equal(read_text(self, request, &code), "");
    assert_int_equal(code, expected);
    assert_int_equal(self->err.code, expected);
}

static void bytes_are_read_as_they_come(void **state)
{
    world *self = *state;
    kl_request *request;

    fake_transport_answer(self->fake, &(fake_answer){.end = FAKE_HOLD});
    request = open_stream(self);
    for (int i = 0; i < 3; i++) {
        fake_transport_send(self->fake, 0, "a line\n");
        expect_text(self, request, "a line\n");
    }
    fake_transport_send(self->fake, 0, "the last\n");
    fake_transport_finish(self->fake, 0, FAKE_CLOSE);
    expect_text(self, request, "the last\n");
    expect_text(self, request, "");
    expect_text(self, request, "");
    kl_request_free(request);
}

static void a_stream_lasts_longer_than_the_timeout_of_its_head(void **state)
{
    world *self = *state;
    kl_call call = follow;
    kl_request *request, *other;
    kl_reply reply;

    call.timeout_ms = 20;
    fake_transport_answer(self->fake, &(fake_answer){.end = FAKE_HOLD});
    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    request = request_send_call(self, &call, self);
    assert_int_equal(kl_request_wait(request, -1), KL_OK);
    /* Another of the same timeout, sent later, is over. */
    other = request_send_call(self, &call, &call);
    assert_int_equal(kl_request_wait(other, -1), KL_OK);
    assert_int_equal(kl_request_result(other, &reply, NULL), KL_ETIMEOUT);
    kl_request_free(other);
    assert_int_equal(kl_request_result(request, &reply, NULL), KL_OK);
    kl_reply_clear(&reply);
    fake_transport_send(self->fake, 0, "late");
    expect_text(self, request, "late");
    kl_request_free(request);
}

/* Has the loop carry out another request. */
static void ask_another(world *self)
{
    const kl_call call = {.method = "GET", .target = "/"};
    kl_reply reply;

    assert_int_equal(kl_client_call(self->client, &call, &reply, NULL), KL_OK);
    kl_reply_clear(&reply);
}

static void an_unread_stream_stops_alone(void **state)
{
    world *self = *state;
    char *big = calloc(1, BIG + 1), *got = malloc(BIG);
    kl_request *request;
    size_t length, all = 0, looks;
    kl_code code;

    memset(big, 'x', BIG);
    fake_transport_answer(
        self->fake,
        &(fake_answer){.body = big, .end = FAKE_CLOSE, .is_restless = true});
    request = open_stream(self);
    ask_another(self);
    looks = fake_transport_request(self->fake, 0).looks;
    /* Others are answered meanwhile, by the same loop; it does not spin. */
    for (int i = 0; i < 3; i++) {
        ask_another(self);
    }
    assert_true(fake_transport_request(self->fake, 0).taken <= 64 * 1024);
    assert_true(fake_transport_request(self->fake, 0).looks <= looks + 1);
    for (;;) {
        code = kl_request_read(request, got, BIG, &length, &self->err);
        if (code == KL_ETIMEOUT) {
            assert_ptr_equal(request_next_tag(self), self);
        } else if (length == 0) {
            break;
        }
        all += length;
    }
    assert_int_equal(code, KL_OK);
    assert_int_equal(all, BIG);
    kl_request_free(request);
    free(big);
    free(got);
}

static void bytes_before_a_break_are_read_first(void **state)
{
    world *self = *state;
    kl_request *request;

    fake_transport_answer(self->fake,
                          &(fake_answer){.body = "half", .end = FAKE_BREAK});
    request = open_stream(self);
    expect_text(self, request, "half");
    expect_failure(self, request, KL_EUNAVAILABLE);
    expect_failure(self, request, KL_EUNAVAILABLE);
    kl_request_free(request);
    assert_int_equal(fake_transport_count(self->fake), 1);
}

static void a_refused_stream_is_complete_with_its_body(void **state)
{
    world *self = *state;
    kl_request *request;
    kl_reply reply;
    char byte;
    size_t length;

    fake_transport_answer(self->fake,
                          &(fake_answer){.status = 429, .retry_after_ms = 1});
    fake_transport_answer(self->fake,
                          &(fake_answer){.status = 403, .body = "no"});
    request = request_send_call(self, &follow, self);
    assert_ptr_equal(request_next_tag(self), self);
    assert_int_equal(kl_request_result(request, &reply, NULL), KL_OK);
    assert_int_equal(reply.status, 403);
    assert_string_equal(reply.body, "no");
    kl_reply_clear(&reply);
    assert_int_equal(kl_request_read(request, &byte, 1, &length, NULL), KL_OK);
    assert_int_equal(length, 0);
    kl_request_free(request);
}

static void cancelling_ends_a_stream_at_once(void **state)
{
    world *self = *state;
    kl_request *request;

    fake_transport_answer(self->fake,
                          &(fake_answer){.body = "unread", .end = FAKE_HOLD});
    request = open_stream(self);
    kl_request_cancel(request);
    expect_failure(self, request, KL_ECANCELED);
    assert_true(fake_transport_await_closed(self->fake, 0));
    expect_failure(self, request, KL_ECANCELED);
    kl_request_free(request);
}

static void closing_the_client_ends_a_stream_at_once(void **state)
{
    world *self = *state;
    kl_request *request;

    fake_transport_answer(self->fake,
                          &(fake_answer){.body = "unread", .end = FAKE_HOLD});
    request = open_stream(self);
    kl_client_close(self->client);
    expect_failure(self, request, KL_ECLOSED);
    assert_true(fake_transport_await_closed(self->fake, 0));
    expect_failure(self, request, KL_ECLOSED);
    kl_request_free(request);
}

static void the_tag_of_a_stream_that_waits_comes_with_its_end(void **state)
{
    world *self = *state;
    kl_request *request;
    char byte;
    size_t length;

    fake_transport_answer(self->fake, &(fake_answer){.end = FAKE_HOLD});
    request = open_stream(self);
    assert_int_equal(kl_request_read(request, &byte, 1, &length, &self->err),
                     KL_ETIMEOUT);
    assert_null(kl_event_queue_next(self->queue));
    fake_transport_finish(self->fake, 0, FAKE_CLOSE);
    assert_ptr_equal(request_next_tag(self), self);
    assert_int_equal(kl_request_read(request, &byte, 1, &length, &self->err),
                     KL_OK);
    assert_int_equal(length, 0);
    kl_request_free(request);
}

static void a_stream_is_freed_while_it_goes_on(void **state)
{
    world *self = *state;
    kl_request *request;

    fake_transport_answer(self->fake,
                          &(fake_answer){.body = "unread", .end = FAKE_HOLD});
    request = open_stream(self);
    kl_request_free(request);
    assert_true(fake_transport_await_closed(self->fake, 0));
}

static void only_a_stream_is_read(void **state)
{
    world *self = *state;
    const kl_call call = follow;
    kl_request *request = request_send_it(self, "GET", "/");
    kl_reply reply;
    char byte;
    size_t length;

    assert_int_equal(kl_request_wait(request, -1), KL_OK);
    assert_int_equal(kl_request_read(request, &byte, 1, &length, &self->err),
                     KL_EINVAL);
    kl_request_free(request);
    assert_int_equal(kl_client_call(self->client, &call, &reply, &self->err),
                     KL_EINVAL);
}

#define SPEC(name)                                            \
    cmocka_unit_test_setup_teardown(name, request_rig_set_up, \
                                    request_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(bytes_are_read_as_they_come),
        SPEC(a_stream_lasts_longer_than_the_timeout_of_its_head),
        SPEC(an_unread_stream_stops_alone),
        SPEC(bytes_before_a_break_are_read_first),
        SPEC(a_refused_stream_is_complete_with_its_body),
        SPEC(cancelling_ends_a_stream_at_once),
        SPEC(closing_the_client_ends_a_stream_at_once),
        SPEC(the_tag_of_a_stream_that_waits_comes_with_its_end),
        SPEC(a_stream_is_freed_while_it_goes_on),
        SPEC(only_a_stream_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
