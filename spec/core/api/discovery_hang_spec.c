/*
 * discovery_hang_spec.c - discovery of many lookups at once, and in the old
 * form of a server that hangs in part: one lookup sends the requests; a group
 * that hangs costs only its own resources; each lookup ends by its deadline,
 * and can be cancelled by itself.
 */
#include "api/discovery.h"

#include "client_rig.h"
#include "fake_transport.h"

#include "kubelua/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GROUPS = 20, AT_ONCE = 16, REST_MS = 30000 };

typedef struct world {
    fake_transport *fake;
    kl_client *client;
    kl__clock *clock; /* fake: stands still until it is advanced */
    kl_error err;
    const char *name; /* that the thread looks up */
    int64_t deadline_ms;
    kl__cancel cancel;
    kl__thread thread;
    kl_code code;
} world;

static int set_up(void **state)
{
    static world shared;

    shared = (world){.fake = fake_transport_new(), .deadline_ms = -1};
    shared.client = client_on(shared.fake);
    shared.clock = kl__clock_fake(1000000);
    kl__discovery_set_clock(kl__client_discovery(shared.client), shared.clock);
    kl__cancel_init(&shared.cancel);
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    kl__clock_fake_free(self->clock);
    kl__cancel_deinit(&self->cancel);
    assert_nothing_lives();
    return 0;
}

static int64_t in_ms(int64_t ms)
{
    return kl__clock_now(kl__clock_real()) + ms;
}

static kl_code look_up_with(world *self, const char *name, int64_t deadline_ms,
                            kl_error *err)
{
    const kl__lookup lookup = {self->client, name, deadline_ms, &self->cancel};
    kl__resource resource;
    kl_code code = kl__discovery_look_up(&lookup, &resource, err);

    kl__resource_clear(&resource);
    return code;
}

static kl_code look_up(world *self, const char *name, int64_t deadline_ms)
{
    return look_up_with(self, name, deadline_ms, &self->err);
}

static void finds(world *self, const char *name)
{
    if (look_up(self, name, -1) != KL_OK) {
        fail_msg("%s: %s", name, self->err.message);
    }
}

static void *run_lookup(void *arg)
{
    world *self = arg;
    kl_error err;

    self->code = look_up_with(self, self->name, self->deadline_ms, &err);
    return NULL;
}

static void begin_lookup(world *self, const char *name)
{
    self->name = name;
    assert_int_equal(
        kl__thread_start(&self->thread, "asker", run_lookup, self, NULL),
        KL_OK);
}

static kl_code end_lookup(world *self)
{
    kl__thread_join(&self->thread);
    return self->code;
}

/* Answers for the roots of so many groups: g1.example, g2.example, ... */
static void serve_roots(world *self, int groups)
{
    size_t size = 200 + (size_t)groups * 60;
    char *body = malloc(size);
    size_t length;

    assert_non_null(body);
    length =
        (size_t)snprintf(body, size, "{\"kind\":\"APIGroupList\",\"groups\":[");
    for (int i = 1; i <= groups; i++) {
        length += (size_t)snprintf(body + length, size - length,
                                   "%s{\"name\":\"g%d.example\",\"versions\":"
                                   "[{\"version\":\"v1\"}]}",
                                   i > 1 ? "," : "", i);
    }
    snprintf(body + length, size - length, "]}");
    fake_transport_answer(
        self->fake,
        &(fake_answer){.target = "/api$",
                       .body = "{\"kind\":\"APIVersions\",\"versions\":[]}",
                       .times = FAKE_FOREVER});
    fake_transport_answer(self->fake, &(fake_answer){.target = "/apis$",
                                                     .body = body,
                                                     .times = FAKE_FOREVER});
    free(body);
}

/* One answer for group i, which has the resource "owls<i>". */
static void serve_group(world *self, int i, bool hangs, int times)
{
    char target[60], body[300];

    snprintf(target, sizeof(target), "/apis/g%d.example/v1$", i);
    snprintf(
        body, sizeof(body),
        "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"owls%d\","
        "\"singularName\":\"\",\"namespaced\":true,\"kind\":\"Owl%d\","
        "\"verbs\":[\"list\",\"watch\"],\"shortNames\":[\"o%d\"]}]}",
        i, i, i);
    fake_transport_answer(self->fake, &(fake_answer){.target = target,
                                                     .body = body,
                                                     .holds_head = hangs,
                                                     .times = times});
}

static void serve_groups(world *self, int count, int hanging)
{
    serve_roots(self, count);
    for (int i = 1; i <= count; i++) {
        serve_group(self, i, i == hanging, FAKE_FOREVER);
    }
}

static size_t asked(world *self, int group)
{
    char target[60];

    snprintf(target, sizeof(target), "/apis/g%d.example/v1", group);
    return fake_transport_asked(self->fake, target);
}

