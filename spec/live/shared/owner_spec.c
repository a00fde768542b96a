/*
 * owner_spec.c - the owner of a shared map and a simulated cluster in one
 * process: when the owner publishes, and what it keeps when the server fails.
 * workers_spec.c has several processes that share a map.
 */
#include "base/clock.h"
#include "base/thread.h"
#include "kubelua/shared_serve.h"
#include "kubelua/shared_write.h"
#include "owner_rig.h"
#include "sim_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    kl_sim *sim;
    kl_shared *map;
    kl_client *client;
} world;

static kl_client *connect_sim(kl_sim *sim)
{
    kl_transport *transport = kl_sim_transport(sim, NULL);
    kl_client *client =
        kl_client_new(&(kl_client_options){.transport = transport}, NULL);

    assert_non_null(client);
    kl_transport_unref(transport);
    return client;
}

static int set_up(void **state)
{
    static world self;

    self = (world){.sim = kl_sim_new(NULL, NULL)};
    assert_non_null(self.sim);
    self.map = kl_shared_open(NULL, NULL);
    assert_non_null(self.map);
    self.client = connect_sim(self.sim);
    owner_service(self.sim, "shop");
    owner_slice(self.sim, "shop-a", "shop", "10.0.0.1 10.0.0.2");
    *state = &self;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl_shared_close(self->map); /* also gives up the ownership */
    kl_client_unref(self->client);
    kl_sim_unref(self->sim);
    sim_expect_nothing_lives();
    assert_int_equal(kl_live_count(KL_LIVE_SHARED), 0);
    return 0;
}

