/*
 * request_loop_spec.c - requesters that share a thread (api/request_loop.h),
 * and requests of many clients that do.
 */
#include "client_rig.h"
#include "failing_alloc.h"
#include "gate.h"
#include "hostile_server.h"

#include "api/request_loop.h"
#include "base/clock.h"
#include "kubelua/memory.h"
#include "kubelua/request.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    CLIENTS = 60,
    HOUR_MS = 3600000,
    /* that a busy machine may take for what happens at once; far below the
     * timeout of a request */
    MOMENT_MS = 10000,
    LONG_MS = 120000
};

static int64_t now_ms(void)
{
    return kl__clock_now(kl__clock_real());
}

/* ---- members ---- */

/* A member that counts its turns, and is over when it is told. */
typedef struct counter {
    kl__loop_member member;
    gate turns;            /* passed in each turn */
    _Atomic int64_t rest;  /* what a turn returns */
    _Atomic int64_t until; /* what the first turn returns; 0: `rest` */
    atomic_bool ends;
    _Atomic pthread_t thread; /* of the turns */
    bool wakes_at_end;        /* the last turn wakes the member */
    atomic_int ended;         /* last turns */
} counter;

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
    gate_pass(&self->turns);
    if (atomic_load(&self->ends)) {
        self->ended++;
        if (self->wakes_at_end) {
            kl__request_loop_wake(&self->member);
        }
        return KL__LOOP_OVER;
    }
    until = atomic_exchange(&self->until, 0);
    return until != 0 ? until : atomic_load(&self->rest);
}

static void init(counter *self)
{
    memset(self, 0, sizeof(*self));
    gate_init(&self->turns);
    self->rest = INT64_MAX;
    self->member.run = run_counter;
    self->member.arg = self;
}

static void join(counter *self)
{
    kl_error err;

    assert_int_equal(kl__request_loop_join(&self->member, true, &err), KL_OK);
}

static void leave(counter *self)
{
    atomic_store(&self->ends, true);
    kl__request_loop_wake(&self->member);
    kl__request_loop_leave(&self->member);
    gate_deinit(&self->turns);
}

static void members_have_a_turn_at_once_and_when_they_are_woken(void **state)
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
        kl__request_loop_wake(&one.member);
        kl__request_loop_wake(&two.member);
    }
    assert_true(pthread_equal(one.thread, two.thread));
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 1);
    leave(&one);
    leave(&two);
}

static void a_member_rests_until_its_time(void **state)
{
    int64_t began = now_ms();
    counter never, late, soon, later;

    (void)state;
    init(&never);
    init(&late);
    init(&soon);
    init(&later);
    late.until = began + 120;
    soon.until = began + 60;
    later.until = began + HOUR_MS;
    join(&never);
    join(&late);
    join(&soon);
    join(&later);
    assert_true(gate_await(&soon.turns, 2));
    assert_true(now_ms() >= began + 60);
    assert_true(gate_await(&late.turns, 2));
    assert_true(now_ms() >= began + 120);
    assert_int_equal(count_turns(&never), 1);
    assert_int_equal(count_turns(&later), 1);
    leave(&never);
    leave(&late);
    leave(&soon);
    leave(&later);
}

/* One asks for a turn again and again. */
static void a_busy_member_holds_up_no_other(void **state)
{
    counter busy, woken, late;

    (void)state;
    init(&busy);
    busy.rest = KL__LOOP_AGAIN;
    join(&busy);
    init(&woken);
    join(&woken);
    assert_true(gate_await(&woken.turns, 1));
    kl__request_loop_wake(&woken.member);
    assert_true(gate_await(&woken.turns, 2));
    init(&late);
    late.until = now_ms() + 10;
    join(&late);
    assert_true(gate_await(&late.turns, 2));
    assert_true(gate_await(&busy.turns, 1000));
    leave(&busy);
    leave(&woken);
    leave(&late);
}

/* As news does that comes while a client is freed. */
static void a_member_that_is_woken_in_its_last_turn_has_no_other(void **state)
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
    kl__request_loop_wake(&self.member);
    kl__request_loop_leave(&self.member);
    for (int i = 1; i <= 100; i++) {
        assert_true(gate_await(&other.turns, i));
        kl__request_loop_wake(&other.member);
    }
    assert_int_equal(self.ended, 1);
    gate_deinit(&self.turns);
    leave(&other);
}

