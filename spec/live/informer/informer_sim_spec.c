/*
 * informer_sim_spec.c - an informer on the simulated API server, in-process and
 * over a connection: from a write to a handler, through every layer; and its
 * end when its client is closed, whatever it waits for.
 */
#include "event_record.h"
#include "sim_client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "kubelua/handler.h"
#include "kubelua/log.h"
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

typedef struct served {
    kl_sim *sim;
    kl_client *client;
    kl_informer *informer;
    event_record record;
} served;

static void make(served *self, kl_client_options *options)
{
    self->client = kl_client_new(options, NULL);
    assert_non_null(self->client);
    event_record_init(&self->record);
}

static int setup_inside(void **state)
{
    served *self = kl__calloc(1, sizeof(*self));
    kl_transport *transport;

    self->sim = kl_sim_new(&(kl_sim_options){.bookmark_ms = 50}, NULL);
    transport = kl_sim_transport(self->sim, NULL);
    make(self, &(kl_client_options){.transport = transport});
    kl_transport_unref(transport);
    *state = self;
    return 0;
}

static int setup_outside(void **state)
{
    served *self = kl__calloc(1, sizeof(*self));
    kl_config *config;

    self->sim = kl_sim_new(&(kl_sim_options){.bookmark_ms = 50}, NULL);
    assert_int_equal(
        kl_sim_listen(self->sim, &(kl_sim_listen_options){.port = 0}, NULL),
        KL_OK);
    config = kl_config_load(
        &(kl_config_options){.server = kl_sim_url(self->sim)}, NULL);
    make(self, &(kl_client_options){.config = config});
    kl_config_unref(config);
    *state = self;
    return 0;
}

static int teardown(void **state)
{
    served *self = *state;
    long live = 0;

    kl_informer_close(self->informer);
    kl_client_unref(self->client);
    kl_sim_unref(self->sim);
    event_record_deinit(&self->record);
    kl__free(self);
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        live += kl_live_count((kl_live_kind)kind);
    }
    return live == 0 ? 0 : -1;
}

static void load(served *self, const char *yaml)
{
    kl_error err;

    if (kl_sim_load(self->sim, yaml, strlen(yaml), &err) != KL_OK) {
        print_error("%s\n", err.message);
        fail();
    }
}

static void put(served *self, const char *name, const char *value)
{
    char yaml[256];

    snprintf(yaml, sizeof(yaml),
             "apiVersion: v1\nkind: ConfigMap\n"
             "metadata: {name: %s, namespace: default}\n"
             "data: {value: %s}\n",
             name, value);
    load(self, yaml);
}

static void call(served *self, const char *method, const char *target,
                 const char *body)
{
    kl_call request = {
        .method = method,
        .target = target,
        .body = body,
        .body_length = body != NULL ? strlen(body) : 0,
    };
    kl_reply reply;

    assert_int_equal(kl_sim_call(self->sim, &request, &reply, NULL), KL_OK);
    assert_in_range(reply.status, 200, 299);
    kl_reply_clear(&reply);
}

static void removed(served *self, const char *name)
{
    char target[128];

    snprintf(target, sizeof(target), "/api/v1/namespaces/default/configmaps/%s",
             name);
    call(self, "DELETE", target, NULL);
}

static void watch_configmaps(served *self, bool paged)
{
    kl_handler handler = event_record_handler(&self->record);

    self->informer =
        kl_informer_open(self->client,
                         &(kl_informer_options){.resource = "cm",
                                                .name_space = "default",
                                                .no_streaming_list = paged},
                         NULL);
    assert_non_null(self->informer);
    assert_non_null(
        kl_informer_add_handler(self->informer, &handler, NULL, NULL));
}

/* Waits for `count` words, and asserts that the expected ones are among them,
 * in this order. */
