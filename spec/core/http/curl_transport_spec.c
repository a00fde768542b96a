/*
 * curl_transport_spec.c - requests and answers over HTTP/1.1, against a server
 * that says byte by byte what the specs want to hear; and many threads on one
 * transport, until it closes.
 */
#include "http/transport.h"

#include "hostile_server.h"
#include "http_client.h"

#include "base/buf.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

/* The whole answer to a GET, which has to be `text`. */
static void assert_answer(fixture *f, const char *target, const char *text)
{
    kl__stream *stream = ask(f, target);
    kl__buf body = {0};
    kl_error err = {0};
    kl_code code = read_to_end(stream, &body, &err);

    if (code != KL_OK) {
        print_error("%s\n", err.message);
    }
    assert_int_equal(code, KL_OK);
    assert_string_equal(body.bytes != NULL ? body.bytes : "", text);
    kl__buf_deinit(&body);
}

/* ---- answers ---- */

static void a_get_returns_status_type_and_body(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    kl__response response;

    hostile_on(f->server, "GET /version HTTP/1.1",
               STEPS(HOSTILE_ANSWER(203, "{\"major\":\"1\"}")));
    stream = ask(f, "/version");
    response = await_head(stream);
    assert_int_equal(response.status, 203);
    assert_string_equal(response.content_type, "application/json");
    assert_string_equal(response.warnings, "");
    assert_int_equal(response.retry_after_ms, -1);
    assert_false(response.http2);
    kl__stream_close(stream);
}

static void a_body_arrives_whole_for_all_chunk_sizes(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "",
               STEPS(HOSTILE_PIECES("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n"
                                    "\r\n0123456789",
                                    1)));
    hostile_on(f->server, "",
               STEPS(HOSTILE_PIECES("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                                    "chunked\r\n\r\n1\r\n0\r\n3;x=y\r\n123\r\n"
                                    "6\r\n456789\r\n0\r\nTrailer: x\r\n\r\n",
                                    1)));
    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nConnection: close\r\n"
                                  "\r\n0123456789"),
                     HOSTILE_CLOSE));
    assert_answer(f, "/a", "0123456789");
    assert_answer(f, "/b", "0123456789");
    assert_answer(f, "/c", "0123456789");
}

static void bytes_are_read_as_they_arrive(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    char bytes[64];
    size_t length;

    hostile_on(f->server, "",
               STEPS(HOSTILE_STREAM, HOSTILE_CHUNK("first"),
                     HOSTILE_GATE("more"), HOSTILE_CHUNK("second"),
                     HOSTILE_STREAM_END));
    stream = ask(f, "/");
    assert_int_equal(kl__stream_read(stream, bytes, sizeof(bytes), &length,
                                     soon(), NULL, NULL),
                     KL_OK);
    assert_memory_equal(bytes, "first", length);
    assert_true(hostile_await_gate(f->server, "more", 1));
    hostile_open_gate(f->server, "more");
    assert_int_equal(kl__stream_read(stream, bytes, sizeof(bytes), &length,
                                     soon(), NULL, NULL),
                     KL_OK);
    assert_memory_equal(bytes, "second", length);
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
}

static void interim_responses_and_trailers_are_ignored(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    kl__response response;

    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT(
                   "HTTP/1.1 103 Early Hints\r\nRetry-After: 7\r\n\r\n"
                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "2\r\nok\r\n0\r\nWarning: 299 - \"late\"\r\n\r\n")));
    stream = ask(f, "/");
    response = await_head(stream);
    assert_int_equal(response.status, 200);
    assert_int_equal(response.retry_after_ms, -1);
    assert_string_equal(response.warnings, "");
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
}

static void an_empty_body_ends_cleanly(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT("HTTP/1.1 204 No Content\r\n"
                                  "Content-Encoding: gzip\r\n\r\n")));
    assert_answer(f, "/", "");
}

