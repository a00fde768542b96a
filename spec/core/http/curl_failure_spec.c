/*
 * curl_failure_spec.c - what goes wrong between here and an answer is told with
 * the right code, the host and a remedy, and misuse is told too; a name server
 * that hangs holds up nothing but the request that needs it.
 */
#include "http/transport.h"

#include "failing_alloc.h"
#include "hostile_server.h"
#include "http_client.h"

#include "base/clock.h"
#include "kubelua/client.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
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

/* What a GET fails with; the message stands in `err`. */
static kl_code failure_of(fixture *f, kl_error *err)
{
    return read_to_end(ask(f, "/"), NULL, err);
}

/* ---- failures ---- */

static void a_refused_connection_names_host_port_and_remedy(void **state)
{
    fixture *f = *state;
    char *url = strdup(hostile_url(f->server));
    kl_error err;

    hostile_free(f->server); /* the port is closed now */
    f->server = NULL;
    assert_int_equal(read_to_end(get(f->transport, url, "/"), NULL, &err),
                     KL_EUNAVAILABLE);
    assert_non_null(strstr(err.message, url + strlen("http://")));
    assert_non_null(strstr(err.message, "refused"));
    free(url);
}

static void a_name_that_does_not_resolve_is_named(void **state)
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

static void an_invalid_url_is_reported_by_the_stream(void **state)
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

static void a_server_that_does_not_speak_http_is_a_parse_error(void **state)
{
    fixture *f = *state;
    kl_error err;

    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT("SSH-2.0-OpenSSH_9.2\r\n"), HOSTILE_CLOSE));
    assert_int_equal(failure_of(f, &err), KL_EPARSE);
    assert_non_null(strstr(err.message, "does not speak HTTP"));
    assert_non_null(strstr(err.message, "127.0.0.1:"));
}

static void a_header_line_without_end_is_too_large(void **state)
{
    enum { LINE = 2 * 1024 * 1024 };
    fixture *f = *state;
    kl_error err;

    hostile_on(f->server, "",
               STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nX-Long: "),
                     HOSTILE_FLOOD("0123456789abcdef", LINE)));
    assert_int_equal(failure_of(f, &err), KL_ETOO_LARGE);
    assert_non_null(strstr(err.message, "header line"));
    assert_non_null(strstr(err.message, "127.0.0.1:"));
}

static void a_password_in_the_url_is_not_in_messages(void **state)
{
    static const char *const urls[] = {
        "ftp://joe:secret@127.0.0.1", "https://joe:secret@127.0.0.1:port",
        "https://joe:sec ret@127.0.0.1", "https://joe:secret@127.0.0.1:1"};
    fixture *f = *state;

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        kl_error err = {0};

        assert_int_not_equal(
            read_to_end(get(f->transport, urls[i], "/"), NULL, &err), KL_OK);
        assert_null(strstr(err.message, "sec"));
    }
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

static void bytes_before_a_break_are_read_first(void **state)
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

static void a_connection_closed_without_a_response_is_an_error(void **state)
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

/* ThreadSanitizer lets no child of a process with threads start one. */
#ifdef __SANITIZE_THREAD__
#define STARTS_THREADS_AFTER_FORK false
#else
#define STARTS_THREADS_AFTER_FORK true
#endif

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
        kl_transport *own = STARTS_THREADS_AFTER_FORK
                                ? kl__curl_transport_new(false, NULL)
                                : NULL;
        bool right = (own != NULL) == STARTS_THREADS_AFTER_FORK &&
                     kl__transport_open(f->transport, &request, NULL) == NULL &&
                     kl__stream_response(stream, &response, -1, NULL, NULL) ==
                         KL_EFORKED;

        kl_transport_unref(own);
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
    transport = kl__curl_transport_new(false, &err);
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

/* spec/core/cancel holds every call to 50 ms of its own time; this is by the
 * clock of a machine that has other work. */
enum { CANCEL_MS = 1000 };

static int64_t now(void)
{
    return kl__clock_now(kl__clock_real());
}

/* A name server that does not answer: libcurl finds this one first.
 * libcurl 8.20 asks for addresses of IPv4 and of IPv6 apart: that is counted as
 * one. */
static struct name_server {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int asked;
    bool answers;
} name_server = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};

__attribute__((visibility("default"))) int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
            struct addrinfo **result)
{
    typedef int (*lookup)(const char *, const char *, const struct addrinfo *,
                          struct addrinfo **);
    lookup real;
    int asks = hints->ai_family == AF_INET6 ? 0 : 1;

    if (node == NULL || strcmp(node, "hangs.invalid") != 0) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
        return real(node, service, hints, result);
    }
    pthread_mutex_lock(&name_server.mutex);
    name_server.asked += asks;
    pthread_cond_broadcast(&name_server.cond);
    while (!name_server.answers) {
        pthread_cond_wait(&name_server.cond, &name_server.mutex);
    }
    name_server.asked -= asks;
    pthread_cond_broadcast(&name_server.cond);
    pthread_mutex_unlock(&name_server.mutex);
    return EAI_FAIL;
}

static void await_asked(int asked)
{
    pthread_mutex_lock(&name_server.mutex);
    while (name_server.asked != asked) {
        pthread_cond_wait(&name_server.cond, &name_server.mutex);
    }
    pthread_mutex_unlock(&name_server.mutex);
}

static void a_dns_server_that_hangs_delays_no_other_request(void **state)
{
    fixture *f = *state;
    kl__stream *stream = get(f->transport, "http://hangs.invalid", "/");
    int64_t began_ms;

    await_asked(1);
    /* The stream closes at once; the transport goes on, and ends at once. */
    began_ms = now();
    kl__stream_close(stream);
    assert_in_range(now() - began_ms, 0, CANCEL_MS);
    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    assert_int_equal(read_to_end(ask(f, "/"), NULL, NULL), KL_OK);
    stream = get(f->transport, "http://hangs.invalid", "/");
    await_asked(2);
    kl__stream_close(stream);
    began_ms = now();
    end_transport(f->transport);
    f->transport = NULL;
    assert_in_range(now() - began_ms, 0, 2000); /* and it is not this slow */
    pthread_mutex_lock(&name_server.mutex);
    name_server.answers = true;
    pthread_cond_broadcast(&name_server.cond);
    pthread_mutex_unlock(&name_server.mutex);
    await_asked(0);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(a_refused_connection_names_host_port_and_remedy),
        SPEC(a_name_that_does_not_resolve_is_named),
        SPEC(an_invalid_url_is_reported_by_the_stream),
        SPEC(a_server_that_does_not_speak_http_is_a_parse_error),
        SPEC(a_header_line_without_end_is_too_large),
        SPEC(a_password_in_the_url_is_not_in_messages),
        SPEC(a_damaged_chunk_is_a_parse_error),
        SPEC(a_body_that_breaks_off_is_not_a_clean_end),
        SPEC(bytes_before_a_break_are_read_first),
        SPEC(a_connection_closed_without_a_response_is_an_error),
        SPEC(a_failed_stream_fails_again_when_it_is_read_again),
        SPEC(a_child_of_fork_gets_an_error_and_no_deadlock),
        SPEC(running_out_of_memory_is_an_error_that_leaks_nothing),
        cmocka_unit_test_setup_teardown(
            a_dns_server_that_hangs_delays_no_other_request, set_up, tear_down),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