static void the_thread_ends_with_the_last_member_and_comes_again(void **state)
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
        kl__request_loop_wake(&self.member);
        leave(&self);
    }
    return NULL;
}

static void members_may_join_and_leave_at_the_same_time(void **state)
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

static kl_code join_once(void *context)
{
    counter self;
    kl_error err = {0};
    kl_code code;

    (void)context;
    init(&self);
    code = kl__request_loop_join(&self.member, true, &err);
    if (code == KL_OK) {
        leave(&self);
    } else {
        assert_true(err.message[0] != '\0');
        gate_deinit(&self.turns);
    }
    return code;
}

static void a_member_without_memory_leaves_no_thread_behind(void **state)
{
    (void)state;
    failing_alloc_each(join_once, NULL);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

/* ---- clients ---- */

typedef struct world {
    hostile_server *server;
    kl_client *clients[CLIENTS];
    kl_request *requests[CLIENTS];
} world;

static kl_client *connect(const hostile_server *server, bool shares_thread)
{
    kl_config *config = kl_config_load(
        &(kl_config_options){.server = hostile_url(server)}, NULL);
    kl_client *client;

    assert_non_null(config);
    client = kl_client_new(
        &(kl_client_options){.config = config, .shares_thread = shares_thread},
        NULL);
    assert_non_null(client);
    kl_config_unref(config);
    return client;
}

static int set_up_clients(void **state)
{
    static world shared;

    shared = (world){.server = hostile_new(NULL)};
    hostile_always(shared.server, "GET /answers",
                   STEPS(HOSTILE_ANSWER(200, "yes")));
    hostile_always(shared.server, "GET /silent", STEPS(HOSTILE_FREEZE));
    hostile_always(shared.server, "GET /waits",
                   STEPS(HOSTILE_GATE("go"), HOSTILE_ANSWER(200, "yes")));
    for (int i = 0; i < CLIENTS; i++) {
        shared.clients[i] = connect(shared.server, true);
    }
    *state = &shared;
    return 0;
}

static int tear_down_clients(void **state)
{
    world *self = *state;

    for (int i = 0; i < CLIENTS; i++) {
        kl_request_free(self->requests[i]);
        kl_client_unref(self->clients[i]);
    }
    hostile_free(self->server);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
    assert_nothing_lives();
    return 0;
}

static kl_request *send_it(kl_client *client, const char *target,
                           int timeout_ms)
{
    const kl_call call = {
        .method = "GET", .target = target, .timeout_ms = timeout_ms};
    kl_error err;
    kl_request *request = kl_client_send(client, &call, NULL, NULL, &err);

    if (request == NULL) {
        fail_msg("%s", err.message);
    }
    return request;
}

static void send_all(world *self, const char *target, int timeout_ms)
{
    for (int i = 0; i < CLIENTS; i++) {
        self->requests[i] = send_it(self->clients[i], target, timeout_ms);
    }
}

/* Waits until a request is complete. If the server has answered, returns the
 * HTTP status; else returns 0, and sets `failure`. */
static int await_status(kl_request *request, kl_code *failure)
{
    kl_reply reply;
    int status;

    assert_int_equal(kl_request_wait(request, LONG_MS / 2), KL_OK);
    *failure = kl_request_result(request, &reply, NULL);
    status = reply.status;
    kl_reply_clear(&reply);
    return status;
}

/* The thread of their connections, and that of their requests. */
static void clients_that_share_a_thread_have_two(void **state)
{
    world *self = *state;
    kl_client *own = connect(self->server, false);
    kl_code failure;

    send_all(self, "/answers", LONG_MS);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(await_status(self->requests[i], &failure), 200);
        kl_request_free(self->requests[i]);
        self->requests[i] = NULL;
    }
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 2 + 1);
    send_all(self, "/silent", LONG_MS);
    assert_true(hostile_await_requests(self->server, "GET /silent", CLIENTS));
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 2 + 1);
    kl_request_free(send_it(own, "/silent", LONG_MS));
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 2 + 2);
    kl_client_unref(own);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 2);
}

