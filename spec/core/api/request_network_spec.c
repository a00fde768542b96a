/*
 * request_network_spec.c - requests over curl, to servers that break off, hold
 * back, or never get so far as to be sent anything; and writes over HTTP/2 that
 * a server refuses: unprocessed, which are sent again, and with a status, which
 * is their outcome.
 */
#include "kubelua/request.h"

#include "client_rig.h"
#include "hostile_server.h"
#include "http_client.h"
#include "kube_script.h"

#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY = 150, MOST = 100, TOO_LARGE = 65 * 1024 * 1024 };

/* Bytes of a stream that do not fit into the buffers of two sockets: Linux lets
   a receive buffer grow to 32 MB (tcp_rmem), and a sender's to 4 (tcp_wmem). */
enum { LONG = 64 * 1024 * 1024, REFUSAL = LONG / 2 };

typedef struct world {
    hostile_server *server;
    kl_client *client;
    kl_error err;
} world;

static kl_client *connect(const char *url)
{
    kl_config *config = kl_config_load(
        &(kl_config_options){.server = url,
                             .insecure = strncmp(url, "https", 5) == 0},
        NULL);
    kl_client *client = kl_client_new(
        &(kl_client_options){.config = config,
                             .shares_thread = clients_share_a_thread()},
        NULL);

    assert_non_null(client);
    kl_config_unref(config);
    return client;
}

static int set_up_network(void **state)
{
    static world shared;

    shared = (world){
        .server = hostile_new(&(hostile_options){.send_buffer = 1024 * 1024})};
    shared.client = connect(hostile_url(shared.server));
    *state = &shared;
    return 0;
}

static int tear_down_network(void **state)
{
    world *self = *state;

    kl_client_unref(self->client);
    hostile_free(self->server);
    assert_int_equal(kl_live_count(KL_LIVE_REQUEST), 0);
    assert_nothing_lives();
    return 0;
}

static kl_request *send_it(world *self, const kl_call *call)
{
    kl_request *request =
        kl_client_send(self->client, call, NULL, NULL, &self->err);

    if (request == NULL) {
        fail_msg("%s", self->err.message);
    }
    return request;
}

/* Waits for it and frees it; the status, or 0 and the error in the world. */
static int status_of(world *self, kl_request *request)
{
    kl_reply reply;
    int status;

    assert_int_equal(kl_request_wait(request, 60000), KL_OK);
    self->err = (kl_error){0};
    (void)kl_request_result(request, &reply, &self->err);
    status = reply.status;
    kl_reply_clear(&reply);
    kl_request_free(request);
    return status;
}

static kl_code failure_of(world *self, const kl_call *call)
{
    assert_int_equal(status_of(self, send_it(self, call)), 0);
    return self->err.code;
}

static void connections_of_requests_in_http1_are_bounded(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/x"};
    kl_request *requests[MANY];

    hostile_always(self->server, "GET /x",
                   STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, "{}")));
    for (int i = 0; i < MANY; i++) {
        requests[i] = send_it(self, &call);
    }
    assert_true(hostile_await_gate(self->server, "go", MOST));
    assert_int_equal(hostile_connections(self->server), MOST);
    hostile_open_gate(self->server, "go");
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(status_of(self, requests[i]), 200);
    }
    assert_int_equal(hostile_requests(self->server, "GET /x"), MANY);
}

/* libcurl alone would send it again: the connection was there before. */
static void a_write_on_a_connection_that_died_is_sent_once(void **state)
{
    static const char *const writes[] = {"POST", "PUT", "PATCH", "DELETE"};
    world *self = *state;
    const kl_call get = {.method = "GET", .target = "/first"};

    hostile_always(self->server, "GET /first",
                   STEPS(HOSTILE_ANSWER(200, "{}")));
    hostile_always(self->server, "/second", STEPS(HOSTILE_RESET));
    for (size_t i = 0; i < 4; i++) {
        const kl_call call = {.method = writes[i], .target = "/second"};

        assert_int_equal(status_of(self, send_it(self, &get)), 200);
        assert_int_equal(failure_of(self, &call), KL_EUNKNOWN);
        assert_int_equal(hostile_requests(self->server, "/second"), i + 1);
    }
}

static void a_read_on_a_connection_that_died_is_sent_again(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/x"};

    hostile_on(self->server, "GET /x", STEPS(HOSTILE_RESET));
    hostile_on(self->server, "GET /x",
               STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"
                                  "\r\nhalf"),
                     HOSTILE_CLOSE));
    hostile_on(self->server, "GET /x", STEPS(HOSTILE_ANSWER(200, "whole")));
    assert_int_equal(status_of(self, send_it(self, &call)), 200);
    assert_int_equal(hostile_requests(self->server, "GET /x"), 3);
}