static void a_redirect_is_returned_and_not_followed(void **state)
{
    fixture *f = *state;
    kl__stream *stream;

    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT("HTTP/1.1 302 Found\r\nLocation: /x\r\n"
                                  "Content-Length: 0\r\n\r\n")));
    stream = ask(f, "/");
    assert_int_equal(await_head(stream).status, 302);
    kl__stream_close(stream);
    assert_int_equal(hostile_requests(f->server, ""), 1);
}

/* ---- requests ---- */

static void a_request_is_sent_as_given(void **state)
{
    static const kl__header headers[] = {{"Content-Type", "application/json"},
                                         {"X-Empty", ""},
                                         {"Authorization", "Bearer t"}};
    fixture *f = *state;
    char *base = NULL;
    kl__request request = {.method = "PUT",
                           .target = "/a/../b?x=%2F&y",
                           .headers = headers,
                           .header_count = 3,
                           .body = "{\0}",
                           .body_length = 3};
    const char *sent;
    kl__stream *stream;

    assert_true(asprintf(&base, "%s/prefix/", hostile_url(f->server)) > 0);
    request.base_url = base;
    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    stream = kl__transport_open(f->transport, &request, NULL);
    assert_int_equal(await_head(stream).status, 200);
    kl__stream_close(stream);
    sent = hostile_request(f->server, 0);
    assert_non_null(strstr(sent, "PUT /prefix/a/../b?x=%2F&y HTTP/1.1\r\n"));
    assert_non_null(strstr(sent, "\r\nAuthorization: Bearer t\r\n"));
    assert_non_null(strstr(sent, "\r\nX-Empty:\r\n"));
    assert_non_null(strstr(sent, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(sent, "\r\nContent-Length: 3\r\n"));
    assert_non_null(strstr(sent, "\r\nAccept-Encoding: gzip\r\n"));
    assert_null(strstr(sent, "Expect:"));
    free(base);
}

static void a_post_without_a_body_sends_content_length_0(void **state)
{
    fixture *f = *state;
    kl__request request = {
        .method = "POST", .base_url = hostile_url(f->server), .target = "/"};
    kl__stream *stream;

    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    stream = kl__transport_open(f->transport, &request, NULL);
    assert_int_equal(await_head(stream).status, 200);
    kl__stream_close(stream);
    assert_non_null(
        strstr(hostile_request(f->server, 0), "\r\nContent-Length: 0\r\n"));
    assert_null(strstr(hostile_request(f->server, 0), "Content-Type"));
}

static void a_large_body_is_sent_without_expect_100_continue(void **state)
{
    static char body[2 * 1024 * 1024];
    fixture *f = *state;
    kl__request request = {.method = "PUT",
                           .base_url = hostile_url(f->server),
                           .target = "/",
                           .body = body,
                           .body_length = sizeof(body) - 1};
    kl__stream *stream;

    memset(body, 'x', sizeof(body) - 1);
    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    stream = kl__transport_open(f->transport, &request, NULL);
    assert_int_equal(await_head(stream).status, 200);
    kl__stream_close(stream);
    assert_null(strstr(hostile_request(f->server, 0), "Expect:"));
    assert_non_null(strstr(hostile_request(f->server, 0), body));
}

/* The descriptor of this process that leads to the server. */
static int socket_to(const fixture *f)
{
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_in peer = {0};
        socklen_t length = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
            peer.sin_family == AF_INET &&
            ntohs(peer.sin_port) == hostile_port(f->server)) {
            return fd;
        }
    }
    return -1;
}

static int option_of(int fd, int level, int name)
{
    int number = -1;
    socklen_t length = sizeof(number);

    getsockopt(fd, level, name, &number, &length);
    return number;
}

/* 10 s of idleness and three probes 5 s apart: at most 30 s. */
static void a_socket_is_close_on_exec_and_has_keepalive(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    int fd;

    hostile_on(f->server, "", STEPS(HOSTILE_STREAM, HOSTILE_FREEZE));
    stream = ask(f, "/");
    await_head(stream);
    fd = socket_to(f);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_in_range(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
                        option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL) *
                            option_of(fd, IPPROTO_TCP, TCP_KEEPCNT),
                    1, 30);
    assert_in_range(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 1, 30000);
    kl__stream_close(stream);
}