static void groups_are_asked_at_the_same_time_sixteen_at_once(void **state)
{
    world *self = *state;

    serve_roots(self, GROUPS);
    for (int i = 1; i <= GROUPS; i++) {
        serve_group(self, i, true, FAKE_FOREVER);
    }
    begin_lookup(self, "owls20");
    assert_true(fake_transport_await(self->fake, 2 + AT_ONCE));
    assert_true(fake_transport_await_reader(self->fake, 2 + AT_ONCE - 1));
    assert_int_equal(fake_transport_count(self->fake), 2 + AT_ONCE);
    for (size_t i = 0; i < GROUPS; i++) {
        assert_true(fake_transport_await(self->fake, 2 + i + 1));
        fake_transport_release(self->fake, 2 + i);
    }
    assert_int_equal(end_lookup(self), KL_OK);
}

static void the_group_that_a_name_names_is_asked_first(void **state)
{
    world *self = *state;

    serve_groups(self, GROUPS, 0);
    finds(self, "owls20.g20.example");
    assert_string_equal(fake_transport_request(self->fake, 2).target,
                        "/apis/g20.example/v1");
    assert_int_equal(fake_transport_count(self->fake), 2 + GROUPS);
}

static void a_group_that_hangs_costs_only_its_own_resources(void **state)
{
    world *self = *state;

    serve_groups(self, 3, 1);
    finds(self, "owls3.g3.example");
    finds(self, "owls2");
    finds(self, "o3");
    assert_int_equal(look_up(self, "owls1", -1), KL_EUNKNOWN_KIND);
    assert_non_null(strstr(self->err.message, "not know g1.example/v1"));
    assert_int_equal(asked(self, 1), 1);
}

static void a_group_that_hung_is_not_waited_for_at_each_lookup(void **state)
{
    world *self = *state;

    serve_groups(self, 3, 1);
    finds(self, "owls3.g3.example");
    for (int i = 0; i < 5; i++) {
        kl__clock_advance(self->clock, 1000);
        assert_int_equal(look_up(self, "emus", -1), KL_EUNKNOWN_KIND);
    }
    assert_int_equal(asked(self, 3), 6);
    assert_int_equal(asked(self, 1), 1);
    kl__clock_advance(self->clock, REST_MS);
    assert_int_equal(look_up(self, "emus.g3.example", -1), KL_EUNKNOWN_KIND);
    assert_int_equal(asked(self, 1), 2);
}

static void what_was_known_of_a_group_that_hangs_or_fails_is_kept(void **state)
{
    world *self = *state;

    serve_roots(self, 3);
    serve_group(self, 1, false, 1);
    serve_group(self, 2, false, 1);
    serve_group(self, 1, true, FAKE_FOREVER);
    fake_transport_answer(self->fake,
                          &(fake_answer){.target = "/apis/g2.example/v1$",
                                         .status = 503,
                                         .times = FAKE_FOREVER});
    serve_group(self, 3, false, FAKE_FOREVER);
    finds(self, "owls1");
    kl__clock_advance(self->clock, 1000);
    kl__discovery_expire(self->client);
    finds(self, "owls3.g3.example");
    finds(self, "o1");
    finds(self, "o2");
    assert_int_equal(asked(self, 1), 2);
}

static void what_was_known_of_a_stale_group_is_kept(void **state)
{
    static const char *const groups[] = {
        "\"freshness\":\"Current\",\"resources\":[{\"resource\":\"owls\","
        "\"responseKind\":{\"kind\":\"Owl\"},\"scope\":\"Namespaced\","
        "\"verbs\":[\"list\",\"watch\"],\"shortNames\":[\"o\"]}]",
        "\"freshness\":\"Stale\"",
    };
    world *self = *state;

    for (size_t i = 0; i < 2; i++) {
        char body[400];

        snprintf(body, sizeof(body),
                 "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":"
                 "{\"name\":\"a\"},\"versions\":[{\"version\":\"v1\",%s}]}]}",
                 groups[i]);
        fake_transport_answer(self->fake,
                              &(fake_answer){.target = "/apis$", .body = body});
    }
    finds(self, "owls");
    kl__clock_advance(self->clock, 1000);
    kl__discovery_expire(self->client);
    finds(self, "o");
    assert_int_equal(fake_transport_count(self->fake), 4);
}

static void a_lookup_ends_by_its_deadline(void **state)
{
    world *self = *state;

    fake_transport_answer(
        self->fake, &(fake_answer){.target = "/api$", .holds_head = true});
    assert_int_equal(look_up(self, "owls1", in_ms(300)), KL_ETIMEOUT);
    assert_non_null(strstr(self->err.message, "discovery was not complete"));
    serve_groups(self, 1, 0);
    finds(self, "owls1");
}

static void what_was_learned_until_the_deadline_is_kept(void **state)
{
    world *self = *state;

    serve_groups(self, 3, 1);
    assert_int_equal(look_up(self, "emus", in_ms(400)), KL_ETIMEOUT);
    finds(self, "owls2");
    assert_int_equal(asked(self, 1), 1);
    /* it had no time to show that it hangs, so it is asked again */
    assert_int_equal(look_up(self, "owls1", in_ms(400)), KL_ETIMEOUT);
    assert_int_equal(asked(self, 1), 2);
    finds(self, "owls3");
}