static void a_write_that_is_never_sent_is_not_unknown(void **state)
{
    static const peer_kind kinds[] = {PEER_BLACKHOLE, PEER_NO_TLS};
    world *self = *state;

    for (size_t i = 0; i < 2; i++) {
        peer *away = peer_new(kinds[i], true);
        kl_call call = {.method = "POST", .target = "/x", .timeout_ms = 50};
        kl_request *request;

        kl_client_unref(self->client);
        self->client = connect(away->url);
        assert_int_equal(failure_of(self, &call), KL_ETIMEOUT);
        call.timeout_ms = 0;
        request = send_it(self, &call);
        kl_request_cancel(request);
        assert_int_equal(status_of(self, request), 0);
        assert_int_equal(self->err.code, KL_ECANCELED);
        request = send_it(self, &call);
        kl_client_close(self->client);
        assert_int_equal(status_of(self, request), 0);
        assert_int_equal(self->err.code, KL_ECLOSED);
        peer_free(away);
    }
}

static void an_answer_over_64_mb_is_too_large(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "PUT", .target = "/x"};

    hostile_on(self->server, "PUT /x",
               STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\n"
                                  "Content-Length: 99999999\r\n\r\n"),
                     HOSTILE_FLOOD("0123456789abcdef0123456789abcdef0123456789"
                                   "abcdef0123456789abcdef",
                                   TOO_LARGE)));
    assert_int_equal(failure_of(self, &call), KL_ETOO_LARGE);
    assert_int_equal(self->err.http_status, 200);
}

/* The head of the 429 was read, as its body does not fit into the window. */
static void a_cancel_during_a_429_does_not_wait_for_its_pause(void **state)
{
    world *self = *state;
    const kl_call call = {
        .method = "GET", .target = "/x", .timeout_ms = 120000};
    kl_request *request;

    hostile_on(self->server, "GET /x",
               STEPS(HOSTILE_TEXT("HTTP/1.1 429 Too Many Requests\r\n"
                                  "Retry-After: 90\r\n"
                                  "Content-Length: 99999999\r\n\r\n"),
                     HOSTILE_FLOOD("0123456789abcde\n", REFUSAL),
                     HOSTILE_GATE("go")));
    request = send_it(self, &call);
    assert_true(hostile_await_gate(self->server, "go", 1));
    kl_request_cancel(request);
    assert_int_equal(kl_request_wait(request, 30000), KL_OK);
    assert_int_equal(status_of(self, request), 429);
    hostile_open_gate(self->server, "go");
}

/* How many bytes of a stream are read until its end, waiting by its tag. */
static size_t read_whole(kl_request *request, kl_event_queue *queue)
{
    static char bytes[64 * 1024];
    size_t length, all = 0;

    for (;;) {
        kl_code code =
            kl_request_read(request, bytes, sizeof(bytes), &length, NULL);

        if (code == KL_ETIMEOUT) {
            while (kl_event_queue_next(queue) == NULL) {
                assert_int_equal(kl_event_queue_wait(queue, 60000), KL_OK);
            }
            continue;
        }
        assert_int_equal(code, KL_OK);
        if (length == 0) {
            return all;
        }
        all += length;
    }
}

static void an_unread_stream_stops_no_other_request(void **state)
{
    world *self = *state;
    const kl_call log = {.method = "GET", .target = "/log", .streams = true};
    const kl_call call = {.method = "GET", .target = "/x"};
    kl_event_queue *queue = kl_event_queue_new(NULL);
    kl_request *request;

    hostile_on(self->server, "GET /log",
               STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\n"
                                  "Content-Length: 67108864\r\n\r\n"),
                     HOSTILE_FLOOD("0123456789abcde\n", LONG)));
    hostile_always(self->server, "GET /x", STEPS(HOSTILE_ANSWER(200, "{}")));
    request = kl_client_send(self->client, &log, queue, &queue, NULL);
    assert_non_null(request);
    assert_true(hostile_await_stall(self->server));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(status_of(self, send_it(self, &call)), 200);
    }
    assert_int_equal(kl_request_wait(request, 60000), KL_OK);
    assert_int_equal(read_whole(request, queue), LONG);
    kl_request_free(request);
    kl_event_queue_free(queue);
}

/* Frees everything in the child, as a script's collector would. */
static int give_back(kl_client *client, kl_request *request)
{
    const kl_call call = {.method = "GET", .target = "/x"};
    kl_reply reply;
    kl_error err = {0};
    size_t length;
    char byte;

    if (kl_request_is_complete(request) ||
        kl_request_wait(request, -1) != KL_EFORKED ||
        kl_request_result(request, &reply, &err) != KL_EFORKED ||
        kl_request_read(request, &byte, 1, &length, &err) != KL_EFORKED ||
        kl_client_send(client, &call, NULL, NULL, &err) != NULL ||
        err.code != KL_EFORKED) {
        return 1;
    }
    kl_request_cancel(request);
    kl_request_free(request);
    kl_client_close(client);
    kl_client_unref(client);
    return 0;
}

