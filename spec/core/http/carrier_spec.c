/*
 * carrier_spec.c - loops that share a thread (http/carrier.h), and clients
 * whose connections that thread carries.
 */
#include "failing_alloc.h"
#include "gate.h"
#include "http_client.h"

#include "base/clock.h"
#include "http/carrier.h"
#include "kubelua/memory.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A loop that counts its turns, and ends when it is told. */
typedef struct counter {
    kl__carried carried;
    gate turns;            /* passed in each turn */
    _Atomic int64_t rest;  /* what a turn returns */
    _Atomic int64_t until; /* what the first turn returns; 0: `rest` */
    atomic_bool ends;
    _Atomic pthread_t thread; /* of the turns */
    int watched;         /* a socket that the first turn watches; -1: none */
    atomic_bool forgets; /* the next turn forgets that socket */
    bool wakes_at_end;   /* the last turn wakes the loop */
    atomic_int ended;    /* last turns */
} counter;

enum { HOUR_MS = 3600000 };

static int count_turns(counter *self)
{
    int count;

    kl__mutex_lock(&self->turns.mutex);
    count = self->turns.count;
    kl__mutex_unlock(&self->turns.mutex);
    return count;
}

static int64_t run_counter(void *arg)
{
    counter *self = arg;
    int64_t until;

    self->thread = pthread_self();
    if (self->watched >= 0 && count_turns(self) == 0) {
        assert_true(kl__carrier_watch(&self->carried, self->watched));
    }
    if (atomic_exchange(&self->forgets, false)) {
        kl__carrier_forget(&self->carried, self->watched);
    }
    gate_pass(&self->turns);
    if (atomic_load(&self->ends)) {
        if (self->watched >= 0) {
            kl__carrier_forget(&self->carried, self->watched);
        }
        self->ended++;
        if (self->wakes_at_end) {
            kl__carrier_wake(&self->carried);
        }
        return KL__CARRIED_OVER;
    }
    until = atomic_exchange(&self->until, 0);
    return until != 0 ? until : atomic_load(&self->rest);
}

static void init(counter *self)
{
    memset(self, 0, sizeof(*self));
    gate_init(&self->turns);
    self->rest = kl__clock_now(kl__clock_real()) + HOUR_MS;
    self->watched = -1;
    self->carried.run = run_counter;
    self->carried.arg = self;
}

static void join(counter *self)
{
    assert_int_equal(kl__carrier_join(&self->carried, NULL), KL_OK);
}

static void leave(counter *self)
{
    atomic_store(&self->ends, true);
    kl__carrier_wake(&self->carried);
    kl__carrier_leave(&self->carried);
    gate_deinit(&self->turns);
}

/* A hundred rounds, in which a loop that rests has no turn. */
static void run_rounds(counter *other)
{
    for (int i = 1; i <= 100; i++) {
        assert_true(gate_await(&other->turns, i));
        kl__carrier_wake(&other->carried);
    }
}

static void loops_have_a_turn_at_once_and_when_they_are_woken(void **state)
{
    counter one, two;

    (void)state;
    init(&one);
    init(&two);
    join(&one);
    join(&two);
    for (int i = 1; i <= 100; i++) {
        assert_true(gate_await(&one.turns, i));
        assert_true(gate_await(&two.turns, i));
        kl__carrier_wake(&one.carried);
        kl__carrier_wake(&two.carried);
    }
    assert_true(pthread_equal(one.thread, two.thread));
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 1);
    leave(&one);
    leave(&two);
}

static void a_loop_rests_until_its_time(void **state)
{
    int64_t began = kl__clock_now(kl__clock_real());
    counter never, late, soon;

    (void)state;
    init(&never);
    init(&late);
    init(&soon);
    late.until = began + 120;
    soon.until = began + 60;
    join(&never);
    join(&late);
    join(&soon);
    assert_true(gate_await(&soon.turns, 2));
    assert_true(kl__clock_now(kl__clock_real()) >= began + 60);
    assert_true(gate_await(&late.turns, 2));
    assert_true(kl__clock_now(kl__clock_real()) >= began + 120);
    assert_int_equal(count_turns(&never), 1);
    leave(&never);
    leave(&late);
    leave(&soon);
}

/* One asks for a turn again and again. The others have their turns when they
 * are woken, when their time has come, and when bytes come. */