static void expect(served *self, int count, int words, const char *const *word)
{
    char *text;
    const char *at;

    if (!event_record_await(&self->record, count)) {
        text = event_record_text(&self->record);
        print_error("only: %s\n", text);
        kl__free(text);
        fail();
    }
    text = event_record_text(&self->record);
    at = text;
    for (int i = 0; i < words; i++) {
        at = strstr(at, word[i]);
        if (at == NULL) {
            print_error("no \"%s\" in: %s\n", word[i], text);
            fail();
        }
    }
    kl__free(text);
}

#define EXPECT(self, count, ...)                                             \
    do {                                                                     \
        static const char *const words[] = {__VA_ARGS__};                    \
                                                                             \
        expect(self, count, (int)(sizeof(words) / sizeof(words[0])), words); \
    } while (0)

static void a_write_reaches_a_handler(void **state)
{
    served *self = *state;

    put(self, "a", "one");
    watch_configmaps(self, false);
    EXPECT(self, 2, "+default/a", "initial", "synced");
    put(self, "b", "one");
    put(self, "a", "two");
    removed(self, "b");
    EXPECT(self, 5, "synced", "+default/b", "~default/a", "-default/b");
    assert_int_equal(kl_informer_count(self->informer), 1);
}

static void paged_lists_reach_a_handler_too(void **state)
{
    served *self = *state;

    put(self, "a", "one");
    watch_configmaps(self, true);
    EXPECT(self, 2, "+default/a", "initial", "synced");
    put(self, "b", "one");
    EXPECT(self, 3, "synced", "+default/b");
}

static void a_cut_watch_is_resumed_without_missing_events(void **state)
{
    served *self = *state;
    kl_informer_status status;

    put(self, "a", "one");
    watch_configmaps(self, false);
    EXPECT(self, 2, "synced");
    kl_sim_cut(self->sim);
    put(self, "b", "one");
    EXPECT(self, 4, "synced", "!unavailable", "+default/b");
    kl_informer_status_get(self->informer, &status);
    assert_int_equal(status.lists, 1);
}

static void an_object_recreated_while_away_is_deleted_then_added(void **state)
{
    served *self = *state;

    put(self, "a", "one");
    watch_configmaps(self, false);
    EXPECT(self, 2, "synced");
    kl_sim_refuse(self->sim, true);
    removed(self, "a");
    put(self, "a", "again");
    kl_sim_compact(self->sim);
    kl_sim_refuse(self->sim, false);
    EXPECT(self, 6, "synced", "!unavailable", "!gone", "-default/a", "unknown",
           "+default/a");
}

static kl_informer *open_ring(served *self, const char *shard)
{
    kl_informer *informer =
        kl_informer_open(self->client,
                         &(kl_informer_options){
                             .resource = "cm", .shard = shard, .ring = "shop"},
                         NULL);

    assert_non_null(informer);
    assert_int_equal(kl_informer_wait_synced(informer, -1, NULL), KL_OK);
    return informer;
}

static void await_shard(kl_informer *informer)
{
    kl_event_queue *queue = kl_event_queue_new(NULL);

    assert_non_null(queue);
    for (;;) {
        assert_int_equal(kl_informer_wake_changed(informer, queue, NULL),
                         KL_OK);
        if (kl_informer_holds_shard(informer)) {
            break;
        }
        (void)kl_event_queue_wait(queue, -1);
    }
    kl_event_queue_free(queue);
}

static void set_shard(kl_informer *informer, const char *shard)
{
    assert_int_equal(kl_informer_set_shard(informer, shard, NULL), KL_OK);
    await_shard(informer);
}

