/*
 * client_close_spec.c - when a client is closed, its informers end, whatever
 * they wait for, and deliver no more events.
 */
#include "sim_client.h"

#include "base/clock.h"
#include "kubelua/handler.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { OBJECTS = 20, PATIENCE_MS = 10000 };

typedef struct world {
    kl_sim *sim;
    kl_client *client;
    kl_informer *informer;
    kl_event_queue *queue;
    kl_registration *registration;
    atomic_int calls;
} world;

static int set_up(void **state)
{
    static world self;
    kl_transport *transport;

    self = (world){.sim = kl_sim_new(NULL, NULL)};
    assert_non_null(self.sim);
    for (int i = 0; i < OBJECTS; i++) {
        char name[16];

        snprintf(name, sizeof(name), "c%d", i);
        sim_add(self.sim, name);
    }
    transport = kl_sim_transport(self.sim, NULL);
    self.client =
        kl_client_new(&(kl_client_options){.transport = transport}, NULL);
    kl_transport_unref(transport);
    self.informer = kl_informer_open(
        self.client, &(kl_informer_options){.resource = "configmaps"}, NULL);
    assert_non_null(self.informer);
    assert_int_equal(kl_informer_wait_synced(self.informer, PATIENCE_MS, NULL),
                     KL_OK);
    self.queue = kl_event_queue_new(NULL);
    assert_non_null(self.queue);
    *state = &self;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl_registration_remove(self->registration);
    kl_informer_close(self->informer);
    kl_event_queue_free(self->queue);
    kl_client_unref(self->client);
    kl_sim_unref(self->sim);
    sim_expect_nothing_lives();
    return 0;
}

static void subscribe(world *self, size_t backlog)
{
    kl_handler_options options = {.every_change = true, .backlog = backlog};

    self->registration = kl_informer_subscribe(self->informer, self->queue,
                                               self, &options, NULL);
    assert_non_null(self->registration);
}

/* Waits until the informer refuses subscribers with KL_ECLOSED; false after ten
 * seconds. */
static bool await_end(world *self)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    kl_registration *other;
    kl_error err;

    while (kl__clock_now(kl__clock_real()) < deadline) {
        other = kl_informer_subscribe(self->informer, self->queue, NULL, NULL,
                                      &err);
        if (other == NULL) {
            return err.code == KL_ECLOSED;
        }
        kl_registration_remove(other);
        sched_yield();
    }
    return false;
}

static void a_closed_client_delivers_no_more_events(void **state)
{
    world *self = *state;
    kl_event event;

    subscribe(self, 100);
    assert_true(kl_registration_next(self->registration, &event));
    kl_client_close(self->client);
    kl_registration_done(self->registration, &event);
    assert_false(kl_registration_next(self->registration, &event));
}

static void close_in_handler(void *context, kl_object *object, bool initial)
{
    world *self = context;

    (void)object;
    (void)initial;
    atomic_fetch_add(&self->calls, 1);
    kl_client_close(self->client);
}

static void no_callback_runs_after_the_one_that_closes_the_client(void **state)
{
    world *self = *state;
    kl_handler handler = {.add = close_in_handler, .context = self};

    self->registration =
        kl_informer_add_handler(self->informer, &handler, NULL, NULL);
    assert_non_null(self->registration);
    assert_true(await_end(self));
    kl_registration_remove(self->registration);
    self->registration = NULL;
    assert_in_range(atomic_load(&self->calls), 0, 1);
}

static void closing_the_client_ends_an_informer_that_is_blocked(void **state)
{
    world *self = *state;

    subscribe(self, 1); /* its backlog is full from the start */
    for (int i = 0; i < 10; i++) {
        sim_touch(self->sim, "c1", i % 2 == 0 ? "even" : "odd");
    }
    kl_client_close(self->client);
    assert_true(await_end(self));
}

static void the_cache_can_be_read_after_the_client_is_closed(void **state)
{
    world *self = *state;
    kl_object *object;

    kl_client_close(self->client);
    assert_true(await_end(self));
    object = kl_informer_get(self->informer, "default/c3");
    assert_non_null(object);
    kl_object_unref(object);
    assert_true(kl_informer_has_synced(self->informer));
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(a_closed_client_delivers_no_more_events),
        SPEC(no_callback_runs_after_the_one_that_closes_the_client),
        SPEC(closing_the_client_ends_an_informer_that_is_blocked),
        SPEC(the_cache_can_be_read_after_the_client_is_closed),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