static void a_busy_loop_holds_up_no_other(void **state)
{
    int pair[2];
    counter busy, self, late, reads;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    init(&busy);
    busy.rest = KL__CARRIED_AGAIN;
    join(&busy);
    init(&self);
    join(&self);
    assert_true(gate_await(&self.turns, 1));
    kl__carrier_wake(&self.carried);
    assert_true(gate_await(&self.turns, 2));
    init(&late);
    late.until = kl__clock_now(kl__clock_real()) + 10;
    join(&late);
    assert_true(gate_await(&late.turns, 2));
    init(&reads);
    reads.watched = pair[0];
    join(&reads);
    assert_true(gate_await(&reads.turns, 2)); /* it can be written to */
    assert_int_equal(write(pair[1], "x", 1), 1);
    assert_true(gate_await(&reads.turns, 3));
    assert_true(gate_await(&busy.turns, 1000));
    leave(&busy);
    leave(&self);
    leave(&late);
    leave(&reads);
    close(pair[1]);
    close(pair[0]);
}

/* The bytes stay in the socket, as the turn does not read them. */
static void a_change_of_a_socket_is_told_once(void **state)
{
    int pair[2];
    counter self, other;
    int before;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    init(&self);
    self.watched = pair[0];
    join(&self);
    assert_true(gate_await(&self.turns, 2)); /* it can be written to */
    before = count_turns(&self);
    assert_int_equal(write(pair[1], "x", 1), 1);
    assert_true(gate_await(&self.turns, before + 1));
    init(&other);
    join(&other);
    run_rounds(&other);
    assert_in_range(count_turns(&self), before + 1, before + 2);
    leave(&other);
    leave(&self);
    close(pair[1]);
    close(pair[0]);
}

/* A child of fork() may have the socket, too: then it is watched even after it
 * was closed here. The loop may be gone by then. */
static void a_forgotten_socket_gives_no_turn(void **state)
{
    int pair[2], child;
    counter self, other;
    int before;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    child = dup(pair[0]);
    init(&self);
    self.watched = pair[0];
    join(&self);
    assert_true(gate_await(&self.turns, 2)); /* it can be written to */
    before = count_turns(&self);
    atomic_store(&self.forgets, true);
    kl__carrier_wake(&self.carried);
    assert_true(gate_await(&self.turns, before + 1));
    close(pair[0]);
    assert_int_equal(write(pair[1], "x", 1), 1);
    init(&other);
    join(&other);
    run_rounds(&other);
    assert_int_equal(count_turns(&self), before + 1);
    self.watched = -1;
    leave(&other);
    leave(&self);
    close(pair[1]);
    close(child);
}

/* As a command does that comes while a client closes. */
static void a_loop_that_is_woken_in_its_last_turn_has_no_other(void **state)
{
    counter self, other;

    (void)state;
    init(&other);
    join(&other);
    init(&self);
    self.wakes_at_end = true;
    join(&self);
    assert_true(gate_await(&self.turns, 1));
    atomic_store(&self.ends, true);
    kl__carrier_wake(&self.carried);
    kl__carrier_leave(&self.carried);
    run_rounds(&other);
    assert_int_equal(self.ended, 1);
    gate_deinit(&self.turns);
    leave(&other);
}

static void the_thread_ends_with_the_last_loop_and_comes_again(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        counter one, two;

        init(&one);
        init(&two);
        join(&one);
        join(&two);
        leave(&one);
        assert_int_equal(kl_live_count(KL_LIVE_THREAD), 1);
        leave(&two);
        assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
    }
}

static void *join_and_leave(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        counter self;

        init(&self);
        join(&self);
        kl__carrier_wake(&self.carried);
        leave(&self);
    }
    return NULL;
}

static void threads_may_join_and_leave_at_the_same_time(void **state)
{
    enum { CROWD = 8 };
    pthread_t crowd[CROWD];

    (void)state;
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_create(&crowd[i], NULL, join_and_leave, NULL),
                         0);
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(crowd[i], NULL);
    }
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

#ifndef __SANITIZE_THREAD__ /* which allows no thread after a fork */
static void a_child_of_fork_has_a_thread_of_its_own(void **state)
{
    counter self;
    pid_t child;
    int status;

    (void)state;
    init(&self);
    join(&self);
    assert_true(gate_await(&self.turns, 1));
    child = fork();
    if (child == 0) {
        counter own;

        init(&own);
        if (kl__carrier_join(&own.carried, NULL) != KL_OK ||
            !gate_await(&own.turns, 1)) {
            _exit(1);
        }
        leave(&own);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    leave(&self);
}
#endif

/* ---- clients ---- */

static kl_transport *new_carried(void)
{
    kl_transport *transport = kl__curl_transport_new(true, NULL);

    assert_non_null(transport);
    return transport;
}

static void assert_answer(kl_transport *transport, const char *url)
{
    kl__stream *stream = get(transport, url, "/");
    kl__buf body = {0};

    assert_int_equal(await_head(stream).status, 200);
    assert_int_equal(read_to_end(stream, &body, NULL), KL_OK);
    assert_string_equal(body.bytes, "yes");
    kl__buf_deinit(&body);
}

static void clients_have_one_thread_and_connections_of_their_own(void **state)
{
    enum { CLIENTS = 10 };
    hostile_server *server = hostile_new(NULL);
    kl_transport *crowd[CLIENTS];

    (void)state;
    for (int i = 0; i < CLIENTS; i++) {
        hostile_on(server, "", STEPS(HOSTILE_ANSWER(200, "yes")));
        crowd[i] = new_carried();
        assert_answer(crowd[i], hostile_url(server));
    }
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 1);
    assert_int_equal(hostile_connections(server), CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        kl_transport_unref(crowd[i]);
    }
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
    hostile_free(server);
}

