/*
 * cancel_informer_spec.c - every call that blocks on an informer or on the
 * simulator is ended at random moments. spec/lint/blocking.lua reads the names
 * of the calls here.
 */
#include "gate.h"
#include "sim_client.h"
#include "trial.h"

#include "base/cancel.h"
#include "kubelua/handler.h"
#include "kubelua/memory.h"
#include "kubelua/sim.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { GONE = -1 };

typedef struct scene {
    kl__cancel cancel;
    kl_sim *sim;
    kl_transport *transport;
    kl__stream *stream;
    kl_client *client;
    kl_informer *informer;
    kl_event_queue *queue;
    kl_registration *registration;
    /* id of the thread that waits; 0: it has not begun; GONE */
    atomic_int waiter;
} scene;

static void *set_up(const trial *what)
{
    scene *self = calloc(1, sizeof(*self));

    (void)what;
    assert_non_null(self);
    return self;
}

static void begin(void *scene_)
{
    kl__cancel_init(&((scene *)scene_)->cancel);
}

static void end(void *scene_)
{
    kl__cancel_deinit(&((scene *)scene_)->cancel);
}

static void fire(void *scene_)
{
    kl__cancel_fire(&((scene *)scene_)->cancel);
}

/* ---- informers of a simulator ---- */

static void *set_up_sim(const trial *what)
{
    scene *self = set_up(what);

    self->sim = kl_sim_new(NULL, NULL);
    assert_non_null(self->sim);
    for (int i = 0; i < 8; i++) {
        char name[] = {'c', 'm', (char)('0' + i), '\0'};

        sim_add(self->sim, name);
    }
    return self;
}

static void tear_down_sim(void *scene_)
{
    scene *self = scene_;

    kl_sim_unref(self->sim);
    free(self);
}

static void open_informer(scene *self)
{
    kl_transport *transport = kl_sim_transport(self->sim, NULL);

    self->client =
        kl_client_new(&(kl_client_options){.transport = transport}, NULL);
    kl_transport_unref(transport);
    assert_non_null(self->client);
    self->informer = kl_informer_open(
        self->client, &(kl_informer_options){.resource = "configmaps"}, NULL);
    assert_non_null(self->informer);
}

static void begin_healthy(void *scene_)
{
    scene *self = scene_;

    begin(self);
    kl_sim_freeze(self->sim, false);
    kl_sim_refuse(self->sim, false);
    open_informer(self);
}

static void begin_frozen(void *scene_)
{
    begin_healthy(scene_);
    kl_sim_freeze(((scene *)scene_)->sim, true);
}

static void begin_refused(void *scene_)
{
    begin_healthy(scene_);
    kl_sim_refuse(((scene *)scene_)->sim, true);
}

static void note(void *context, kl_object *object, bool initial)
{
    (void)context;
    (void)object;
    (void)initial;
}

static void begin_handler(void *scene_)
{
    scene *self = scene_;
    kl_handler handler = {.add = note};

    begin_healthy(self);
    self->registration =
        kl_informer_add_handler(self->informer, &handler, NULL, NULL);
    assert_non_null(self->registration);
}

/* Adds a subscriber that never pulls and wants every change, so that the
 * informer has to wait for it. */
static void begin_stuck(void *scene_)
{
    scene *self = scene_;
    kl_handler_options options = {.backlog = 1, .every_change = true};

    begin_healthy(self);
    self->queue = kl_event_queue_new(NULL);
    self->registration = kl_informer_subscribe(self->informer, self->queue,
                                               self, &options, NULL);
    assert_non_null(self->registration);
    for (int i = 0; i < 4; i++) {
        sim_touch(self->sim, "cm1", i % 2 == 0 ? "even" : "odd");
    }
}

static void end_sim(void *scene_)
{
    scene *self = scene_;

    kl_sim_freeze(self->sim, false);
    kl_registration_remove(self->registration);
    kl_informer_close(self->informer);
    kl_client_unref(self->client);
    kl_event_queue_free(self->queue);
    if (self->stream != NULL) {
        kl__stream_close(self->stream);
    }
    kl_transport_unref(self->transport);
    self->registration = NULL;
    self->informer = NULL;
    self->client = NULL;
    self->queue = NULL;
    self->stream = NULL;
    self->transport = NULL;
    atomic_store(&self->waiter, 0);
    end(self);
}

static void block_synced(void *scene_)
{
    scene *self = scene_;

    atomic_store(&self->waiter, gettid());
    (void)kl_informer_wait_synced(self->informer, -1, NULL);
    atomic_store(&self->waiter, GONE);
}

static void close_client(void *scene_)
{
    kl_client_close(((scene *)scene_)->client);
}

static void close_informer(void *scene_)
{
    scene *self = scene_;

    kl_informer_close(self->informer);
    self->informer = NULL;
    self->registration = NULL;
}

/* Closes a handle while a thread waits on it; the handle is not used
 * afterwards. */
static void close_under_waiter(void *scene_)
{
    scene *self = scene_;
    int waiter = atomic_load(&self->waiter);

    while (waiter != GONE && (waiter == 0 || !is_asleep(waiter))) {
        sched_yield();
        waiter = atomic_load(&self->waiter);
    }
    close_informer(self);
}

static void remove_handler(void *scene_)
{
    scene *self = scene_;

    kl_registration_remove(self->registration);
    self->registration = NULL;
}

/* Waits until the threads of a closed client's informer have ended: they are
 * detached, so they cannot be joined. */
static void block_end(void *scene_)
{
    scene *self = scene_;
    kl_event_queue *queue = kl_event_queue_new(NULL);
    kl_registration *other;

    kl_client_close(self->client);
    while ((other = kl_informer_subscribe(self->informer, queue, self, NULL,
                                          NULL)) != NULL) {
        kl_registration_remove(other);
        usleep(200);
    }
    kl_event_queue_free(queue);
}