static void serve(world *self, const kl_serve_options *options)
{
    kl_error err;

    if (kl_shared_serve(self->map, self->client, options, &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
}

static kl_shared_status status_of(const world *self)
{
    kl_shared_status status;

    kl_shared_get_status(self->map, &status);
    return status;
}

static bool is_synced(const void *map)
{
    return kl_shared_synced(map);
}

static bool is_owner(const void *map)
{
    return kl_shared_role(map) == KL_ROLE_OWNER;
}

static bool has_no_role(const void *map)
{
    return kl_shared_role(map) == KL_ROLE_NONE;
}

static void changes_of_the_cluster_are_published(void **state)
{
    world *self = *state;

    assert_string_equal(owner_text(self->map, "shop"), "not_synced");
    serve(self, NULL);
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    owner_await_claim(is_synced, self->map, "synced");
    assert_in_range(kl_shared_age_ms(self->map), 0, OWNER_PATIENCE_MS);
    assert_string_equal(owner_text(self->map, "cart"), "unknown");
    assert_int_equal(status_of(self).takeovers, 1);
    assert_true(status_of(self).owner_pid != 0);
    owner_slice(self->sim, "shop-a", "shop", "10.0.0.2 !10.0.0.3");
    owner_await(self->map, "shop", "!10.0.0.3 10.0.0.2");
    owner_slice(self->sim, "shop-b", "shop", "10.0.0.4");
    owner_await(self->map, "shop", "!10.0.0.3 10.0.0.2 10.0.0.4");
    owner_delete_slice(self->sim, "shop-a");
    owner_await(self->map, "shop", "10.0.0.4");
    owner_service(self->sim, "cart");
    owner_await(self->map, "cart", "");
    owner_delete_service(self->sim, "shop");
    owner_await(self->map, "shop", "unknown");
}

static void load_external_name(kl_sim *sim, const char *host)
{
    char yaml[512];
    int length = snprintf(
        yaml, sizeof(yaml),
        "{apiVersion: v1, kind: Service, metadata: {namespace: web, name: "
        "away},"
        " spec: {type: ExternalName, externalName: '%s', ports: [{name: http,"
        " port: 8080}]}}",
        host);

    assert_int_equal(kl_sim_load(sim, yaml, (size_t)length, NULL), KL_OK);
}

static void external_names_are_served_on_request_only(void **state)
{
    world *self = *state;

    load_external_name(self->sim, "db.example.com");
    serve(self, NULL);
    owner_await(self->map, "away", "");
    kl_shared_leave(self->map);
    serve(self, &(kl_serve_options){.external_names = true});
    owner_await(self->map, "away", "db.example.com");
    load_external_name(self->sim, "127.0.0.1");
    owner_await(self->map, "away", "");
    load_external_name(self->sim, "db.example.com");
    owner_await(self->map, "away", "db.example.com");
}

/* An update that changes no endpoint is not published. */
static void an_unchanged_route_is_not_published_again(void **state)
{
    world *self = *state;
    uint64_t generation;

    owner_service(self->sim, "cart");
    serve(self, NULL);
    owner_await_claim(is_synced, self->map, "synced");
    generation = status_of(self).generation;
    /* The owner sees the slices in this order; the first one changes no
     * endpoint. */
    owner_slice(self->sim, "shop-a", "shop", "10.0.0.2 10.0.0.1");
    owner_slice(self->sim, "cart-a", "cart", "10.0.0.9");
    owner_await(self->map, "cart", "10.0.0.9");
    assert_int_equal(status_of(self).generation, generation + 1);
}

static void a_list_that_becomes_empty_is_empty_by_default(void **state)
{
    world *self = *state;

    serve(self, NULL);
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    owner_slice(self->sim, "shop-a", "shop", "!10.0.0.1");
    owner_await(self->map, "shop", "!10.0.0.1");
    owner_delete_slice(self->sim, "shop-a");
    owner_await(self->map, "shop", "");
    assert_int_equal(status_of(self).kept, 0);
}

static void a_list_that_becomes_empty_is_kept_on_request(void **state)
{
    world *self = *state;

    serve(self, &(kl_serve_options){.keep_ms = 1000 * OWNER_PATIENCE_MS});
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    owner_slice(self->sim, "shop-a", "shop", "!10.0.0.1 !10.0.0.2");
    owner_delete_slice(self->sim, "shop-a");
    owner_service(self->sim, "later");
    owner_await(self->map, "later", "");
    assert_string_equal(owner_text(self->map, "shop"), "10.0.0.1 10.0.0.2");
    owner_slice(self->sim, "shop-b", "shop", "10.0.0.3");
    owner_await(self->map, "shop", "10.0.0.3");
    owner_slice(self->sim, "shop-b", "shop", "");
    owner_delete_service(self->sim, "shop");
    owner_await(self->map, "shop", "unknown");
}

static void what_is_kept_is_kept_for_a_time(void **state)
{
    world *self = *state;

    serve(self, &(kl_serve_options){.keep_ms = 700});
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    owner_delete_slice(self->sim, "shop-a");
    owner_service(self->sim, "later");
    owner_await(self->map, "later", "");
    owner_await(self->map, "shop", "");
    assert_int_equal(status_of(self).kept, 0);
}

/* Changes while there is no owner: deleted Services are removed once the new
 * owner has synced; it keeps the endpoints of a Service whose list became
 * empty.
 */
static void a_new_owner_publishes_once_it_has_synced(void **state)
{
    const kl_serve_options keeping = {.keep_ms = 1000 * OWNER_PATIENCE_MS};
    world *self = *state;
    uint64_t generation;

    owner_service(self->sim, "gone");
    owner_slice(self->sim, "gone-a", "gone", "10.0.1.1");
    serve(self, &keeping);
    owner_await(self->map, "gone", "10.0.1.1");
    owner_await_claim(is_synced, self->map, "synced");
    kl_shared_leave(self->map);
    assert_int_equal(status_of(self).owner_pid, 0);
    assert_int_equal(kl_shared_role(self->map), KL_ROLE_NONE);
    generation = status_of(self).generation;
    owner_delete_service(self->sim, "gone");
    owner_slice(self->sim, "shop-a", "shop", "");
    kl_sim_freeze(self->sim, true);
    serve(self, &keeping);
    owner_await_claim(is_owner, self->map, "the owner");
    assert_string_equal(owner_text(self->map, "gone"), "10.0.1.1");
    assert_int_equal(status_of(self).generation, generation);
    assert_true(kl_shared_synced(self->map));
    kl_sim_freeze(self->sim, false);
    owner_await(self->map, "gone", "unknown");
    assert_string_equal(owner_text(self->map, "shop"), "10.0.0.1 10.0.0.2");
    assert_int_equal(status_of(self).takeovers, 2);
}

static void order_fault(kl_sim *sim, const char *rule)
{
    kl_error err;

    if (kl_sim_fault(sim, rule, strlen(rule), NULL, &err) != KL_OK) {
        fail_msg("%s: %s", rule, err.message);
    }
}

static bool has_met_faults(const void *sim)
{
    char *text = kl_sim_faults((kl_sim *)(uintptr_t)sim, NULL);
    bool has_none = text != NULL && strcmp(text, "[]") == 0;

    kl_free(text);
    return has_none;
}

/* A cluster without streaming lists: each list is a request that can fail. */
static void serve_lists(world *self)
{
    kl_sim_options options = {.no_streaming_list = true};

    kl_client_unref(self->client);
    kl_sim_unref(self->sim);
    self->sim = kl_sim_new(&options, NULL);
    assert_non_null(self->sim);
    self->client = connect_sim(self->sim);
    owner_service(self->sim, "shop");
    owner_slice(self->sim, "shop-a", "shop", "10.0.0.1 10.0.0.2");
}

/* APISIX publishes the pages that it has read: Services on the other pages
 * vanish. */
static void a_list_that_fails_half_way_replaces_nothing(void **state)
{
    world *self = *state;
    int64_t end = kl__clock_now(kl__clock_real()) + OWNER_PATIENCE_MS;
    char name[16];

    serve_lists(self);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        owner_service(self->sim, name);
        snprintf(name, sizeof(name), "s%d-a", i);
        owner_slice(self->sim, name, name, "10.0.2.1");
    }
    owner_slice(self->sim, "s39-b", "s39", "10.0.2.2");
    serve(self, NULL);
    owner_await(self->map, "s39", "10.0.2.2");
    owner_await_claim(is_synced, self->map, "synced");
    order_fault(self->sim, "{\"action\":\"cut\",\"verb\":\"list\",\"how\":"
                           "\"end\",\"after_bytes\":6000,\"count\":4,"
                           "\"open\":false}");
    order_fault(self->sim, "{\"action\":\"expire\",\"verb\":\"watch\","
                           "\"count\":2}");
    while (!has_met_faults(self->sim)) {
        assert_true(kl__clock_now(kl__clock_real()) < end);
        assert_string_equal(owner_text(self->map, "shop"), "10.0.0.1 10.0.0.2");
        assert_string_equal(owner_text(self->map, "s39"), "10.0.2.2");
    }
    owner_slice(self->sim, "s39-b", "s39", "10.0.2.3");
    owner_await(self->map, "s39", "10.0.2.3");
    assert_string_equal(owner_text(self->map, "shop"), "10.0.0.1 10.0.0.2");
}

static void readers_go_on_while_the_server_is_away(void **state)
{
    world *self = *state;

    serve(self, NULL);
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    kl_sim_refuse(self->sim, true);
    owner_await_age(self->map, 700, "shop", "10.0.0.1 10.0.0.2");
    assert_true(is_owner(self->map));
    owner_slice(self->sim, "shop-a", "shop", "10.0.0.7");
    kl_sim_refuse(self->sim, false);
    owner_await(self->map, "shop", "10.0.0.7");
}

static void put_number(const world *self, const char *name, int value)
{
    kl_shared_key key;

    assert_true(
        kl_shared_key_init(self->map, "mine", name, strlen(name), &key));
    assert_int_equal(
        kl_shared_put(self->map, &key, &value, sizeof(value), NULL), KL_OK);
}

static int get_number(const world *self, const char *name)
{
    kl_shared_key key;
    kl_shared_value value;
    int number = -1;

    assert_true(
        kl_shared_key_init(self->map, "mine", name, strlen(name), &key));
    kl_shared_get(self->map, &key, &number, sizeof(number), &value);
    return number;
}

static bool has_seven(const void *context)
{
    return get_number(context, "n") == 7;
}

static void a_script_can_put_keys_beside_the_services(void **state)
{
    world *self = *state;
    kl_shared_key key;

    assert_true(kl_shared_key_init(self->map, "mine", "n", 1, &key));
    assert_int_equal(kl_shared_put(self->map, &key, "", 0, NULL), KL_ECLOSED);
    kl_sim_freeze(self->sim, true); /* keys of a script need no list */
    serve(self, NULL);
    owner_await_claim(is_owner, self->map, "the owner");
    put_number(self, "n", 7);
    assert_int_equal(get_number(self, "n"), -1);
    kl_shared_publish_soon(self->map);
    owner_await_claim(has_seven, self, "published");
    assert_false(kl_shared_synced(self->map));
    kl_sim_freeze(self->sim, false);
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    assert_int_equal(get_number(self, "n"), 7);
    kl_shared_leave(self->map);
    assert_int_equal(get_number(self, "n"), 7);
    assert_int_equal(kl_shared_put(self->map, &key, "", 0, NULL), KL_ECLOSED);
    kl_shared_publish_soon(self->map);
}

static void without_services_it_holds_what_is_put(void **state)
{
    world *self = *state;

    assert_int_equal(kl_shared_serve(self->map, NULL,
                                     &(kl_serve_options){.no_services = true},
                                     NULL),
                     KL_OK);
    owner_await_claim(is_synced, self->map, "synced");
    put_number(self, "n", 7);
    assert_int_equal(kl_shared_publish(self->map, NULL), KL_OK);
    assert_int_equal(get_number(self, "n"), 7);
    assert_string_equal(owner_text(self->map, "shop"), "unknown");
    assert_int_equal(kl_shared_age_ms(self->map), -1);
}

enum { LONG_AGO = 1000000 };

static bool is_heard_of_late(const void *map)
{
    return kl_shared_age_ms(map) >= LONG_AGO;
}

static bool is_heard_of_now(const void *map)
{
    int64_t age = kl_shared_age_ms(map);

    return age >= 0 && age < LONG_AGO / 2;
}

static void
the_age_is_that_of_the_watch_that_is_silent_for_longest(void **state)
{
    world *self = *state;

    serve(self, NULL);
    owner_await_claim(is_heard_of_now, self->map, "Services are heard of");
    kl_shared_tell_age(self->map, LONG_AGO);
    owner_await_claim(is_heard_of_late, self->map, "the older age counts");
    kl_shared_tell_age(self->map, 0);
    owner_await_claim(is_heard_of_now, self->map, "the next age replaces it");
    kl_shared_tell_age(self->map, LONG_AGO);
    owner_await_claim(is_heard_of_late, self->map, "an old one again");
    kl_shared_tell_age(self->map, KL_SHARED_NO_WATCH);
    owner_await_claim(is_heard_of_now, self->map, "Services alone count");
}

static void a_watch_that_was_never_heard_of_makes_the_age_grow(void **state)
{
    world *self = *state;

    serve(self, NULL);
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    owner_await_claim(is_heard_of_now, self->map, "Services are heard of");
    kl_shared_tell_age(self->map, -1);
    owner_await_age(self->map, 1200, "shop", "10.0.0.1 10.0.0.2");
}

static void watches_of_the_caller_have_an_age_without_services(void **state)
{
    world *self = *state;

    assert_int_equal(kl_shared_serve(self->map, NULL,
                                     &(kl_serve_options){.no_services = true},
                                     NULL),
                     KL_OK);
    owner_await_claim(is_owner, self->map, "this process owns the map");
    kl_shared_tell_age(self->map, -1);
    owner_await_claim(is_synced, self->map, "synced");
    assert_int_equal(kl_shared_age_ms(self->map), -1);
    kl_shared_tell_age(self->map, LONG_AGO);
    owner_await_claim(is_heard_of_late, self->map, "the told age counts");
    kl_shared_tell_age(self->map, 10);
    owner_await_claim(is_heard_of_now, self->map, "and the next one");
}

enum { WRITERS = 3, PUTS = 2000 };

typedef struct writer {
    const world *world;
    kl__thread thread;
    char name[8];
} writer;

static void *put_and_publish(void *arg)
{
    writer *self = arg;

    for (int i = 1; i <= PUTS; i++) {
        put_number(self->world, self->name, i);
        if (i % 2 == 0) {
            kl_shared_publish_soon(self->world->map);
        } else if (i % 64 == 1) {
            kl_shared_publish(self->world->map, NULL);
        }
    }
    kl_shared_publish_soon(self->world->map);
    return NULL;
}

static bool has_all_puts(const void *context)
{
    const writer *self = context;

    return get_number(self->world, self->name) == PUTS;
}

static void scripts_and_services_share_the_writer(void **state)
{
    world *self = *state;
    writer writers[WRITERS];
    char address[16] = "";

    serve(self, NULL);
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.world = self};
        snprintf(writers[i].name, sizeof(writers[i].name), "w%d", i);
        assert_int_equal(kl__thread_start(&writers[i].thread, "writer",
                                          put_and_publish, &writers[i], NULL),
                         KL_OK);
    }
    for (int i = 0; i < 100; i++) {
        snprintf(address, sizeof(address), "10.0.0.%d", i + 1);
        owner_slice(self->sim, "shop-a", "shop", address);
        assert_string_not_equal(owner_text(self->map, "shop"), "unknown");
    }
    for (int i = 0; i < WRITERS; i++) {
        kl__thread_join(&writers[i].thread);
        owner_await_claim(has_all_puts, &writers[i], "the last put");
    }
    owner_await(self->map, "shop", address);
}