static void a_client_that_closes_ends_its_own_requests_alone(void **state)
{
    hostile_server *server = hostile_new(NULL);
    kl_transport *closes = new_carried(), *stays = new_carried();
    kl__stream *ends, *goes_on;
    kl__response response;
    kl__buf body = {0};

    (void)state;
    hostile_on(server, "/ends", STEPS(HOSTILE_FREEZE));
    hostile_on(server, "/goes-on",
               STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, "yes")));
    ends = get(closes, hostile_url(server), "/ends");
    goes_on = get(stays, hostile_url(server), "/goes-on");
    kl__transport_close(closes);
    assert_int_equal(kl__stream_response(ends, &response, soon(), NULL, NULL),
                     KL_ECLOSED);
    kl__stream_close(ends);
    kl_transport_unref(closes);
    hostile_open_gate(server, "go");
    assert_int_equal(await_head(goes_on).status, 200);
    assert_int_equal(read_to_end(goes_on, &body, NULL), KL_OK);
    kl__buf_deinit(&body);
    kl_transport_unref(stays);
    hostile_free(server);
}

typedef struct crowd_member {
    hostile_server *server;
    int number;
} crowd_member;

/* Each way in which a client may be closed, while others ask: after an answer,
 * before it, in the middle of a body; with the stream closed first, or last. */
static void *come_and_go(void *arg)
{
    static const char *const targets[] = {"/answers", "/freezes", "/stops"};
    const crowd_member *self = arg;

    for (int i = 0; i < 60; i++) {
        int way = (self->number + i) % 3;
        kl_transport *transport = new_carried();
        kl__stream *asks =
            get(transport, hostile_url(self->server), "/answers");
        kl__stream *stays =
            get(transport, hostile_url(self->server), targets[way]);

        if (i % 2 == 0) {
            assert_int_equal(read_to_end(asks, NULL, NULL), KL_OK);
        } else {
            kl__stream_close(asks);
        }
        if (i % 4 < 2) {
            kl__transport_close(transport);
            kl__stream_close(stays);
        } else {
            kl__stream_close(stays);
        }
        kl_transport_unref(transport);
    }
    return NULL;
}

static void clients_may_come_and_go_while_others_ask(void **state)
{
    enum { CROWD = 4 };
    hostile_server *server = hostile_new(NULL);
    crowd_member members[CROWD];
    pthread_t crowd[CROWD];

    (void)state;
    hostile_always(server, "/answers", STEPS(HOSTILE_ANSWER(200, "yes")));
    hostile_always(server, "/freezes", STEPS(HOSTILE_FREEZE));
    hostile_always(server, "/stops",
                   STEPS(HOSTILE_STREAM, HOSTILE_CHUNK("ye"), HOSTILE_FREEZE));
    for (int i = 0; i < CROWD; i++) {
        members[i] = (crowd_member){server, i};
        assert_int_equal(
            pthread_create(&crowd[i], NULL, come_and_go, &members[i]), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(crowd[i], NULL);
    }
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
    assert_int_equal(kl_live_count(KL_LIVE_STREAM), 0);
    hostile_free(server);
}

/* In place of the C library's: a name server that takes a moment to find
 * NAMED. */
#define NAMED "named.test"

__attribute__((visibility("default"))) int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
            struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *,
                struct addrinfo **) = NULL;
    const struct timespec moment = {.tv_nsec = 50 * 1000 * 1000};

    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node != NULL && strcmp(node, NAMED) == 0) {
        nanosleep(&moment, NULL);
        node = "127.0.0.1";
    }
    return real(node, service, hints, found);
}

