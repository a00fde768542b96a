/*
 * hammer_spec.c - threads open, use and close informers of one client at
 * random, from outside and from handlers, while the simulated cluster changes
 * and cuts its streams. Nothing may leak.
 */
#include "base/clock.h"
#include "base/thread.h"
#include "kubelua/handler.h"
#include "kubelua/memory.h"
#include "kubelua/sim.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 60, PODS = 20, HANDLERS = 3 };

/* What handlers may do. */
enum { NOTHING, READS, LEAVES, CLOSES };

/* One handle and its handlers. A thread takes `informer` or a registration out
 * of its variable before it closes it, so each is closed once. */
typedef struct actor {
    _Atomic(kl_informer *) informer;
    unsigned random;    /* random state of its thread */
    atomic_int wish;    /* what its handlers do */
    atomic_int dropped; /* dropped contexts of its handlers */
} actor;

typedef struct part {
    actor *actor;
    _Atomic(kl_registration *) registration;
    kl_event_queue *queue;
} part;

static kl_client *client;
static kl_sim *sim;
static atomic_bool is_over;

static unsigned draw(actor *self, unsigned sides)
{
    self->random = self->random * 1664525u + 1013904223u;
    return (self->random >> 16) % sides;
}

static void remove_own(part *self)
{
    kl_registration_remove(atomic_exchange(&self->registration, NULL));
}

static void close_own(actor *self)
{
    kl_informer_close(atomic_exchange(&self->informer, NULL));
}

static void act(part *self)
{
    kl_informer *informer = atomic_load(&self->actor->informer);

    switch (atomic_load(&self->actor->wish)) {
    case READS:
        if (informer != NULL) {
            kl_informer_count(informer);
        }
        break;
    case LEAVES:
        remove_own(self);
        break;
    case CLOSES:
        close_own(self->actor);
        break;
    default:
        break;
    }
}

static void on_add(void *context, kl_object *object, bool initial)
{
    (void)object;
    (void)initial;
    act(context);
}

static void on_update(void *context, kl_object *old, kl_object *object)
{
    (void)old;
    (void)object;
    act(context);
}

static void on_drop(void *context)
{
    atomic_fetch_add(&((part *)context)->actor->dropped, 1);
}

static kl_code index_by_name(void *context, const kl_object *object,
                             const kl_value *root, kl_index_sink *sink)
{
    const char *name = kl_object_name(object);

    (void)context;
    (void)root;
    return kl_index_emit(sink, name, strlen(name));
}

static void add_part(actor *self, part *added)
{
    kl_handler handler = {.add = on_add,
                          .update = on_update,
                          .context = added,
                          .drop_context = on_drop};
    kl_registration *registration;

    added->actor = self;
    registration = kl_informer_add_handler(atomic_load(&self->informer),
                                           &handler, NULL, NULL);
    assert_non_null(registration);
    atomic_store(&added->registration, registration);
}

static void pull_a_little(actor *self, part *puller)
{
    kl_event event;

    puller->actor = self;
    puller->queue = kl_event_queue_new(NULL);
    atomic_store(&puller->registration,
                 kl_informer_subscribe(atomic_load(&self->informer),
                                       puller->queue, puller, NULL, NULL));
    (void)kl_event_queue_wait(puller->queue, 1);
    if (kl_event_queue_next(puller->queue) == puller) {
        kl_registration *registration = atomic_load(&puller->registration);

        while (kl_registration_next(registration, &event)) {
            kl_registration_done(registration, &event);
        }
    }
    if (draw(self, 2) == 0) {
        remove_own(puller);
    }
    kl_event_queue_free(puller->queue);
}

/* Waits until no object is left. Threads of handlers end a moment after they
 * have dropped their contexts. */
static void await_nothing_lives(void)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;
    long live;

    do {
        live = 0;
        for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
            live += kl_live_count((kl_live_kind)kind);
        }
        sched_yield();
    } while (live != 0 && kl__clock_now(kl__clock_real()) < deadline);
    assert_int_equal(live, 0);
}

static void await_dropped(actor *self)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    while (atomic_load(&self->dropped) < HANDLERS) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        sched_yield();
    }
}

/* Opens a handle, uses it and closes it. */
static void live_once(actor *self)
{
    static const char *const resources[] = {"pods", "configmaps", "Pod"};
    kl_informer_options options = {.resource = resources[draw(self, 3)],
                                   .name_space =
                                       draw(self, 2) != 0 ? "default" : NULL};
    kl_informer *informer = kl_informer_open(client, &options, NULL);
    part parts[HANDLERS + 1];

    memset(parts, 0, sizeof(parts));
    assert_non_null(informer);
    atomic_store(&self->informer, informer);
    atomic_store(&self->dropped, 0);
    atomic_store(&self->wish, (int)draw(self, CLOSES));
    for (int i = 0; i < HANDLERS; i++) {
        add_part(self, &parts[i]);
    }
    if (draw(self, 2) == 0) {
        kl_informer_wait_synced(informer, draw(self, 8), NULL);
    }
    if (draw(self, 2) == 0) {
        kl_informer_add_index(informer, "name", index_by_name, NULL, NULL,
                              NULL);
    }
    pull_a_little(self, &parts[HANDLERS]);
    remove_own(&parts[0]);
    if (draw(self, 2) == 0) {
        /* From here on a handler may close the handle first. */
        atomic_store(&self->wish, CLOSES);
    }
    close_own(self);
    await_dropped(self);
}

static void *live(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        live_once(arg);
    }
    return NULL;
}

/* Changes the cluster, and breaks its streams, until all lives are over. */
static void *churn(void *arg)
{
    char text[256];

    (void)arg;
    for (int i = 0; !atomic_load(&is_over); i++) {
        snprintf(text, sizeof(text),
                 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
                 "\"name\":\"p%d\",\"namespace\":\"default\",\"labels\":{"
                 "\"round\":\"%d\"}}}",
                 i % PODS, i);
        kl_sim_load(sim, text, strlen(text), NULL);
        if (i % 50 == 49) {
            kl_sim_cut(sim);
        }
        if (i % 200 == 199) {
            kl_sim_compact(sim);
        }
        sched_yield();
    }
    return NULL;
}

static void connect_to_sim(void)
{
    kl_transport *transport;

    sim = kl_sim_new(&(kl_sim_options){.history = 1000}, NULL);
    assert_non_null(sim);
    transport = kl_sim_transport(sim, NULL);
    assert_non_null(transport);
    client = kl_client_new(&(kl_client_options){.transport = transport}, NULL);
    assert_non_null(client);
    kl_transport_unref(transport);
}

static void nothing_leaks_in_any_order_of_closing(void **state)
{
    static actor actors[THREADS];
    kl__thread threads[THREADS], churning;

    (void)state;
    connect_to_sim();
    assert_int_equal(kl__thread_start(&churning, "churn", churn, NULL, NULL),
                     KL_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        actors[i].random = 7919 * (i + 1);
        assert_int_equal(
            kl__thread_start(&threads[i], "live", live, &actors[i], NULL),
            KL_OK);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        kl__thread_join(&threads[i]);
    }
    atomic_store(&is_over, true);
    kl__thread_join(&churning);
    kl_client_unref(client);
    kl_sim_unref(sim);
    await_nothing_lives();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_leaks_in_any_order_of_closing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
