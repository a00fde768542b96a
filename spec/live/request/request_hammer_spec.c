/*
 * request_hammer_spec.c - threads send, cancel, read and free requests of one
 * client at random, while the simulated cluster cuts and delays, and in the end
 * the client is closed. Each request ends once, and none is left.
 */
#include "base/thread.h"
#include "kubelua/kubelua.h"
#include "kubelua/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

enum { THREADS = 4, ROUNDS = 150, SLOTS = 12, PATIENCE_MS = 60000 };

static kl_sim *sim;
static kl_client *client;
static atomic_bool is_over;
static atomic_bool is_answered; /* an answer has come to any actor */

typedef struct slot {
    kl_request *request; /* NULL: free */
    bool streams;
} slot;

typedef struct actor {
    kl_event_queue *queue;
    slot slots[SLOTS];
    unsigned random;
    unsigned answers, failures;
    bool failed; /* a rule was broken */
} actor;

static unsigned draw(actor *self, unsigned sides)
{
    self->random = self->random * 1664525u + 1013904223u;
    return (self->random >> 16) % sides;
}

static void send_one(actor *self, slot *at)
{
    static const kl_call calls[] = {
        {.method = "GET", .target = CONFIGMAPS},
        {.method = "GET", .target = "/version", .no_retry = true},
        {.method = "GET", .target = CONFIGMAPS, .timeout_ms = 1},
        {.method = "POST",
         .target = CONFIGMAPS,
         .body = "{}",
         .body_length = 2},
        {.method = "DELETE", .target = CONFIGMAPS "/none"},
        {.method = "GET", .target = CONFIGMAPS "?watch=true", .streams = true},
        {.method = "GET", .target = "/nowhere", .streams = true},
    };
    const kl_call *call = &calls[draw(self, sizeof(calls) / sizeof(calls[0]))];
    kl_error err;

    at->streams = call->streams;
    at->request = kl_client_send(client, call, self->queue, at, &err);
    if (at->request == NULL && err.code != KL_ECLOSED) {
        self->failed = true;
    }
}

static void free_one(slot *at)
{
    kl_request_free(at->request);
    at->request = NULL;
}

/* Takes the result of a request whose tag came. */
static void take_one(actor *self, slot *at)
{
    char bytes[512];
    kl_reply reply;
    size_t length;
    kl_error err;

    if (at->request == NULL) {
        self->failed = true; /* it was freed, so its tag must not come */
        return;
    }
    if (kl_request_result(at->request, &reply, &err) == KL_OK) {
        self->answers++;
        atomic_store(&is_answered, true);
    } else if (err.code == KL_EINVAL) {
        /* its result was taken before */
        self->failed = self->failed || !at->streams;
    } else {
        self->failures++;
    }
    kl_reply_clear(&reply);
    if (at->streams && draw(self, 4) != 0) {
        while (kl_request_read(at->request, bytes, sizeof(bytes), &length,
                               &err) == KL_OK &&
               length != 0) {
        }
        return;
    }
    free_one(at);
}

static void do_something(actor *self)
{
    slot *at = &self->slots[draw(self, SLOTS)];

    if (at->request == NULL) {
        send_one(self, at);
    } else if (draw(self, 3) == 0) {
        kl_request_cancel(at->request);
    } else if (draw(self, 3) == 0) {
        free_one(at);
    }
}

static void take_all(actor *self)
{
    slot *at;

    while ((at = kl_event_queue_next(self->queue)) != NULL) {
        take_one(self, at);
    }
}

static void *act(void *arg)
{
    actor *self = arg;

    for (int i = 0; i < ROUNDS || !atomic_load(&is_over); i++) {
        for (unsigned n = draw(self, 4); n > 0; n--) {
            do_something(self);
        }
        (void)kl_event_queue_wait(self->queue, 2);
        take_all(self);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (self->slots[i].request != NULL &&
            kl_request_wait(self->slots[i].request, PATIENCE_MS) != KL_OK) {
            self->failed = true; /* it never ended */
        }
        free_one(&self->slots[i]);
    }
    if (kl_event_queue_next(self->queue) != NULL) {
        self->failed = true;
    }
    return NULL;
}

static void order(const char *fault)
{
    assert_int_equal(kl_sim_fault(sim, fault, strlen(fault), NULL, NULL),
                     KL_OK);
}

/* Makes trouble on the cluster, on the spec's own thread. */
static void disturb(void)
{
    order("{\"action\":\"delay\",\"before\":0.005,\"count\":0}");
    order("{\"action\":\"cut\",\"verb\":\"create\",\"count\":20}");
    for (int i = 0; i < 40; i++) {
        kl_sim_cut(sim);
        if (i % 10 == 5) {
            kl_sim_refuse(sim, true);
            kl_sim_refuse(sim, false);
        }
        /* gives the actors time */
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
}

/* Waits until some actor has an answer: on a slow machine a handshake may take
 * longer than the time between two cuts. */
static void await_answer(void)
{
    for (int ms = 0; ms < PATIENCE_MS && !atomic_load(&is_answered); ms += 5) {
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
}

static kl_client *connect(bool is_inside)
{
    kl_transport *transport = NULL;
    kl_config *config = NULL;
    kl_client *made;

    if (is_inside) {
        transport = kl_sim_transport(sim, NULL);
    } else {
        config = kl_config_load(
            &(kl_config_options){.server = kl_sim_url(sim), .insecure = true},
            NULL);
    }
    made = kl_client_new(
        &(kl_client_options){.config = config, .transport = transport}, NULL);
    assert_non_null(made);
    kl_transport_unref(transport);
    kl_config_unref(config);
    return made;
}

static void hammer(bool is_inside)
{
    static actor actors[THREADS];
    kl__thread threads[THREADS];
    unsigned answers = 0, failures = 0;

    atomic_store(&is_over, false);
    atomic_store(&is_answered, false);
    sim = kl_sim_new(NULL, NULL);
    if (!is_inside) {
        assert_int_equal(
            kl_sim_listen(sim, &(kl_sim_listen_options){.tls = true}, NULL),
            KL_OK);
    }
    client = connect(is_inside);
    for (unsigned i = 0; i < THREADS; i++) {
        actors[i] =
            (actor){.queue = kl_event_queue_new(NULL), .random = 7 + i * 977};
        assert_int_equal(
            kl__thread_start(&threads[i], "actor", act, &actors[i], NULL),
            KL_OK);
    }
    disturb();
    await_answer();
    kl_client_close(client);
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++) {
        kl__thread_join(&threads[i]);
        assert_false(actors[i].failed);
        answers += actors[i].answers;
        failures += actors[i].failures;
        kl_event_queue_free(actors[i].queue);
    }
    print_message("%u answers, %u failures\n", answers, failures);
    assert_true(answers > 0 && failures > 0);
    kl_client_unref(client);
    kl_sim_unref(sim);
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        assert_int_equal(kl_live_count((kl_live_kind)kind), 0);
    }
}

static void concurrent_requests_end_once_in_process(void **state)
{
    (void)state;
    hammer(true);
}

static void concurrent_requests_end_once_over_tls(void **state)
{
    (void)state;
    hammer(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concurrent_requests_end_once_in_process),
        cmocka_unit_test(concurrent_requests_end_once_over_tls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
