/*
 * discovery_rest_spec.c - lookups and sources that hold no thread while
 * discovery is silent: they lend their turn, are woken once by what comes, and
 * go on; one that asks the server for others hands over when it is dropped.
 */
#include "api/discovery.h"

#include "client_rig.h"
#include "fake_transport.h"

#include "base/clock.h"
#include "kubelua/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A lookup, and how often it was woken. */
typedef struct rest {
    kl__search search;
    kl__stream_turn turn;
    int wakes;
} rest;

typedef struct world {
    fake_transport *fake;
    kl_client *client;
    kl__list_watch *source;
    rest one, other;
    kl__cancel cancel;
    kl_error err;
} world;

static int set_up(void **state)
{
    static world shared;

    shared = (world){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    kl__cancel_init(&shared.cancel);
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl__list_watch_free(self->source);
    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    kl__cancel_deinit(&self->cancel);
    assert_nothing_lives();
    return 0;
}

/* ---- answers ---- */

static void answer(world *self, const char *target, const char *body)
{
    fake_transport_answer(self->fake,
                          &(fake_answer){.target = target, .body = body});
}

/* It comes when fake_transport_release is called. */
static void answer_late(world *self, const char *target, const char *body)
{
    fake_transport_answer(
        self->fake,
        &(fake_answer){.target = target, .body = body, .holds_head = true});
}

/* Two groups in the old form. */
static void answer_in_the_old_form(world *self)
{
    answer(self, "/api$", "{\"kind\":\"APIVersions\",\"versions\":[]}");
    answer(self, "/apis$",
           "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"a.example\","
           "\"versions\":[{\"version\":\"v1\"}]},{\"name\":\"b.example\","
           "\"versions\":[{\"version\":\"v1\"}]}]}");
}

#define KINDS(plural, kind)                                            \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"" plural \
    "\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"" kind    \
    "\",\"verbs\":[\"list\",\"watch\"]}]}"

/* ---- lookups ---- */

static void wake(void *arg)
{
    ((rest *)arg)->wakes++;
}

static void begin_until(world *self, rest *one, const char *name,
                        int64_t deadline_ms)
{
    const kl__lookup lookup = {self->client, name, deadline_ms, &self->cancel};

    *one = (rest){.turn = {.wake = wake, .arg = one}};
    kl__search_begin(&one->search, &lookup);
}

static void begin(world *self, rest *one, const char *name)
{
    begin_until(self, one, name, -1);
}

static bool step(world *self, rest *one)
{
    kl__resource resource;
    bool is_over;

    kl__search_retract(&one->search);
    is_over = kl__search_step(&one->search, &resource, &self->err);
    kl__resource_clear(&resource);
    return is_over;
}

/* It has to wait, and lends its turn. */
static void rests(world *self, rest *one)
{
    assert_false(step(self, one));
    one->wakes = 0;
    assert_true(kl__search_lend(&one->search, &one->turn));
    assert_int_equal(one->wakes, 0);
}

/* It was woken, and is over. */
static void ends(world *self, rest *one, kl_code code)
{
    assert_int_equal(one->wakes, 1);
    assert_true(step(self, one));
    assert_int_equal(self->err.code, code);
    kl__search_end(&one->search);
}

static void a_lookup_rests_until_each_answer_comes(void **state)
{
    world *self = *state;
    rest *one = &self->one;

    answer_late(self, "/api$", served_api);
    answer_late(self, "/apis$", served_apis);
    begin(self, one, "deploy");
    rests(self, one);
    fake_transport_release(self->fake, 0);
    assert_int_equal(one->wakes, 1);
    rests(self, one);
    assert_int_equal(fake_transport_count(self->fake), 2);
    fake_transport_release(self->fake, 1);
    ends(self, one, KL_OK);
}

static void a_lookup_rests_in_the_middle_of_an_answer(void **state)
{
    world *self = *state;
    rest *one = &self->one;

    fake_transport_answer(
        self->fake,
        &(fake_answer){.target = "/api$",
                       .body = "{\"kind\":\"APIGroupDiscoveryList\",",
                       .end = FAKE_HOLD});
    answer(self, "/apis$", served_apis);
    begin(self, one, "deploy");
    rests(self, one);
    fake_transport_send(self->fake, 0, "\"items\":[]}");
    assert_int_equal(one->wakes, 1);
    rests(self, one);
    fake_transport_finish(self->fake, 0, FAKE_CLOSE);
    ends(self, one, KL_OK);
}

static void an_answer_before_the_turn_is_lent_refuses_it(void **state)
{
    world *self = *state;
    rest *one = &self->one;

    answer_late(self, "/api$", served_api);
    answer(self, "/apis$", served_apis);
    begin(self, one, "deploy");
    assert_false(step(self, one));
    fake_transport_release(self->fake, 0);
    assert_false(kl__search_lend(&one->search, &one->turn));
    assert_true(step(self, one));
    assert_int_equal(self->err.code, KL_OK);
    kl__search_end(&one->search);
    assert_int_equal(one->wakes, 0);
}

static void a_turn_that_was_taken_back_is_not_woken(void **state)
{
    world *self = *state;
    rest *one = &self->one;

    answer_late(self, "/api$", served_api);
    answer(self, "/apis$", served_apis);
    begin(self, one, "deploy");
    rests(self, one);
    kl__search_retract(&one->search);
    fake_transport_release(self->fake, 0);
    assert_int_equal(one->wakes, 0);
    kl__search_end(&one->search);
}

/* One lookup asks the server, which is silent, and another one waits for it. */
static void begin_both(world *self)
{
    answer_late(self, "/api$", served_api);
    begin(self, &self->one, "deploy");
    begin(self, &self->other, "po");
    rests(self, &self->one);
    rests(self, &self->other);
}

static void a_lookup_at_rest_is_told_of_the_answer_of_another(void **state)
{
    world *self = *state;

    begin_both(self);
    answer(self, "/apis$", served_apis);
    assert_int_equal(kl__search_look_again_ms(&self->other.search), -1);
    fake_transport_release(self->fake, 0);
    assert_int_equal(self->other.wakes, 0);
    ends(self, &self->one, KL_OK);
    ends(self, &self->other, KL_OK);
    assert_int_equal(fake_transport_count(self->fake), 2);
}

static void a_lookup_that_is_dropped_hands_over(void **state)
{
    world *self = *state;

    begin_both(self);
    answer(self, "/api$", served_api);
    answer(self, "/apis$", served_apis);
    kl__search_end(&self->one.search);
    assert_true(fake_transport_request(self->fake, 0).is_closed);
    ends(self, &self->other, KL_OK);
    assert_int_equal(fake_transport_count(self->fake), 3);
}

static void a_lookup_that_waits_and_is_dropped_is_not_told(void **state)
{
    world *self = *state;

    begin_both(self);
    answer(self, "/apis$", served_apis);
    kl__search_end(&self->other.search);
    fake_transport_release(self->fake, 0);
    ends(self, &self->one, KL_OK);
    assert_int_equal(self->other.wakes, 0);
}

static void a_fired_token_ends_a_lookup_at_its_next_step(void **state)
{
    world *self = *state;

    begin_both(self);
    kl__cancel_fire(&self->cancel); /* its owner wakes the task */
    assert_true(step(self, &self->other));
    assert_int_equal(self->err.code, KL_ECANCELED);
    assert_true(step(self, &self->one));
    assert_int_equal(self->err.code, KL_ECANCELED);
    kl__search_end(&self->one.search);
    kl__search_end(&self->other.search);
}

static void a_lookup_looks_again_at_its_deadline(void **state)
{
    world *self = *state;
    int64_t soon_ms = kl__clock_now(kl__clock_real()) + 50;

    answer_late(self, "/api$", served_api);
    begin(self, &self->one, "deploy");
    begin_until(self, &self->other, "po", soon_ms);
    rests(self, &self->one);
    assert_true(kl__search_look_again_ms(&self->one.search) > soon_ms);
    rests(self, &self->other);
    assert_int_equal(kl__search_look_again_ms(&self->other.search), soon_ms);
    kl__search_retract(&self->other.search);
    while (!step(self, &self->other)) {
        kl__search_wait(&self->other.search, -1);
    }
    assert_int_equal(self->err.code, KL_ETIMEOUT);
    assert_true(kl__clock_now(kl__clock_real()) >= soon_ms);
    kl__search_end(&self->other.search);
    kl__search_end(&self->one.search);
}

static void groups_of_the_old_form_are_awaited_at_rest(void **state)
{
    world *self = *state;
    int64_t now = kl__clock_now(kl__clock_real());

    answer_in_the_old_form(self);
    answer_late(self, "/apis/a.example/v1$", KINDS("owls", "Owl"));
    answer_late(self, "/apis/b.example/v1$", KINDS("emus", "Emu"));
    begin(self, &self->one, "emus");
    rests(self, &self->one);
    /* one that hangs is given up after 5 s */
    assert_in_range(kl__search_look_again_ms(&self->one.search), now + 4000,
                    now + 10000);
    fake_transport_release(self->fake, 3);
    assert_int_equal(self->one.wakes, 1);
    rests(self, &self->one);
    fake_transport_release(self->fake, 2);
    ends(self, &self->one, KL_OK);
}

static void a_group_is_asked_again_at_rest_after_a_401(void **state)
{
    world *self = *state;

    answer_in_the_old_form(self);
    fake_transport_answer(
        self->fake,
        &(fake_answer){.target = "/apis/a.example/v1$", .status = 401});
    answer(self, "/apis/b.example/v1$", KINDS("emus", "Emu"));
    answer_late(self, "/apis/a.example/v1$", KINDS("owls", "Owl"));
    begin(self, &self->one, "owls");
    rests(self, &self->one);
    assert_int_equal(fake_transport_asked(self->fake, "/apis/a.example"), 2);
    fake_transport_release(self->fake, 4);
    ends(self, &self->one, KL_OK);
}

/* ---- sources ---- */

static void use(world *self, const char *resource)
{
    const kl__list_watch_options options = {.resource = resource};

    self->source = kl__list_watch_new(self->client, &options, &self->err);
    assert_non_null(self->source);
    assert_int_equal(
        kl__list_watch_resolve(self->source, &self->cancel, &self->err), KL_OK);
}

static bool is_answered(world *self)
{
    return kl__list_watch_answer(self->source, 0, &self->cancel, &self->err);
}

/* It waits, and lends its turn. */
static void source_rests(world *self)
{
    rest *one = &self->one;

    *one = (rest){.turn = {.wake = wake, .arg = one}};
    assert_false(is_answered(self));
    assert_true(kl__list_watch_lends(self->source));
    assert_true(kl__list_watch_lend(self->source, &one->turn));
}

static void source_is_woken(world *self)
{
    assert_int_equal(self->one.wakes, 1);
    kl__list_watch_retract(self->source);
}

static void a_source_rests_until_its_resource_is_found(void **state)
{
    world *self = *state;

    answer_late(self, "/api$", served_api);
    answer(self, "/apis$", served_apis);
    use(self, "scales");
    source_rests(self);
    assert_true(kl__list_watch_look_again_ms(self->source) > 0);
    assert_int_equal(kl__list_watch_silence_ms(self->source), -1);
    fake_transport_release(self->fake, 0);
    source_is_woken(self);
    assert_true(is_answered(self));
    assert_int_equal(self->err.code, KL_OK);
    assert_false(kl__list_watch_lends(self->source));
}

static void a_source_that_is_ended_drops_its_lookup(void **state)
{
    world *self = *state;

    answer_late(self, "/api$", served_api);
    serve_discovery(self->fake, FAKE_FOREVER);
    use(self, "scales");
    source_rests(self);
    kl__list_watch_retract(self->source);
    kl__list_watch_end(self->source);
    assert_true(fake_transport_request(self->fake, 0).is_closed);
    assert_int_equal(
        kl__list_watch_resolve(self->source, &self->cancel, &self->err), KL_OK);
    assert_true(is_answered(self));
    assert_int_equal(self->err.code, KL_OK);
}

static void a_source_rests_while_its_guess_is_corrected(void **state)
{
    world *self = *state;

    answer_late(self, "/api$", served_api);
    answer(self, "/apis$", served_apis);
    use(self, "cronjobs.batch"); /* of the built-in table */
    assert_true(is_answered(self));
    assert_int_equal(kl__list_watch_list(self->source, &(kl__list_params){0},
                                         &self->cancel, &self->err),
                     KL_OK);
    source_rests(self);
    fake_transport_release(self->fake, 1);
    source_is_woken(self);
    assert_true(is_answered(self));
    assert_int_equal(self->err.code, KL_EUNKNOWN_KIND);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SPEC(a_lookup_rests_until_each_answer_comes),
        SPEC(a_lookup_rests_in_the_middle_of_an_answer),
        SPEC(an_answer_before_the_turn_is_lent_refuses_it),
        SPEC(a_turn_that_was_taken_back_is_not_woken),
        SPEC(a_lookup_at_rest_is_told_of_the_answer_of_another),
        SPEC(a_lookup_that_is_dropped_hands_over),
        SPEC(a_lookup_that_waits_and_is_dropped_is_not_told),
        SPEC(a_fired_token_ends_a_lookup_at_its_next_step),
        SPEC(a_lookup_looks_again_at_its_deadline),
        SPEC(groups_of_the_old_form_are_awaited_at_rest),
        SPEC(a_group_is_asked_again_at_rest_after_a_401),
        SPEC(a_source_rests_until_its_resource_is_found),
        SPEC(a_source_that_is_ended_drops_its_lookup),
        SPEC(a_source_rests_while_its_guess_is_corrected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
