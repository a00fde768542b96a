/*
 * request_http2_spec.c - writes over HTTP/2 that a server refuses: unprocessed,
 * which are sent again; and with a status, which is their outcome.
 */
#include "kubelua/request.h"

#include "hostile_server.h"
#include "http_client.h"
#include "kubelua/memory.h"
#include "client_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a server of HTTP/2 sends first: its settings, and that it has those of
 * the client. */
#define SETTINGS                                                             \
    HOSTILE_AWAIT("PRI * HTTP/2.0"), HOSTILE_BYTES("\0\0\0\x04\0\0\0\0\0"    \
                                                   "\0\0\0\x04\x01\0\0\0\0", \
                                                   18)
/* A frame of a type, with flags, of the first stream; `length` below 256. */
#define FRAME(length, type, flags, payload)                      \
    HOSTILE_BYTES("\0\0" length type flags "\0\0\0\x01" payload, \
                  9 + sizeof(payload) - 1)
#define RST_STREAM(code) FRAME("\x04", "\x03", "\0", "\0\0\0" code)
#define NO_ERROR "\0"
#define INTERNAL_ERROR "\x02"
#define REFUSED_STREAM "\x07"
#define GOAWAY_BEFORE_ALL                  \
    HOSTILE_BYTES("\0\0\x08\x07\0\0\0\0\0" \
                  "\0\0\0\0"               \
                  "\0\0\0\0",              \
                  17)
#define GOAWAY_AFTER_FIRST                 \
    HOSTILE_BYTES("\0\0\x08\x07\0\0\0\0\0" \
                  "\0\0\0\x01"             \
                  "\0\0\0\0",              \
                  17)
/* In HPACK: ":status: 200", and the name of 413 by its index. */
#define HEAD_200 FRAME("\x01", "\x01", "\x04", "\x88")
#define HEAD_413                  \
    FRAME("\x05", "\x01", "\x04", \
          "\x08\x03"              \
          "413")
#define HEAD_201                  \
    FRAME("\x05", "\x01", "\x04", \
          "\x08\x03"              \
          "201")
#define BODY FRAME("\x02", "\0", "\x01", "{}")
#define HALF_A_BODY FRAME("\x02", "\0", "\0", "{\"")
#define TEXT "{\"a\":\"mark\"}"

typedef struct world {
    certificate authority, identity;
    hostile_server *server;
    kl_client *client;
    int timeout_ms;
    kl_error err;
} world;

static int set_up_client(void **state)
{
    world *self = calloc(1, sizeof(*self));
    kl_config *config;

    assert_non_null(self);
    self->authority = certificate_authority("authority");
    self->identity = certificate_sign(
        &self->authority, &(certificate_options){.ip = "127.0.0.1"});
    self->server = hostile_new(&(hostile_options){
        .identity = &self->identity, .http2 = true, .send_buffer = 1024});
    config =
        kl_config_load(&(kl_config_options){.server = hostile_url(self->server),
                                            .ca_data = self->authority.cert},
                       NULL);
    assert_non_null(config);
    self->client = kl_client_new(&(kl_client_options){.config = config}, NULL);
    kl_config_unref(config);
    self->timeout_ms = 20000;
    *state = self;
    return 0;
}

static int free_client(void **state)
{
    world *self = *state;

    kl_client_unref(self->client);
    hostile_free(self->server);
    certificate_clear(&self->authority);
    certificate_clear(&self->identity);
    free(self);
    assert_int_equal(kl_live_count(KL_LIVE_REQUEST), 0);
    assert_nothing_lives();
    return 0;
}

/* The status of the answer; 0: the error is in the world. */
static int send_write(world *self, const char *method)
{
    const kl_call call = {.method = method,
                          .target = "/x",
                          .body = TEXT,
                          .body_length = sizeof(TEXT) - 1,
                          .timeout_ms = self->timeout_ms};
    kl_reply reply;
    int status;

    self->err = (kl_error){0};
    (void)kl_client_call(self->client, &call, &reply, &self->err);
    status = reply.status;
    kl_reply_clear(&reply);
    return status;
}

/* ---- refused unprocessed ---- */

static void a_write_that_was_refused_unprocessed_is_sent_again(void **state)
{
    static const char *const writes[] = {"POST", "PUT", "PATCH", "DELETE"};
    world *self = *state;

    for (size_t i = 0; i < 4; i++) {
        hostile_on_accept(self->server,
                          STEPS(SETTINGS, HOSTILE_AWAIT("mark"),
                                RST_STREAM(REFUSED_STREAM), HOSTILE_FREEZE));
        hostile_on_accept(self->server,
                          STEPS(SETTINGS, HOSTILE_AWAIT("mark"),
                                GOAWAY_BEFORE_ALL, HOSTILE_FREEZE));
        /* The connection is not used again, and not closed: a close with bytes
         * unread is a reset, which may overtake the answer. */
        hostile_on_accept(self->server,
                          STEPS(SETTINGS, HOSTILE_AWAIT("mark"), HEAD_200,
                                GOAWAY_AFTER_FIRST, BODY, HOSTILE_FREEZE));
        if (send_write(self, writes[i]) != 200) {
            fail_msg("%s: %s", writes[i], self->err.message);
        }
        assert_int_equal(hostile_connections(self->server), 3 * (i + 1));
    }
}

