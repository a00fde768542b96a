/*
 * curl_sockets_spec.c - over HTTP/1 the loop asks one epoll which sockets have
 * something to do: how often it asks, and that no transfer is forgotten when
 * streams open, pause, close or break in any order.
 */
#include "http/transport.h"

#include "certificate.h"
#include "http_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <cmocka.h>

#define BYTES_64 \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BYTES_256 BYTES_64 BYTES_64 BYTES_64 BYTES_64
#define BYTES_1024 BYTES_256 BYTES_256 BYTES_256 BYTES_256

enum { IDLE = 100, REQUESTS = 50, CROWD = 300, BODY = 64 * 1024 };

/* ---- system calls of the transport thread ---- */

/* `polls` are those that return at once: the server's threads wait in theirs.
 */
static atomic_int polls, waits;
static atomic_bool has_no_epoll;

__attribute__((visibility("default"))) int poll(struct pollfd *fds,
                                                nfds_t count, int timeout)
{
    static int (*real)(struct pollfd *, nfds_t, int);

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "poll");
    }
    if (timeout == 0) {
        atomic_fetch_add(&polls, 1);
    }
    return real(fds, count, timeout);
}

__attribute__((visibility("default"))) int
epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    static int (*real)(int, struct epoll_event *, int, int);

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "epoll_wait");
    }
    atomic_fetch_add(&waits, 1);
    return real(epoll, events, most, timeout);
}

__attribute__((visibility("default"))) int epoll_create1(int flags)
{
    static int (*real)(int);

    if (atomic_load(&has_no_epoll)) {
        errno = EMFILE;
        return -1;
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "epoll_create1");
    }
    return real(flags);
}

/* ---- servers ---- */

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

static kl__stream *ask_secure(fixture *f, const char *target)
{
    kl__tls *tls = kl__tls_new(&(kl__tls_options){.insecure = true});
    const kl__request request = {.method = "GET",
                                 .base_url = hostile_url(f->server),
                                 .target = target,
                                 .tls = tls};
    kl__stream *stream = kl__transport_open(f->transport, &request, NULL);

    assert_non_null(stream);
    kl__tls_unref(tls);
    return stream;
}

typedef kl__stream *(*asker)(fixture *f, const char *target);

static void assert_answered(fixture *f, asker ask_it)
{
    assert_int_equal(read_to_end(ask_it(f, "/answer"), NULL, NULL), KL_OK);
}

/* ---- how much a turn does ---- */

/* Over TLS and over plain HTTP: after the first answer it is known that the
 * server speaks HTTP/1. */
static void count_calls(fixture *f, asker ask_it)
{
    static kl__stream *idle[IDLE];
    int polls_before, waits_before;

    hostile_always(f->server, "/answer", STEPS(HOSTILE_ANSWER(200, "{}")));
    hostile_always(f->server, "/idle", STEPS(HOSTILE_STREAM, HOSTILE_FREEZE));
    assert_answered(f, ask_it);
    for (int i = 0; i < IDLE; i++) {
        idle[i] = ask_it(f, "/idle");
        await_head(idle[i]);
    }
    assert_answered(f, ask_it);
    polls_before = atomic_load(&polls);
    waits_before = atomic_load(&waits);
    for (int i = 0; i < REQUESTS; i++) {
        assert_answered(f, ask_it);
    }
    assert_in_range(atomic_load(&polls) - polls_before, 0, REQUESTS * 20);
    assert_in_range(atomic_load(&waits) - waits_before, REQUESTS,
                    REQUESTS * 20);
    for (int i = 0; i < IDLE; i++) {
        kl__stream_close(idle[i]);
    }
}

static void a_request_asks_no_socket_of_another(void **state)
{
    count_calls(*state, ask);
}

static void over_tls_a_request_asks_no_socket_of_another(void **state)
{
    count_calls(*state, ask_secure);
}

/* A watched socket that curl has forgotten would be reported for ever. */
static void connections_that_the_server_closes_wake_nothing(void **state)
{
    fixture *f = *state;
    int waits_before;

    hostile_always(
        f->server, "/last",
        STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
              HOSTILE_CLOSE));
    hostile_always(f->server, "/answer", STEPS(HOSTILE_ANSWER(200, "{}")));
    for (int i = 0; i < REQUESTS; i++) {
        assert_int_equal(read_to_end(ask(f, "/last"), NULL, NULL), KL_OK);
        assert_true(hostile_await_ended(f->server, (size_t)i + 1));
    }
    waits_before = atomic_load(&waits);
    for (int i = 0; i < REQUESTS; i++) {
        assert_answered(f, ask);
    }
    assert_in_range(atomic_load(&waits) - waits_before, REQUESTS,
                    REQUESTS * 20);
}

/* ---- no transfer is forgotten ---- */