static void objects_join_and_leave_with_their_shard(void **state)
{
    enum { OBJECTS = 40 };
    served *self = *state;
    kl_handler handler = event_record_handler(&self->record);
    kl_informer *other;
    size_t first;

    for (int i = 0; i < OBJECTS; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", i);
        put(self, name, "one");
    }
    self->informer = open_ring(self, "0/2");
    other = open_ring(self, "1/2"); /* shares the cache of the first */
    assert_true(kl_informer_holds_shard(self->informer));
    first = kl_informer_count(other);
    assert_in_range(first, 5, OBJECTS - 5);
    set_shard(other, "1/2");
    assert_int_equal(kl_informer_count(self->informer), OBJECTS - first);
    assert_non_null(
        kl_informer_add_handler(self->informer, &handler, NULL, NULL));
    assert_true(event_record_await(&self->record, (int)(OBJECTS - first) + 1));
    set_shard(self->informer, "");
    assert_true(event_record_await(&self->record, OBJECTS + 1));
    set_shard(self->informer, "0/2");
    EXPECT(self, (int)(OBJECTS + 1 + OBJECTS - first), "synced", "+default/n",
           "<default/n");
    assert_int_equal(kl_informer_count(self->informer), first);
    kl_informer_close(other);
}

static void an_informer_without_ring_keeps_its_shard(void **state)
{
    served *self = *state;
    kl_error err;

    watch_configmaps(self, false);
    assert_int_equal(kl_informer_set_shard(self->informer, "0/4", &err),
                     KL_EINVAL);
    assert_non_null(strstr(err.message, "ring"));
    assert_int_equal(kl_informer_set_shard(self->informer, "4/4", &err),
                     KL_EINVAL);
}

static void wait_synced_names_the_403_that_prevents_it(void **state)
{
    served *self = *state;
    kl_error err;

    assert_int_equal(kl_sim_fail(self->sim,
                                 &(kl_sim_failure){"watch", 100, 403, 0, NULL},
                                 NULL),
                     KL_OK);
    watch_configmaps(self, false);
    EXPECT(self, 1, "!forbidden");
    assert_int_equal(kl_informer_wait_synced(self->informer, 0, &err),
                     KL_ETIMEOUT);
    assert_non_null(strstr(err.message, "cm in default has not synced"));
    assert_non_null(strstr(err.message, "403"));
}

static void a_kind_installed_later_is_discovered(void **state)
{
    served *self = *state;
    kl_handler handler = event_record_handler(&self->record);

    self->informer = kl_informer_open(
        self->client, &(kl_informer_options){.resource = "foos.example.com"},
        NULL);
    assert_non_null(
        kl_informer_add_handler(self->informer, &handler, NULL, NULL));
    EXPECT(self, 1, "!unknown_kind");
    load(self,
         "apiVersion: apiextensions.k8s.io/v1\n"
         "kind: CustomResourceDefinition\n"
         "metadata: {name: foos.example.com}\n"
         "spec:\n"
         "  group: example.com\n"
         "  scope: Namespaced\n"
         "  names: {plural: foos, singular: foo, kind: Foo}\n"
         "  versions:\n  - name: v1\n    served: true\n    storage: true\n"
         "    schema:\n      openAPIV3Schema:\n        type: object\n"
         "        x-kubernetes-preserve-unknown-fields: true\n");
    load(self, "apiVersion: example.com/v1\nkind: Foo\n"
               "metadata: {name: f, namespace: default}\n");
    EXPECT(self, 3, "!unknown_kind", "+default/f", "synced");
}

static void two_names_of_a_kind_share_an_informer_once_it_is_known(void **state)
{
    served *self = *state;
    kl_informer *other;

    load(self,
         "apiVersion: apiextensions.k8s.io/v1\n"
         "kind: CustomResourceDefinition\n"
         "metadata: {name: foos.example.com}\n"
         "spec:\n"
         "  group: example.com\n"
         "  scope: Namespaced\n"
         "  names: {plural: foos, singular: foo, kind: Foo}\n"
         "  versions:\n  - name: v1\n    served: true\n    storage: true\n"
         "    schema:\n      openAPIV3Schema:\n        type: object\n"
         "        x-kubernetes-preserve-unknown-fields: true\n");
    self->informer = kl_informer_open(
        self->client, &(kl_informer_options){.resource = "foos"}, NULL);
    assert_int_equal(kl_informer_wait_synced(self->informer, 60000, NULL),
                     KL_OK);
    other = kl_informer_open(
        self->client, &(kl_informer_options){.resource = "example.com/v1/Foo"},
        NULL);
    assert_int_equal(kl_live_count(KL_LIVE_INFORMER), 1);
    assert_true(kl_informer_has_synced(other));
    kl_informer_close(other);
}

