/*
 * curl_transport_spec.c - requests and answers over HTTP/1.1, against a server
 * that says byte by byte what the specs want to hear.
 */
#include "http/transport.h"

#include "failing_alloc.h"
#include "hostile_server.h"
#include "http_client.h"

#include "base/clock.h"
#include "kubelua/memory.h"
#include "kubelua/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* What each spec has: a server with no script yet, and a transport. */
typedef struct fixture {
    hostile_server *server;
    kl_transport *transport;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->server = hostile_new(NULL);
    f->transport = new_transport();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;

    end_transport(f->transport);
    hostile_free(f->server);
    free(f);
    return 0;
}

static kl__stream *ask(fixture *f, const char *target)
{
    return get(f->transport, hostile_url(f->server), target);
}

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

/* What a GET fails with; the message stands in `err`. */
static kl_code failure_of(fixture *f, kl_error *err)
{
    return read_to_end(ask(f, "/"), NULL, err);
}

/* ---- answers ---- */

static void a_get_brings_status_type_and_body(void **state)
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
    assert_string_equal(response.warning, "");
    assert_int_equal(response.retry_after_ms, -1);
    assert_false(response.http2);
    kl__stream_close(stream);
}

static void a_body_arrives_whole_however_it_is_cut(void **state)
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

static void interim_heads_and_trailers_are_no_heads(void **state)
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
    assert_string_equal(response.warning, "");
    assert_int_equal(read_to_end(stream, NULL, NULL), KL_OK);
}

static void an_empty_answer_ends_cleanly(void **state)
{
    fixture *f = *state;

    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT("HTTP/1.1 204 No Content\r\n"
                                  "Content-Encoding: gzip\r\n\r\n")));
    assert_answer(f, "/", "");
}

static void a_redirect_is_an_answer_and_not_followed(void **state)
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

static void a_request_is_sent_as_it_was_given(void **state)
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

static void a_post_without_a_body_says_so(void **state)
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

static void a_get_is_repeated_on_a_connection_that_died(void **state)
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

static void a_header_with_a_line_break_is_refused(void **state)
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

static void proxies_of_the_environment_are_not_asked(void **state)
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

/* ---- failures ---- */

static void a_refused_connection_names_host_port_and_remedy(void **state)
{
    fixture *f = *state;
    char *url = strdup(hostile_url(f->server));
    kl_error err;

    hostile_free(f->server); /* nobody listens there now */
    f->server = NULL;
    assert_int_equal(read_to_end(get(f->transport, url, "/"), NULL, &err),
                     KL_EUNAVAILABLE);
    assert_non_null(strstr(err.message, url + strlen("http://")));
    assert_non_null(strstr(err.message, "refused"));
    free(url);
}

static void a_name_that_does_not_resolve_is_said_to_be_so(void **state)
{
    fixture *f = *state;
    kl_error err;

    assert_int_equal(
        read_to_end(get(f->transport, "https://no.such.host.invalid", "/"),
                    NULL, &err),
        KL_EUNAVAILABLE);
    assert_non_null(
        strstr(err.message, "cannot resolve no.such.host.invalid:443"));
}

static void a_url_that_is_none_is_told_by_the_stream(void **state)
{
    fixture *f = *state;
    kl_error err;

    assert_int_equal(read_to_end(get(f->transport, "no url", "/"), NULL, &err),
                     KL_ECONFIG);
    assert_non_null(strstr(err.message, "'no url' is no server URL"));
    assert_int_equal(
        read_to_end(get(f->transport, "ftp://127.0.0.1", "/"), NULL, &err),
        KL_ECONFIG);
}

static void a_server_that_speaks_no_http_is_a_parse_error(void **state)
{
    fixture *f = *state;
    kl_error err;

    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT("SSH-2.0-OpenSSH_9.2\r\n"), HOSTILE_CLOSE));
    assert_int_equal(failure_of(f, &err), KL_EPARSE);
    assert_non_null(strstr(err.message, "does not speak HTTP"));
    assert_non_null(strstr(err.message, "127.0.0.1:"));
}

static void a_damaged_chunk_is_a_parse_error(void **state)
{
    fixture *f = *state;
    kl_error err;

    hostile_on(f->server, "",
               STEPS(HOSTILE_STREAM, HOSTILE_TEXT("zz\r\nrubbish\r\n")));
    assert_int_equal(failure_of(f, &err), KL_EPARSE);
}

static void a_body_that_breaks_off_is_not_a_clean_end(void **state)
{
    static const char half[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    fixture *f = *state;
    kl_error err;

    hostile_on(f->server, "", STEPS(HOSTILE_TEXT(half), HOSTILE_CLOSE));
    hostile_on(f->server, "", STEPS(HOSTILE_TEXT(half), HOSTILE_RESET));
    hostile_on(f->server, "",
               STEPS(HOSTILE_STREAM, HOSTILE_CHUNK("half"), HOSTILE_CLOSE));
    hostile_on(f->server, "",
               STEPS(HOSTILE_STREAM, HOSTILE_TEXT("8\r\nhalf"), HOSTILE_CLOSE));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(failure_of(f, &err), KL_EUNAVAILABLE);
        assert_non_null(strstr(err.message, "broke off"));
    }
}