/* The other stream goes on: curl itself sends the write again. */
static void a_goaway_refuses_only_the_streams_above_its_last(void **state)
{
    const kl_call call = {.method = "GET", .target = "/other"};
    world *self = *state;
    kl_request *other;
    kl_reply reply;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_GATE("the write"),
                            HOSTILE_AWAIT("mark"), GOAWAY_AFTER_FIRST,
                            HOSTILE_GATE("the other"), HEAD_200, BODY,
                            HOSTILE_FREEZE));
    hostile_on_accept(self->server, STEPS(SETTINGS, HOSTILE_AWAIT("mark"),
                                          HEAD_200, BODY, HOSTILE_FREEZE));
    other = kl_client_send(self->client, &call, NULL, NULL, &self->err);
    assert_non_null(other);
    assert_true(hostile_await_gate(self->server, "the write", 1));
    hostile_open_gate(self->server, "the write");
    if (send_write(self, "POST") != 200) {
        fail_msg("%s", self->err.message);
    }
    hostile_open_gate(self->server, "the other");
    assert_int_equal(kl_request_wait(other, 20000), KL_OK);
    assert_int_equal(kl_request_result(other, &reply, &self->err), KL_OK);
    assert_int_equal(reply.status, 200);
    kl_reply_clear(&reply);
    kl_request_free(other);
    assert_int_equal(hostile_connections(self->server), 2);
}

/* libcurl gives up at the sixth time: the server never carried it out. */
static void a_write_that_is_always_refused_is_not_unknown(void **state)
{
    enum { TRIES = 40 };
    world *self = *state;

    for (int i = 0; i < TRIES; i++) {
        hostile_on_accept(self->server,
                          STEPS(SETTINGS, HOSTILE_AWAIT("mark"),
                                RST_STREAM(REFUSED_STREAM), HOSTILE_FREEZE));
    }
    assert_int_equal(send_write(self, "POST"), 0);
    if (self->err.code != KL_EUNAVAILABLE) {
        print_error("%s\n", self->err.message);
    }
    assert_int_equal(self->err.code, KL_EUNAVAILABLE);
    assert_non_null(strstr(self->err.message, "refused"));
}

static void a_stream_reset_for_another_reason_is_unknown(void **state)
{
    world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"),
                            RST_STREAM(INTERNAL_ERROR), HOSTILE_FREEZE));
    assert_int_equal(send_write(self, "POST"), 0);
    assert_int_equal(self->err.code, KL_EUNKNOWN);
    assert_int_equal(hostile_connections(self->server), 1);
}

/* ---- refused with a status ---- */

static void assert_outcome_413(world *self)
{
    if (send_write(self, "POST") != 413) {
        fail_msg("%s", self->err.message);
    }
}

static void a_refusal_whose_stream_is_reset_is_the_outcome(void **state)
{
    world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"), HEAD_413,
                            HALF_A_BODY, RST_STREAM(NO_ERROR), HOSTILE_FREEZE));
    assert_outcome_413(self);
}

static void a_refusal_on_a_connection_that_breaks_is_the_outcome(void **state)
{
    world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"), HEAD_413,
                            HALF_A_BODY, HOSTILE_CLOSE));
    assert_outcome_413(self);
}

static void a_refusal_whose_body_never_ends_is_the_outcome(void **state)
{
    world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"), HEAD_413,
                            HALF_A_BODY, HOSTILE_FREEZE));
    self->timeout_ms = 1000;
    assert_outcome_413(self);
}

static void a_success_whose_body_breaks_off_says_that_it_is_done(void **state)
{
    world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"), HEAD_201,
                            HALF_A_BODY, HOSTILE_CLOSE));
    assert_int_equal(send_write(self, "POST"), 0);
    assert_int_equal(self->err.code, KL_EUNKNOWN);
    assert_int_equal(self->err.http_status, 201);
    assert_non_null(strstr(self->err.message, "was carried out"));
}

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_client, free_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_write_that_was_refused_unprocessed_is_sent_again),
        SPEC(a_goaway_refuses_only_the_streams_above_its_last),
        SPEC(a_write_that_is_always_refused_is_not_unknown),
        SPEC(a_stream_reset_for_another_reason_is_unknown),
        SPEC(a_refusal_whose_stream_is_reset_is_the_outcome),
        SPEC(a_refusal_on_a_connection_that_breaks_is_the_outcome),
        SPEC(a_refusal_whose_body_never_ends_is_the_outcome),
        SPEC(a_success_whose_body_breaks_off_says_that_it_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
