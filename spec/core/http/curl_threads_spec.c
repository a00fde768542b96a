/*
 * curl_threads_spec.c - many threads on one transport, until it closes.
 */
#include "http/transport.h"

#include "hostile_server.h"
#include "http_client.h"

#include "base/buf.h"
#include "base/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
        SPEC(a_hundred_streams_share_a_transport),
        SPEC(a_transport_closes_under_threads_that_use_it),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
