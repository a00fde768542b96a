/*
 * request_network_spec.c - requests over curl, to servers that break off, hold
 * back, or never get so far as to be sent anything.
 */
#include "kubelua/request.h"

#include "hostile_server.h"
#include "kubelua/memory.h"
#include "kube_script.h"
#include "client_rig.h"

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
enum { LONG = 64 * 1024 * 1024 };

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
    kl_client *client =
        kl_client_new(&(kl_client_options){.config = config}, NULL);

    assert_non_null(client);
    kl_config_unref(config);
    return client;
}

static int set_up(void **state)
{
    static world shared;

    shared = (world){
        .server = hostile_new(&(hostile_options){.send_buffer = 1024 * 1024})};
    shared.client = connect(hostile_url(shared.server));
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
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

#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(connections_of_requests_in_http1_are_bounded),
        SPEC(a_write_on_a_connection_that_died_is_sent_once),
        SPEC(a_read_on_a_connection_that_died_is_sent_again),
        SPEC(a_write_that_is_never_sent_is_not_unknown),
        SPEC(an_answer_over_64_mb_is_too_large),
        SPEC(an_unread_stream_stops_no_other_request),
        SPEC(a_child_of_fork_waits_for_no_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