static void a_connection_is_used_again(void **state)
{
    fixture *f = *state;

    hostile_always(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    assert_answer(f, "/1", "{}");
    assert_answer(f, "/2", "{}");
    assert_int_equal(hostile_connections(f->server), 1);
}

static void a_fresh_connection_is_a_new_one(void **state)
{
    fixture *f = *state;
    kl__request request = {.method = "GET",
                           .base_url = hostile_url(f->server),
                           .target = "/2",
                           .fresh_connection = true};

    hostile_always(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    assert_answer(f, "/1", "{}");
    assert_int_equal(
        read_to_end(kl__transport_open(f->transport, &request, NULL), NULL,
                    NULL),
        KL_OK);
    assert_int_equal(hostile_connections(f->server), 2);
}

static void a_get_is_sent_again_if_the_connection_was_dead(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "/1", STEPS(HOSTILE_ANSWER(200, "1")));
    hostile_on(f->server, "/2", STEPS(HOSTILE_RESET));
    hostile_on(f->server, "/2", STEPS(HOSTILE_ANSWER(200, "2")));
    assert_answer(f, "/1", "1");
    assert_answer(f, "/2", "2");
    assert_int_equal(hostile_requests(f->server, "/2"), 2);
}

static void a_post_is_never_sent_twice(void **state)
{
    fixture *f = *state;
    kl__request request = {.method = "POST",
                           .base_url = hostile_url(f->server),
                           .target = "/2",
                           .body = "{}",
                           .body_length = 2};
    kl_error err;

    hostile_on(f->server, "/1", STEPS(HOSTILE_ANSWER(200, "1")));
    hostile_on(f->server, "/2", STEPS(HOSTILE_RESET));
    hostile_on(f->server, "/2", STEPS(HOSTILE_ANSWER(200, "2")));
    assert_answer(f, "/1", "1");
    assert_int_equal(
        read_to_end(kl__transport_open(f->transport, &request, NULL), NULL,
                    &err),
        KL_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "may have been carried out"));
    assert_int_equal(hostile_requests(f->server, "/2"), 1);
}

static void a_request_past_send_by_is_not_sent(void **state)
{
    fixture *f = *state;
    kl__request request = {.method = "POST",
                           .base_url = hostile_url(f->server),
                           .target = "/late",
                           .send_by_ms = kl__boottime_ms()};
    kl__stream *stream = kl__transport_open(f->transport, &request, NULL);
    kl__response response;
    kl_error err;

    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    assert_int_equal(kl__stream_response(stream, &response, soon(), NULL, &err),
                     KL_ETIMEOUT);
    assert_non_null(strstr(err.message, "the request was not sent"));
    assert_false(kl__stream_withdraw(stream));
    kl__stream_close(stream);
    request.send_by_ms = kl__boottime_ms() + 60000;
    request.target = "/in-time";
    assert_int_equal(
        read_to_end(kl__transport_open(f->transport, &request, NULL), NULL,
                    NULL),
        KL_OK);
    assert_int_equal(hostile_requests(f->server, "/in-time"), 1);
    assert_int_equal(hostile_requests(f->server, "/late"), 0);
}

static void a_header_with_a_line_break_is_an_error(void **state)
{
    static const kl__header header = {"Authorization", "Bearer t\nX: y"};
    fixture *f = *state;
    kl__request request = {.method = "GET",
                           .base_url = hostile_url(f->server),
                           .target = "/",
                           .headers = &header,
                           .header_count = 1};
    kl_error err;

    assert_int_equal(
        read_to_end(kl__transport_open(f->transport, &request, NULL), NULL,
                    &err),
        KL_ECONFIG);
    assert_non_null(strstr(err.message, "Authorization"));
    assert_null(strstr(err.message, "Bearer"));
}