static atomic_bool was_remade;

static void note_remade(void *context, kl_log_level level, const char *line)
{
    (void)context;
    (void)level;
    if (strstr(line, "cm in default: nothing came for") != NULL) {
        atomic_store(&was_remade, true);
    }
}

static void await_remade(void)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    while (!atomic_load(&was_remade) &&
           kl__clock_now(kl__clock_real()) < deadline) {
        sched_yield();
    }
    assert_true(atomic_load(&was_remade));
}

static void the_idle_watchdog_reconnects_to_a_frozen_server(void **state)
{
    served *self = *state;
    kl_handler handler = event_record_handler(&self->record);
    kl_informer_status status;

    put(self, "a", "one");
    self->informer = kl_informer_open(
        self->client,
        &(kl_informer_options){
            .resource = "cm", .name_space = "default", .idle_timeout_ms = 200},
        NULL);
    assert_non_null(
        kl_informer_add_handler(self->informer, &handler, NULL, NULL));
    EXPECT(self, 2, "synced");
    atomic_store(&was_remade, false);
    kl_set_log(note_remade, NULL, KL_LOG_INFO);
    kl_sim_freeze(self->sim, true);
    put(self, "b", "one");
    await_remade();
    kl_sim_freeze(self->sim, false);
    EXPECT(self, 3, "synced", "+default/b");
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    kl_informer_status_get(self->informer, &status);
    assert_int_equal(status.lists, 1);
    assert_int_equal(status.failures, 0);
}

#define INSIDE(name) \
    cmocka_unit_test_setup_teardown(name, setup_inside, teardown)
#define OUTSIDE(test)                                          \
    {                                                          \
        .name = #test "_over_http", .test_func = test,         \
        .setup_func = setup_outside, .teardown_func = teardown \
    }

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

#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        INSIDE(a_write_reaches_a_handler),
        INSIDE(paged_lists_reach_a_handler_too),
        INSIDE(a_cut_watch_is_resumed_without_missing_events),
        INSIDE(objects_join_and_leave_with_their_shard),
        INSIDE(an_informer_without_ring_keeps_its_shard),
        INSIDE(an_object_recreated_while_away_is_deleted_then_added),
        INSIDE(wait_synced_names_the_403_that_prevents_it),
        INSIDE(a_kind_installed_later_is_discovered),
        INSIDE(two_names_of_a_kind_share_an_informer_once_it_is_known),
        INSIDE(the_idle_watchdog_reconnects_to_a_frozen_server),
        OUTSIDE(a_write_reaches_a_handler),
        OUTSIDE(paged_lists_reach_a_handler_too),
        OUTSIDE(a_cut_watch_is_resumed_without_missing_events),
        OUTSIDE(objects_join_and_leave_with_their_shard),
        OUTSIDE(an_object_recreated_while_away_is_deleted_then_added),
        OUTSIDE(wait_synced_names_the_403_that_prevents_it),
        OUTSIDE(a_kind_installed_later_is_discovered),
        OUTSIDE(the_idle_watchdog_reconnects_to_a_frozen_server),
        SPEC(a_closed_client_delivers_no_more_events),
        SPEC(no_callback_runs_after_the_one_that_closes_the_client),
        SPEC(closing_the_client_ends_an_informer_that_is_blocked),
        SPEC(the_cache_can_be_read_after_the_client_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