static void a_child_of_fork_waits_for_no_request(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/x"};
    kl_request *request;
    int status = -1;
    pid_t child;

    hostile_on(self->server, "GET /x",
               STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, "{}")));
    request = send_it(self, &call);
    assert_true(hostile_await_gate(self->server, "go", 1));
    child = fork();
    if (child == 0) {
        alarm(20); /* a call that waits for ever ends the child */
        _exit(give_back(self->client, request));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    hostile_open_gate(self->server, "go");
    assert_int_equal(status_of(self, request), 200);
}

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_network, tear_down_network)

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

typedef struct http2_world {
    certificate authority, identity;
    hostile_server *server;
    kl_client *client;
    int timeout_ms;
    kl_error err;
} http2_world;

static int set_up_client(void **state)
{
    http2_world *self = calloc(1, sizeof(*self));
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
    self->client = kl_client_new(
        &(kl_client_options){.config = config,
                             .shares_thread = clients_share_a_thread()},
        NULL);
    kl_config_unref(config);
    self->timeout_ms = 20000;
    *state = self;
    return 0;
}

static int free_client(void **state)
{
    http2_world *self = *state;

    kl_client_unref(self->client);
    hostile_free(self->server);
    certificate_clear(&self->authority);
    certificate_clear(&self->identity);
    free(self);
    assert_int_equal(kl_live_count(KL_LIVE_REQUEST), 0);
    assert_nothing_lives();
    return 0;
}

/* The status of the answer; 0: the error is in the http2_world. */
static int send_write(http2_world *self, const char *method)
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
    http2_world *self = *state;

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
    http2_world *self = *state;
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
    http2_world *self = *state;

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
    http2_world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"),
                            RST_STREAM(INTERNAL_ERROR), HOSTILE_FREEZE));
    assert_int_equal(send_write(self, "POST"), 0);
    assert_int_equal(self->err.code, KL_EUNKNOWN);
    assert_int_equal(hostile_connections(self->server), 1);
}

/* ---- refused with a status ---- */

static void assert_outcome_413(http2_world *self)
{
    if (send_write(self, "POST") != 413) {
        fail_msg("%s", self->err.message);
    }
}

static void a_refusal_whose_stream_is_reset_is_the_outcome(void **state)
{
    http2_world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"), HEAD_413,
                            HALF_A_BODY, RST_STREAM(NO_ERROR), HOSTILE_FREEZE));
    assert_outcome_413(self);
}

static void a_refusal_on_a_connection_that_breaks_is_the_outcome(void **state)
{
    http2_world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"), HEAD_413,
                            HALF_A_BODY, HOSTILE_CLOSE));
    assert_outcome_413(self);
}

static void a_refusal_whose_body_never_ends_is_the_outcome(void **state)
{
    http2_world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"), HEAD_413,
                            HALF_A_BODY, HOSTILE_FREEZE));
    self->timeout_ms = 1000;
    assert_outcome_413(self);
}

static void a_success_whose_body_breaks_off_says_that_it_is_done(void **state)
{
    http2_world *self = *state;

    hostile_on_accept(self->server,
                      STEPS(SETTINGS, HOSTILE_AWAIT("mark"), HEAD_201,
                            HALF_A_BODY, HOSTILE_CLOSE));
    assert_int_equal(send_write(self, "POST"), 0);
    assert_int_equal(self->err.code, KL_EUNKNOWN);
    assert_int_equal(self->err.http_status, 201);
    assert_non_null(strstr(self->err.message, "was carried out"));
}

#define HTTP2_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_client, free_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(connections_of_requests_in_http1_are_bounded),
        SPEC(a_write_on_a_connection_that_died_is_sent_once),
        SPEC(a_read_on_a_connection_that_died_is_sent_again),
        SPEC(a_write_that_is_never_sent_is_not_unknown),
        SPEC(an_answer_over_64_mb_is_too_large),
        SPEC(a_cancel_during_a_429_does_not_wait_for_its_pause),
        SPEC(an_unread_stream_stops_no_other_request),
        SPEC(a_child_of_fork_waits_for_no_request),
        HTTP2_SPEC(a_write_that_was_refused_unprocessed_is_sent_again),
        HTTP2_SPEC(a_goaway_refuses_only_the_streams_above_its_last),
        HTTP2_SPEC(a_write_that_is_always_refused_is_not_unknown),
        HTTP2_SPEC(a_stream_reset_for_another_reason_is_unknown),
        HTTP2_SPEC(a_refusal_whose_stream_is_reset_is_the_outcome),
        HTTP2_SPEC(a_refusal_on_a_connection_that_breaks_is_the_outcome),
        HTTP2_SPEC(a_refusal_whose_body_never_ends_is_the_outcome),
        HTTP2_SPEC(a_success_whose_body_breaks_off_says_that_it_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