#define INFORMER(name, how, begin_, block_, cancel_)               \
    {                                                              \
        .call = (name), .against = (how), .set_up = set_up_sim,    \
        .begin = (begin_), .block = (block_), .cancel = (cancel_), \
        .end = end_sim, .tear_down = tear_down_sim                 \
    }

static void informers(void **state)
{
    static const trial trials[] = {
        INFORMER("kl_informer_wait_synced", "a frozen simulator", begin_frozen,
                 block_synced, close_client),
        INFORMER("kl_informer_wait_synced", "a simulator that refuses",
                 begin_refused, block_synced, close_client),
        INFORMER("kl_informer_wait_synced", "a simulator", begin_healthy,
                 block_synced, close_client),
        INFORMER("kl_informer_wait_synced", "a frozen simulator, closed",
                 begin_frozen, block_synced, close_under_waiter),
        INFORMER("kl_informer_close", "a simulator", begin_healthy,
                 close_informer, NULL),
        INFORMER("kl_informer_close", "a frozen simulator", begin_frozen,
                 close_informer, NULL),
        INFORMER("kl_informer_close", "a simulator that refuses", begin_refused,
                 close_informer, NULL),
        INFORMER("kl_informer_close", "a handler", begin_handler,
                 close_informer, NULL),
        INFORMER("kl_informer_close", "a full handler", begin_stuck,
                 close_informer, NULL),
        INFORMER("kl_registration_remove", "a handler", begin_handler,
                 remove_handler, NULL),
        INFORMER("kl_registration_remove", "a full handler", begin_stuck,
                 remove_handler, NULL),
        INFORMER("kl_client_close", "an informer, until it ends", begin_handler,
                 block_end, NULL),
        INFORMER("kl_client_close", "a full handler, until it ends",
                 begin_stuck, block_end, NULL),
    };

    (void)state;
    trials_run(trials, sizeof(trials) / sizeof(trials[0]));
}

/* ---- calls of the simulator ---- */

static void begin_stream(void *scene_)
{
    scene *self = scene_;
    kl__request request = {.method = "GET",
                           .base_url = "",
                           .target = "/api/v1/configmaps?watch=true"};

    begin(self);
    self->transport = kl_sim_transport(self->sim, NULL);
    self->stream = kl__transport_open(self->transport, &request, NULL);
    assert_non_null(self->stream);
}

static void block_stream(void *scene_)
{
    scene *self = scene_;
    char bytes[4096];
    size_t length = 1;

    while (length > 0 &&
           kl__stream_read(self->stream, bytes, sizeof(bytes), &length, -1,
                           &self->cancel, NULL) == KL_OK) {
    }
}

static void close_transport(void *scene_)
{
    kl__transport_close(((scene *)scene_)->transport);
}

static void cut(void *scene_)
{
    kl_sim_cut(((scene *)scene_)->sim);
}

/* Opens a port, and begins a watch over it. */
static void begin_port(void *scene_)
{
    scene *self = scene_;
    kl_config_options options = {0};
    kl_config *config;

    begin(self);
    self->sim = kl_sim_new(NULL, NULL);
    assert_int_equal(
        kl_sim_listen(self->sim, &(kl_sim_listen_options){0}, NULL), KL_OK);
    options.server = kl_sim_url(self->sim);
    config = kl_config_load(&options, NULL);
    self->client = kl_client_new(&(kl_client_options){.config = config}, NULL);
    kl_config_unref(config);
    self->informer = kl_informer_open(
        self->client, &(kl_informer_options){.resource = "configmaps"}, NULL);
    assert_non_null(self->informer);
}

static void unlisten(void *scene_)
{
    kl_sim_unlisten(((scene *)scene_)->sim);
}

static void unref_sim(void *scene_)
{
    scene *self = scene_;

    kl_sim_unref(self->sim);
    self->sim = NULL;
}

static void end_port(void *scene_)
{
    scene *self = scene_;

    kl_informer_close(self->informer);
    kl_client_unref(self->client);
    kl_sim_unref(self->sim);
    self->sim = NULL;
    self->informer = NULL;
    self->client = NULL;
    end(self);
}

#define STREAM(how, cancel_)                                               \
    {                                                                      \
        .call = "kl__stream_read", .against = (how), .set_up = set_up_sim, \
        .begin = begin_stream, .block = block_stream, .cancel = (cancel_), \
        .end = end_sim, .tear_down = tear_down_sim                         \
    }
#define PORT(name, block_)                                        \
    {                                                             \
        .call = (name), .against = "an informer over a port",     \
        .set_up = set_up, .begin = begin_port, .block = (block_), \
        .end = end_port, .tear_down = free, .divisor = 2          \
    }

/* kl__sim_answer_begin and kl__sim_answer_read are the bodies of the
 * simulator's streams. */
static void the_simulator(void **state)
{
    static const trial trials[] = {
        STREAM("a simulator", fire),
        STREAM("a simulator, closed", close_transport),
        STREAM("a simulator, cut", cut),
        PORT("kl_sim_unlisten", unlisten),
        PORT("kl_sim_unref", unref_sim),
    };

    (void)state;
    trials_run(trials, sizeof(trials) / sizeof(trials[0]));
}

static int nothing_lives(void **state)
{
    (void)state;
    for (int i = 0; i < KL_LIVE_KINDS; i++) {
        assert_int_equal(kl_live_count((kl_live_kind)i), 0);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(informers),
        cmocka_unit_test(the_simulator),
    };

    return cmocka_run_group_tests(specs, NULL, nothing_lives);
}