/* How far a stream has come when it is closed. */
typedef enum close_stage {
    OPENED,
    SENT,
    HEADED,
    STALLED,
    ENDED,
    STAGES
} close_stage;

static void close_at(fixture *f, close_stage stage, asker ask_it, size_t round)
{
    kl__stream *stream;

    switch (stage) {
    case OPENED:
        kl__stream_close(ask_it(f, "/frozen"));
        return;
    case SENT:
        stream = ask_it(f, "/silent");
        assert_true(hostile_await_requests(f->server, "/silent", round + 1));
        break;
    case HEADED:
        stream = ask_it(f, "/idle");
        await_head(stream);
        break;
    case STALLED:
        stream = ask_it(f, "/flood");
        await_head(stream);
        assert_true(hostile_await_stall(f->server));
        break;
    default:
        stream = ask_it(f, "/answer");
        await_head(stream);
        break;
    }
    kl__stream_close(stream);
}

static void close_at_all(fixture *f, asker ask_it)
{
    hostile_always(f->server, "/answer", STEPS(HOSTILE_ANSWER(200, "{}")));
    hostile_always(f->server, "/frozen", STEPS(HOSTILE_FREEZE));
    hostile_always(f->server, "/silent", STEPS(HOSTILE_FREEZE));
    hostile_always(f->server, "/idle", STEPS(HOSTILE_STREAM, HOSTILE_FREEZE));
    hostile_always(f->server, "/flood",
                   STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: "
                                      "67108864\r\n\r\n"),
                         HOSTILE_FLOOD("0123456789abcdef", 67108864)));
    assert_answered(f, ask_it);
    for (size_t round = 0; round < 2; round++) {
        for (int stage = OPENED; stage < STAGES; stage++) {
            close_at(f, (close_stage)stage, ask_it, round);
            assert_answered(f, ask_it);
        }
    }
}

static void a_stream_closed_at_any_stage_leaves_the_others_alone(void **state)
{
    close_at_all(*state, ask);
}

static void
over_tls_a_stream_closed_at_any_stage_leaves_the_others_alone(void **state)
{
    close_at_all(*state, ask_secure);
}

/* Each is paused again and again: its window is small, and its reader reads
 * only when its turn comes. */
static void read_crowd(fixture *f, asker ask_it)
{
    static kl__stream *streams[CROWD];
    static char bytes[BODY];

    hostile_always(
        f->server, "/body",
        STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n"),
              HOSTILE_FLOOD(BYTES_1024, BODY)));
    for (int i = 0; i < CROWD; i++) {
        streams[i] = ask_it(f, "/body");
    }
    for (int i = CROWD - 1; i >= 0; i--) {
        size_t total = 0, length = 1;

        while (length > 0) {
            assert_int_equal(kl__stream_read(streams[i], bytes, sizeof(bytes),
                                             &length, soon(), NULL, NULL),
                             KL_OK);
            total += length;
        }
        assert_int_equal(total, BODY);
        kl__stream_close(streams[i]);
    }
}

static kl__stream *ask_narrow(fixture *f, const char *target)
{
    const kl__request request = {.method = "GET",
                                 .base_url = hostile_url(f->server),
                                 .target = target,
                                 .window = 16 * 1024};
    kl__stream *stream = kl__transport_open(f->transport, &request, NULL);

    assert_non_null(stream);
    return stream;
}

static void hundreds_of_paused_streams_come_whole(void **state)
{
    read_crowd(*state, ask_narrow);
}

static void over_tls_hundreds_of_streams_come_whole(void **state)
{
    read_crowd(*state, ask_secure);
}

/* As where no descriptor is left: then every transfer is asked in turn. */
static void without_an_epoll_requests_are_answered(void **state)
{
    fixture *f = *state;

    atomic_store(&has_no_epoll, true);
    hostile_always(f->server, "/answer", STEPS(HOSTILE_ANSWER(200, "{}")));
    for (int i = 0; i < 3; i++) {
        assert_answered(f, ask);
    }
    read_crowd(f, ask);
    atomic_store(&has_no_epoll, false);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SECURE(name) \
    cmocka_unit_test_setup_teardown(name, set_up_secure, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(a_request_asks_no_socket_of_another),
        SECURE(over_tls_a_request_asks_no_socket_of_another),
        SPEC(connections_that_the_server_closes_wake_nothing),
        SPEC(a_stream_closed_at_any_stage_leaves_the_others_alone),
        SECURE(over_tls_a_stream_closed_at_any_stage_leaves_the_others_alone),
        SPEC(hundreds_of_paused_streams_come_whole),
        SECURE(over_tls_hundreds_of_streams_come_whole),
        SPEC(without_an_epoll_requests_are_answered),
    };

    return cmocka_run_group_tests(specs, make_certificates, drop_certificates);
}