static void only_its_namespaces_are_watched(void **state)
{
    world *self = *state;
    const char *names[] = {"web", "db"};
    const char *others[] = {"db"};

    serve(self, &(kl_serve_options){.namespaces = names, .namespace_count = 2});
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    kl_shared_leave(self->map);
    serve(self,
          &(kl_serve_options){.namespaces = others, .namespace_count = 1});
    owner_await(self->map, "shop", "unknown");
}

static void a_label_selector_chooses_the_services(void **state)
{
    static const char labelled[] =
        "{apiVersion: v1, kind: Service, metadata: {namespace: web, name: shop,"
        " labels: {team: a}}, spec: {ports: [{name: http, port: 80}]}}";
    world *self = *state;

    serve(self, &(kl_serve_options){.labels = "team in (a)"});
    owner_await_claim(is_synced, self->map, "synced");
    assert_string_equal(owner_text(self->map, "shop"), "unknown");
    assert_int_equal(
        kl_sim_load(self->sim, labelled, sizeof(labelled) - 1, NULL), KL_OK);
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    owner_service(self->sim, "shop");
    owner_await(self->map, "shop", "unknown");
}

static void closing_the_client_releases_the_map(void **state)
{
    world *self = *state;

    serve(self, NULL);
    owner_await(self->map, "shop", "10.0.0.1 10.0.0.2");
    kl_client_close(self->client);
    owner_await_claim(has_no_role, self->map, "no owner");
    kl_shared_leave(self->map);
    assert_int_equal(status_of(self).owner_pid, 0);
    assert_string_equal(owner_text(self->map, "shop"), "10.0.0.1 10.0.0.2");
    kl_client_unref(self->client);
    self->client = connect_sim(self->sim);
    owner_slice(self->sim, "shop-a", "shop", "10.0.0.8");
    serve(self, NULL);
    owner_await(self->map, "shop", "10.0.0.8");
}

