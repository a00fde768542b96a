/*
 * discovery_flight_spec.c - of many lookups at the same time, one sends the
 * requests; and each can be cancelled by itself.
 */
#include "api/discovery.h"

#include "fake_transport.h"
#include "kubelua/client.h"
#include "client_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ASKERS = 8 };

typedef struct asker {
    kl_client *client;
    const char *name;
    kl__cancel cancel;
    kl__thread thread;
    kl_error err;
    kl_code code;
    atomic_bool is_back;
} asker;

typedef struct world {
    fake_transport *fake;
    kl_client *client;
    asker askers[ASKERS];
    int count;
} world;

static int set_up(void **state)
{
    static world shared;

    shared = (world){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    assert_nothing_lives();
    return 0;
}

static void *ask(void *arg)
{
    asker *self = arg;
    kl__resource resource;

    self->code = kl__discovery_resolve(self->client, self->name, &resource,
                                       &self->cancel, &self->err);
    kl__resource_clear(&resource);
    atomic_store(&self->is_back, true);
    return NULL;
}

static asker *send_asker(world *self, const char *name)
{
    asker *new = &self->askers[self->count++];

    new->client = self->client;
    new->name = name;
    atomic_init(&new->is_back, false);
    kl__cancel_init(&new->cancel);
    assert_int_equal(kl__thread_start(&new->thread, "asker", ask, new, NULL),
                     KL_OK);
    return new;
}

static kl_code await_asker(asker *self)
{
    kl__thread_join(&self->thread);
    kl__cancel_deinit(&self->cancel);
    return self->code;
}

static void hold_first_request(world *self)
{
    fake_transport_answer(self->fake, &(fake_answer){.target = "/api$",
                                                     .body = served_api,
                                                     .holds_head = true});
    serve_discovery(self->fake, FAKE_FOREVER);
}

/* Some lookups come before the requests are sent, some while they are under
 * way, some after the answer. That depends on the scheduler, so it is done many
 * times. */
static void concurrent_lookups_share_one_answer(void **state)
{
    static const char *const names[] = {"pods", "po", "deploy", "events"};

    for (int round = 0; round < 20; round++) {
        world *self = *state;

        hold_first_request(self);
        for (int i = 0; i < ASKERS; i++) {
            send_asker(self, names[i % 4]);
        }
        assert_true(fake_transport_await_reader(self->fake, 0));
        fake_transport_release(self->fake, 0);
        for (int i = 0; i < ASKERS; i++) {
            assert_int_equal(await_asker(&self->askers[i]), KL_OK);
        }
        assert_int_equal(fake_transport_count(self->fake), 2);
        tear_down(state);
        set_up(state);
    }
}

static void concurrent_lookups_share_one_failure(void **state)
{
    world *self = *state;

    /* A lookup that comes after the failure sends requests of its own. */
    fake_transport_answer(self->fake, &(fake_answer){.failure = KL_EUNAVAILABLE,
                                                     .times = FAKE_FOREVER});
    for (int i = 0; i < ASKERS; i++) {
        send_asker(self, "pods");
    }
    for (int i = 0; i < ASKERS; i++) {
        assert_int_equal(await_asker(&self->askers[i]), KL_EUNAVAILABLE);
        assert_int_equal(self->askers[i].err.code, KL_EUNAVAILABLE);
    }
    assert_in_range(fake_transport_count(self->fake), 1, ASKERS);
}

static void a_cancelled_lookup_does_not_end_the_refresh(void **state)
{
    world *self = *state;
    asker *pilot, *passenger;

    hold_first_request(self);
    pilot = send_asker(self, "pods");
    assert_true(fake_transport_await_reader(self->fake, 0));
    passenger = send_asker(self, "pods");
    kl__cancel_fire(&passenger->cancel);
    assert_int_equal(await_asker(passenger), KL_ECANCELED);
    assert_false(atomic_load(&pilot->is_back));
    fake_transport_release(self->fake, 0);
    assert_int_equal(await_asker(pilot), KL_OK);
}

static void a_cancelled_refresh_is_taken_over(void **state)
{
    world *self = *state;
    asker *pilot, *passenger;

    hold_first_request(self);
    pilot = send_asker(self, "pods");
    assert_true(fake_transport_await_reader(self->fake, 0));
    passenger = send_asker(self, "deploy");
    kl__cancel_fire(&pilot->cancel);
    assert_int_equal(await_asker(pilot), KL_ECANCELED);
    assert_int_equal(await_asker(passenger), KL_OK);
    assert_int_equal(fake_transport_count(self->fake), 3);
}

static void closing_the_client_ends_all_lookups(void **state)
{
    world *self = *state;

    hold_first_request(self);
    for (int i = 0; i < ASKERS; i++) {
        send_asker(self, "pods");
    }
    assert_true(fake_transport_await_reader(self->fake, 0));
    kl_client_close(self->client);
    for (int i = 0; i < ASKERS; i++) {
        assert_int_equal(await_asker(&self->askers[i]), KL_ECLOSED);
    }
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SPEC(concurrent_lookups_share_one_answer),
        SPEC(concurrent_lookups_share_one_failure),
        SPEC(a_cancelled_lookup_does_not_end_the_refresh),
        SPEC(a_cancelled_refresh_is_taken_over),
        SPEC(closing_the_client_ends_all_lookups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