/* No socket tells that the name was found: curl asks for a turn by a time. */
static void a_client_has_the_turns_that_curl_asks_for(void **state)
{
    int64_t began = kl__clock_now(kl__clock_real());
    hostile_server *server = hostile_new(NULL);
    kl_transport *transport = new_carried();
    char url[64];

    (void)state;
    hostile_on(server, "", STEPS(HOSTILE_ANSWER(200, "yes")));
    snprintf(url, sizeof(url), "http://" NAMED ":%d", hostile_port(server));
    assert_answer(transport, url);
    /* a transport without such a turn would look again after a minute */
    assert_true(kl__clock_now(kl__clock_real()) < began + 30000);
    kl_transport_unref(transport);
    hostile_free(server);
}

/* A loop whose second turn takes until `until_ms`, and whose third ends it. */
typedef struct holder {
    kl__carried carried;
    gate held;
    int turn;
    int64_t until_ms;
} holder;

static int64_t hold_thread(void *arg)
{
    holder *self = arg;

    if (self->turn++ == 1) {
        gate_pass(&self->held);
        kl__mutex_lock(&self->held.mutex);
        while (kl__cond_wait(&self->held.cond, &self->held.mutex,
                             self->until_ms)) {
        }
        kl__mutex_unlock(&self->held.mutex);
    }
    return self->turn <= 2 ? self->until_ms + HOUR_MS : KL__CARRIED_OVER;
}

/* The proxy refuses the tunnel at once; but the thread sees that when the time
 * for connecting is over. So it asks once more. */
static void the_time_of_others_is_not_that_of_a_server(void **state)
{
    enum { HELD_MS = 11000 };
    int64_t began = kl__clock_now(kl__clock_real());
    hostile_server *proxy = hostile_new(NULL);
    holder busy = {.carried = {.run = hold_thread, .arg = &busy},
                   .until_ms = began + HELD_MS};
    kl_transport *transport = new_carried();
    kl__response response;
    kl__stream *stream;
    kl_error err = {0};

    (void)state;
    gate_init(&busy.held);
    assert_int_equal(kl__carrier_join(&busy.carried, NULL), KL_OK);
    hostile_always(proxy, "CONNECT",
                   STEPS(HOSTILE_GATE("held"), HOSTILE_ANSWER(403, "no")));
    stream =
        kl__transport_open(transport,
                           &(kl__request){.method = "GET",
                                          .base_url = "https://127.0.0.1:1",
                                          .target = "/",
                                          .proxy_url = hostile_url(proxy)},
                           NULL);
    assert_true(hostile_await_requests(proxy, "CONNECT", 1));
    kl__carrier_wake(&busy.carried);
    assert_true(gate_await(&busy.held, 1));
    hostile_open_gate(proxy, "held");
    assert_int_equal(
        kl__stream_response(stream, &response, began + 3 * HELD_MS, NULL, &err),
        KL_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "does not lead to"));
    assert_true(kl__clock_now(kl__clock_real()) >= began + HELD_MS);
    kl__stream_close(stream);
    kl_transport_unref(transport);
    kl__carrier_wake(&busy.carried);
    kl__carrier_leave(&busy.carried);
    gate_deinit(&busy.held);
    hostile_free(proxy);
}

static kl_code make_and_close(void *context)
{
    kl_error err = {0};
    kl_transport *transport = kl__curl_transport_new(true, &err);

    (void)context;
    if (transport == NULL) {
        assert_true(err.message[0] != '\0');
        return err.code;
    }
    kl_transport_unref(transport);
    return KL_OK;
}

static void a_client_without_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    failing_alloc_each(make_and_close, NULL);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(loops_have_a_turn_at_once_and_when_they_are_woken),
        cmocka_unit_test(a_loop_rests_until_its_time),
        cmocka_unit_test(a_busy_loop_holds_up_no_other),
        cmocka_unit_test(a_change_of_a_socket_is_told_once),
        cmocka_unit_test(a_forgotten_socket_gives_no_turn),
        cmocka_unit_test(a_loop_that_is_woken_in_its_last_turn_has_no_other),
        cmocka_unit_test(the_thread_ends_with_the_last_loop_and_comes_again),
        cmocka_unit_test(threads_may_join_and_leave_at_the_same_time),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(a_child_of_fork_has_a_thread_of_its_own),
#endif
        cmocka_unit_test(clients_have_one_thread_and_connections_of_their_own),
        cmocka_unit_test(a_client_that_closes_ends_its_own_requests_alone),
        cmocka_unit_test(clients_may_come_and_go_while_others_ask),
        cmocka_unit_test(a_client_has_the_turns_that_curl_asks_for),
        cmocka_unit_test(the_time_of_others_is_not_that_of_a_server),
        cmocka_unit_test(a_client_without_memory_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