static void misuse_is_refused(void **state)
{
    world *self = *state;
    kl_error err;

    assert_int_equal(kl_shared_serve(self->map, NULL, NULL, &err), KL_EINVAL);
    assert_int_equal(kl_shared_serve(NULL, self->client, NULL, NULL),
                     KL_EINVAL);
    assert_int_equal(kl_shared_serve(self->map, self->client,
                                     &(kl_serve_options){.labels = "a in"},
                                     NULL),
                     KL_EINVAL);
    serve(self, NULL);
    assert_int_equal(kl_shared_serve(self->map, self->client, NULL, &err),
                     KL_EINVAL);
    assert_string_equal(err.message, "this process serves the map already");
    kl_shared_leave(self->map);
    kl_shared_leave(self->map);
    kl_shared_leave(NULL);
    assert_int_equal(kl_shared_role(NULL), KL_ROLE_NONE);
    kl_shared_publish_soon(NULL);
    kl_shared_tell_age(NULL, 0);
    kl_shared_tell_age(self->map, 0);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(changes_of_the_cluster_are_published),
        SPEC(an_unchanged_route_is_not_published_again),
        SPEC(external_names_are_served_on_request_only),
        SPEC(a_list_that_becomes_empty_is_empty_by_default),
        SPEC(a_list_that_becomes_empty_is_kept_on_request),
        SPEC(what_is_kept_is_kept_for_a_time),
        SPEC(a_new_owner_publishes_once_it_has_synced),
        SPEC(a_list_that_fails_half_way_replaces_nothing),
        SPEC(readers_go_on_while_the_server_is_away),
        SPEC(a_script_can_put_keys_beside_the_services),
        SPEC(without_services_it_holds_what_is_put),
        SPEC(the_age_is_that_of_the_watch_that_is_silent_for_longest),
        SPEC(a_watch_that_was_never_heard_of_makes_the_age_grow),
        SPEC(watches_of_the_caller_have_an_age_without_services),
        SPEC(scripts_and_services_share_the_writer),
        SPEC(only_its_namespaces_are_watched),
        SPEC(a_label_selector_chooses_the_services),
        SPEC(closing_the_client_releases_the_map),
        SPEC(misuse_is_refused),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