static void proxies_of_the_environment_are_ignored(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    assert_answer(f, "/", "{}");
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

static void a_proxy_that_was_given_is_used(void **state)
{
    fixture *f = *state;
    kl__request request = {.method = "GET",
                           .base_url = "http://cluster.invalid:6443",
                           .target = "/x",
                           .proxy_url = hostile_url(f->server)};

    hostile_on(f->server, "GET http://cluster.invalid:6443/x HTTP/1.1",
               STEPS(HOSTILE_ANSWER(200, "{}")));
    setenv("no_proxy", "*", 1); /* given is given */
    assert_int_equal(
        read_to_end(kl__transport_open(f->transport, &request, NULL), NULL,
                    NULL),
        KL_OK);
    unsetenv("no_proxy");
    assert_int_equal(hostile_requests(f->server, "cluster.invalid"), 1);
}

#define BYTES "0123456789abcdef0123456789abcdef0123456789abcdef"

typedef struct reader {
    pthread_t thread;
    kl__stream *stream;
    kl_code code;
} reader;

enum { PARALLEL = 100, PER_READER = 64 * 1024 };

static void *read_all(void *arg)
{
    reader *r = arg;
    kl__buf body = {0};

    r->code = read_to_end(r->stream, &body, NULL);
    if (r->code == KL_OK && body.length != PER_READER) {
        r->code = KL_EINTERNAL;
    }
    kl__buf_deinit(&body);
    return NULL;
}

static void a_hundred_streams_share_a_transport(void **state)
{
    static reader readers[PARALLEL];
    fixture *f = *state;

    hostile_always(f->server, "",
                   STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: "
                                      "65536\r\n\r\n"),
                         HOSTILE_GATE("go"), HOSTILE_FLOOD(BYTES, PER_READER)));
    for (int i = 0; i < PARALLEL; i++) {
        readers[i] = (reader){.stream = ask(f, "/")};
        assert_int_equal(
            pthread_create(&readers[i].thread, NULL, read_all, &readers[i]), 0);
    }
    assert_true(hostile_await_gate(f->server, "go", PARALLEL));
    hostile_open_gate(f->server, "go");
    for (int i = 0; i < PARALLEL; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].code, KL_OK);
    }
}

/* Opens, reads some and closes until the transport says that it is closed. */
static void *churn(void *arg)
{
    fixture *f = arg;
    kl__request request = {
        .method = "GET", .base_url = hostile_url(f->server), .target = "/"};
    kl__stream *stream;
    char bytes[512];
    size_t length;

    while ((stream = kl__transport_open(f->transport, &request, NULL)) !=
           NULL) {
        kl__stream_read(stream, bytes, sizeof(bytes), &length,
                        kl__clock_now(kl__clock_real()) + 2, NULL, NULL);
        kl__stream_close(stream);
    }
    return NULL;
}

static void a_transport_closes_under_threads_that_use_it(void **state)
{
    fixture *f = *state;
    pthread_t threads[8];

    hostile_always(
        f->server, "",
        STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(BYTES), HOSTILE_STREAM_END));
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, f), 0);
    }
    assert_true(hostile_await_requests(f->server, "", 100));
    kl__transport_close(f->transport);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(a_get_returns_status_type_and_body),
        SPEC(a_body_arrives_whole_for_all_chunk_sizes),
        SPEC(bytes_are_read_as_they_arrive),
        SPEC(interim_responses_and_trailers_are_ignored),
        SPEC(an_empty_body_ends_cleanly),
        SPEC(a_redirect_is_returned_and_not_followed),
        SPEC(a_request_is_sent_as_given),
        SPEC(a_post_without_a_body_sends_content_length_0),
        SPEC(a_large_body_is_sent_without_expect_100_continue),
        SPEC(a_socket_is_close_on_exec_and_has_keepalive),
        SPEC(a_connection_is_used_again),
        SPEC(a_fresh_connection_is_a_new_one),
        SPEC(a_get_is_sent_again_if_the_connection_was_dead),
        SPEC(a_post_is_never_sent_twice),
        SPEC(a_request_past_send_by_is_not_sent),
        SPEC(a_header_with_a_line_break_is_an_error),
        SPEC(proxies_of_the_environment_are_ignored),
        SPEC(a_proxy_that_was_given_is_used),
        SPEC(a_hundred_streams_share_a_transport),
        SPEC(a_transport_closes_under_threads_that_use_it),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