static void what_came_before_the_break_is_read_first(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    kl__buf body = {0};

    hostile_on(f->server, "",
               STEPS(HOSTILE_STREAM, HOSTILE_CHUNK("frame"), HOSTILE_CLOSE));
    stream = ask(f, "/");
    assert_true(hostile_await_ended(f->server, 1));
    assert_int_equal(read_to_end(stream, &body, NULL), KL_EUNAVAILABLE);
    assert_string_equal(body.bytes, "frame");
    kl__buf_deinit(&body);
}

static void a_connection_closed_without_an_answer_says_so(void **state)
{
    fixture *f = *state;
    kl_error err;

    hostile_on(f->server, "", STEPS(HOSTILE_CLOSE));
    assert_int_equal(failure_of(f, &err), KL_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "without an answer"));
}

static void a_failed_stream_fails_again_when_it_is_read_again(void **state)
{
    fixture *f = *state;
    kl__stream *stream;
    kl__response response;
    char byte;
    size_t length;

    hostile_on(f->server, "", STEPS(HOSTILE_CLOSE));
    stream = ask(f, "/");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            kl__stream_response(stream, &response, soon(), NULL, NULL),
            KL_EUNAVAILABLE);
        assert_int_equal(
            kl__stream_read(stream, &byte, 1, &length, soon(), NULL, NULL),
            KL_EUNAVAILABLE);
    }
    kl__stream_close(stream);
}

/* ---- use that cannot work ---- */

static void a_child_of_fork_gets_an_error_and_no_deadlock(void **state)
{
    fixture *f = *state;
    kl__request request = {
        .method = "GET", .base_url = hostile_url(f->server), .target = "/"};
    kl__stream *stream;
    kl__response response;
    int status = 0;
    pid_t child;

    hostile_on(f->server, "", STEPS(HOSTILE_FREEZE));
    stream = ask(f, "/");
    child = fork();
    if (child == 0) {
        bool right = kl__curl_transport_new(NULL) == NULL &&
                     kl__transport_open(f->transport, &request, NULL) == NULL &&
                     kl__stream_response(stream, &response, -1, NULL, NULL) ==
                         KL_EFORKED;

        kl__stream_close(stream);
        kl_transport_unref(f->transport);
        _exit(right ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    kl__stream_close(stream);
}

static kl_code ask_once(void *context)
{
    const kl__header header = {"X-Name", "value"};
    kl__tls_options options = {.ca = "x"};
    kl__request request = {.method = "PUT",
                           .base_url = context,
                           .target = "/",
                           .headers = &header,
                           .header_count = 1,
                           .body = "{}",
                           .body_length = 2,
                           .proxy_url = context};
    kl_transport *transport;
    kl__stream *stream = NULL;
    kl_error err = {0};
    kl_code code = KL_ENOMEM;

    request.tls = kl__tls_new(&options);
    transport = kl__curl_transport_new(&err);
    if (transport != NULL && request.tls != NULL) {
        stream = kl__transport_open(transport, &request, &err);
        code = err.code;
    }
    if (stream != NULL) {
        code = read_to_end(stream, NULL, &err);
    }
    kl__tls_unref(request.tls);
    kl_transport_unref(transport);
    return code;
}

/* "{}", compressed, and then once more. */
static const char two_members[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00\x43\xbf\xa6\xa3"
    "\x02\x00\x00\x00"
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00\x43\xbf\xa6\xa3"
    "\x02\x00\x00\x00";

static void running_out_of_memory_is_an_error_that_leaks_nothing(void **state)
{
    fixture *f = *state;

    end_transport(f->transport); /* its thread would be counted */
    f->transport = NULL;
    hostile_always(f->server, "",
                   STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: "
                                      "gzip\r\nContent-Length: 44\r\n\r\n"),
                         HOSTILE_BYTES(two_members, 44)));
    assert_true(failing_alloc_each(
                    ask_once, (void *)(uintptr_t)hostile_url(f->server)) > 5);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(a_get_brings_status_type_and_body),
        SPEC(a_body_arrives_whole_however_it_is_cut),
        SPEC(bytes_are_read_as_they_arrive),
        SPEC(interim_heads_and_trailers_are_no_heads),
        SPEC(an_empty_answer_ends_cleanly),
        SPEC(a_redirect_is_an_answer_and_not_followed),
        SPEC(a_request_is_sent_as_it_was_given),
        SPEC(a_post_without_a_body_says_so),
        SPEC(a_connection_is_used_again),
        SPEC(a_fresh_connection_is_a_new_one),
        SPEC(a_get_is_repeated_on_a_connection_that_died),
        SPEC(a_post_is_never_sent_twice),
        SPEC(a_header_with_a_line_break_is_refused),
        SPEC(proxies_of_the_environment_are_not_asked),
        SPEC(a_proxy_that_was_given_is_used),
        SPEC(a_refused_connection_names_host_port_and_remedy),
        SPEC(a_name_that_does_not_resolve_is_said_to_be_so),
        SPEC(a_url_that_is_none_is_told_by_the_stream),
        SPEC(a_server_that_speaks_no_http_is_a_parse_error),
        SPEC(a_damaged_chunk_is_a_parse_error),
        SPEC(a_body_that_breaks_off_is_not_a_clean_end),
        SPEC(what_came_before_the_break_is_read_first),
        SPEC(a_connection_closed_without_an_answer_says_so),
        SPEC(a_failed_stream_fails_again_when_it_is_read_again),
        SPEC(a_child_of_fork_gets_an_error_and_no_deadlock),
        SPEC(running_out_of_memory_is_an_error_that_leaks_nothing),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