static void a_timeout_comes_in_time_while_all_servers_are_silent(void **state)
{
    world *self = *state;
    int64_t began = now_ms();

    for (int i = 0; i < CLIENTS; i++) {
        self->requests[i] = send_it(self->clients[i], "/silent",
                                    i % 2 == 0 ? 50 + 5 * i : LONG_MS);
    }
    for (int i = 0; i < CLIENTS; i += 2) {
        kl_code failure;

        assert_int_equal(await_status(self->requests[i], &failure), 0);
        assert_int_equal(failure, KL_ETIMEOUT);
        assert_in_range(now_ms() - began, 50 + 5 * i, MOMENT_MS);
        assert_false(kl_request_is_complete(self->requests[i + 1]));
    }
}

static void a_close_ends_requests_of_its_client_alone(void **state)
{
    world *self = *state;
    int64_t began;
    kl_code failure;

    send_all(self, "/waits", LONG_MS);
    assert_true(hostile_await_gate(self->server, "go", CLIENTS));
    began = now_ms();
    for (int i = 0; i < CLIENTS / 2; i++) {
        kl_client_close(self->clients[i]);
        assert_int_equal(await_status(self->requests[i], &failure), 0);
        assert_int_equal(failure, KL_ECLOSED);
        kl_request_free(self->requests[i]);
        self->requests[i] = NULL;
        kl_client_unref(self->clients[i]);
        self->clients[i] = NULL;
    }
    assert_in_range(now_ms() - began, 0, MOMENT_MS);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 2);
    for (int i = CLIENTS / 2; i < CLIENTS; i++) {
        assert_false(kl_request_is_complete(self->requests[i]));
    }
    hostile_open_gate(self->server, "go");
    for (int i = CLIENTS / 2; i < CLIENTS; i++) {
        assert_int_equal(await_status(self->requests[i], &failure), 200);
    }
}

/* The free of a client waits for its own requests only. */
static void a_client_is_freed_with_requests_that_were_not_answered(void **state)
{
    world *self = *state;
    int64_t began;

    send_all(self, "/silent", LONG_MS);
    began = now_ms();
    for (int i = 0; i < CLIENTS - 1; i++) {
        kl_request_free(self->requests[i]);
        self->requests[i] = NULL;
        kl_client_unref(self->clients[i]);
        self->clients[i] = NULL;
    }
    assert_in_range(now_ms() - began, 0, MOMENT_MS);
    assert_false(kl_request_is_complete(self->requests[CLIENTS - 1]));
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 2);
}

#ifndef __SANITIZE_THREAD__ /* which allows no thread after a fork */
static void a_child_of_fork_has_a_thread_of_its_own(void **state)
{
    world *self = *state;
    int status = -1;
    kl_code failure;
    pid_t child;

    self->requests[0] = send_it(self->clients[0], "/waits", LONG_MS);
    /* then no thread allocates: a lock of AddressSanitizer's outlives no fork
     */
    assert_true(hostile_await_gate(self->server, "go", 1));
    child = fork();
    if (child == 0) {
        kl_client *client;
        kl_request *request;

        alarm(20); /* a call that waits for ever ends the child */
        client = connect(self->server, true);
        request = send_it(client, "/answers", LONG_MS);
        status = await_status(request, &failure);
        kl_request_free(request);
        kl_client_unref(client);
        _exit(status == 200 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hostile_open_gate(self->server, "go");
    assert_int_equal(await_status(self->requests[0], &failure), 200);
}
#endif

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_clients, tear_down_clients)

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(members_have_a_turn_at_once_and_when_they_are_woken),
        cmocka_unit_test(a_member_rests_until_its_time),
        cmocka_unit_test(a_busy_member_holds_up_no_other),
        cmocka_unit_test(a_member_that_is_woken_in_its_last_turn_has_no_other),
        cmocka_unit_test(the_thread_ends_with_the_last_member_and_comes_again),
        cmocka_unit_test(members_may_join_and_leave_at_the_same_time),
        cmocka_unit_test(a_member_without_memory_leaves_no_thread_behind),
        SPEC(clients_that_share_a_thread_have_two),
        SPEC(a_timeout_comes_in_time_while_all_servers_are_silent),
        SPEC(a_close_ends_requests_of_its_client_alone),
        SPEC(a_client_is_freed_with_requests_that_were_not_answered),
#ifndef __SANITIZE_THREAD__
        SPEC(a_child_of_fork_has_a_thread_of_its_own),
#endif
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