static void a_lookup_goes_on_when_a_hurried_one_has_ended(void **state)
{
    world *self = *state;

    fake_transport_answer(
        self->fake, &(fake_answer){.target = "/api$", .holds_head = true});
    serve_groups(self, 1, 0);
    self->deadline_ms = in_ms(500);
    begin_lookup(self, "owls1");
    assert_true(fake_transport_await_reader(self->fake, 0));
    finds(self, "o1");
    assert_int_equal(end_lookup(self), KL_ETIMEOUT);
}

static void a_waiting_lookup_ends_by_its_own_deadline(void **state)
{
    world *self = *state;

    fake_transport_answer(
        self->fake, &(fake_answer){.target = "/api$", .holds_head = true});
    serve_groups(self, 1, 0);
    begin_lookup(self, "owls1");
    assert_true(fake_transport_await_reader(self->fake, 0));
    assert_int_equal(look_up(self, "o1", in_ms(50)), KL_ETIMEOUT);
    fake_transport_release(self->fake, 0);
    kl__thread_join(&self->thread);
    assert_int_equal(self->code, KL_EPARSE); /* the answer has no body */
}

static void a_lookup_can_be_cancelled_while_a_group_hangs(void **state)
{
    world *self = *state;

    serve_groups(self, 3, 1);
    begin_lookup(self, "owls1.g1.example");
    assert_true(fake_transport_await(self->fake, 5));
    kl__cancel_fire(&self->cancel);
    assert_int_equal(end_lookup(self), KL_ECANCELED);
}

static void a_close_ends_a_lookup_while_a_group_hangs(void **state)
{
    world *self = *state;

    serve_groups(self, 3, 1);
    begin_lookup(self, "owls1.g1.example");
    assert_true(fake_transport_await(self->fake, 5));
    kl_client_close(self->client);
    assert_int_equal(end_lookup(self), KL_ECLOSED);
}

static void a_401_for_a_group_is_asked_again_once(void **state)
{
    world *self = *state;

    serve_roots(self, 2);
    fake_transport_answer(
        self->fake,
        &(fake_answer){.target = "/apis/g1.example/v1$", .status = 401});
    serve_group(self, 1, false, 1);
    serve_group(self, 2, false, 1);
    finds(self, "owls1");
    finds(self, "owls2");
    assert_int_equal(asked(self, 1), 2);
}

static void more_than_5000_versions_are_refused(void **state)
{
    world *self = *state;

    serve_roots(self, 50000);
    assert_int_equal(look_up(self, "owls", -1), KL_ETOO_LARGE);
    assert_non_null(strstr(self->err.message, "more than 5000 groups"));
    assert_int_equal(fake_transport_count(self->fake), 2);
}

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

typedef struct crowd {
    fake_transport *fake;
    kl_client *client;
    asker askers[ASKERS];
    int count;
} crowd;

static int set_up_crowd(void **state)
{
    static crowd shared;

    shared = (crowd){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    *state = &shared;
    return 0;
}

static int tear_down_crowd(void **state)
{
    crowd *self = *state;

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

static asker *send_asker(crowd *self, const char *name)
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

static void hold_first_request(crowd *self)
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
        crowd *self = *state;

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
        tear_down_crowd(state);
        set_up_crowd(state);
    }
}

static void concurrent_lookups_share_one_failure(void **state)
{
    crowd *self = *state;

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
    crowd *self = *state;
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
    crowd *self = *state;
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
    crowd *self = *state;

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

#define CROWD_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_crowd, tear_down_crowd)

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SPEC(groups_are_asked_at_the_same_time_sixteen_at_once),
        SPEC(the_group_that_a_name_names_is_asked_first),
        SPEC(a_group_that_hangs_costs_only_its_own_resources),
        SPEC(a_group_that_hung_is_not_waited_for_at_each_lookup),
        SPEC(what_was_known_of_a_group_that_hangs_or_fails_is_kept),
        SPEC(what_was_known_of_a_stale_group_is_kept),
        SPEC(a_lookup_ends_by_its_deadline),
        SPEC(what_was_learned_until_the_deadline_is_kept),
        SPEC(a_lookup_goes_on_when_a_hurried_one_has_ended),
        SPEC(a_waiting_lookup_ends_by_its_own_deadline),
        SPEC(a_lookup_can_be_cancelled_while_a_group_hangs),
        SPEC(a_close_ends_a_lookup_while_a_group_hangs),
        SPEC(a_401_for_a_group_is_asked_again_once),
        SPEC(more_than_5000_versions_are_refused),
        CROWD_SPEC(concurrent_lookups_share_one_answer),
        CROWD_SPEC(concurrent_lookups_share_one_failure),
        CROWD_SPEC(a_cancelled_lookup_does_not_end_the_refresh),
        CROWD_SPEC(a_cancelled_refresh_is_taken_over),
        CROWD_SPEC(closing_the_client_ends_all_lookups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
