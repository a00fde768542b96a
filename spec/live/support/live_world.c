/*
 * live_world.c - see live_world.h.
 */
#include "live_world.h"

#include "base/clock.h"
#include "kubelua/memory.h"
#include "sim_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* IDLE_MS: as long as 60 bookmarks of the simulator take. */
enum { PATIENCE_MS = 60000, TURN_MS = 5, RESYNC_MS = 20, IDLE_MS = 3000 };

static int64_t now_ms(void)
{
    return kl__clock_now(kl__clock_real());
}

static void hear(live_world *self, const kl_event *event)
{
    kl__mutex_lock(&self->mutex);
    witness_see(&self->heard, event);
    self->told = self->told || event->type == KL_EVENT_ERROR;
    self->resyncs += event->type == KL_EVENT_UPDATE && event->resync;
    /* the spec waits on this queue for handler and subscriber */
    kl_event_queue_wake(self->queue);
    kl__mutex_unlock(&self->mutex);
}

static void on_add(void *context, kl_object *object, bool initial)
{
    hear(context, &(kl_event){.type = KL_EVENT_ADD,
                              .initial = initial,
                              .object = object});
}

static void on_update(void *context, kl_object *old, kl_object *object)
{
    hear(context, &(kl_event){.type = KL_EVENT_UPDATE,
                              .old = old,
                              .object = object,
                              .resync = old == object});
}

static void on_remove(void *context, kl_object *object, bool unknown)
{
    hear(context, &(kl_event){.type = KL_EVENT_DELETE,
                              .unknown = unknown,
                              .object = object});
}

static void on_synced(void *context)
{
    hear(context, &(kl_event){.type = KL_EVENT_SYNCED});
}

static void on_error(void *context, const kl_error *error)
{
    (void)error;
    hear(context, &(kl_event){.type = KL_EVENT_ERROR});
}

static kl_client *connect_inside(live_world *self, kl_error *err)
{
    kl_transport *transport = kl_sim_transport(self->sim, err);
    kl_client *client = NULL;

    if (transport != NULL) {
        client =
            kl_client_new(&(kl_client_options){.transport = transport}, err);
        kl_transport_unref(transport);
    }
    return client;
}

/* Connects over the network. The certificate is not verified, as TLS is not
 * what these specs test. */
static kl_client *connect_outside(live_world *self, bool is_tls, kl_error *err)
{
    kl_config *config =
        kl_config_load(&(kl_config_options){.server = kl_sim_url(self->sim),
                                            .insecure = is_tls},
                       err);
    kl_client *client = NULL;

    if (config != NULL) {
        client = kl_client_new(&(kl_client_options){.config = config}, err);
        kl_config_unref(config);
    }
    return client;
}

kl_client *live_world_connect(live_world *self, live_world_way way,
                              kl_error *err)
{
    return way == LIVE_WORLD_INSIDE
               ? connect_inside(self, err)
               : connect_outside(self, way == LIVE_WORLD_TLS, err);
}

static void join(live_world *self)
{
    const kl_handler handler = {.add = on_add,
                                .update = on_update,
                                .remove = on_remove,
                                .synced = on_synced,
                                .error = on_error,
                                .context = self};

    self->queue = kl_event_queue_new(NULL);
    self->handler = kl_informer_add_handler(
        self->informer, &handler,
        &(kl_handler_options){.name = "heard", .resync_ms = RESYNC_MS}, NULL);
    self->subscription =
        kl_informer_subscribe(self->informer, self->queue, self, NULL, NULL);
    assert_non_null(self->handler);
    assert_non_null(self->subscription);
}

void live_world_open(live_world *self, live_world_way way)
{
    *self = (live_world){0};
    kl__mutex_init(&self->mutex, KL__RANK_LOG - 5);
    self->sim = kl_sim_new(
        &(kl_sim_options){.bookmark_ms = 50, .no_controllers = true}, NULL);
    assert_non_null(self->sim);
    if (way != LIVE_WORLD_INSIDE) {
        assert_int_equal(
            kl_sim_listen(
                self->sim,
                &(kl_sim_listen_options){.tls = way == LIVE_WORLD_TLS}, NULL),
            KL_OK);
    }
    live_world_touch(self, 'a');
    live_world_touch(self, 'b');
    self->client = live_world_connect(self, way, NULL);
    assert_non_null(self->client);
    /* Without memory, OpenSSL 3.0 can leave a connection from which libcurl
     * reads nothing more and reports no error (seen with libcurl 7.88.1, in one
     * of six random plans): the idle watchdog ends such a watch. */
    self->informer =
        kl_informer_open(self->client,
                         &(kl_informer_options){.resource = "cm",
                                                .name_space = "default",
                                                .idle_timeout_ms = IDLE_MS},
                         NULL);
    assert_non_null(self->informer);
    assert_int_equal(
        kl_informer_add_path_index(self->informer, "value", "data.value", NULL),
        KL_OK);
    join(self);
    live_world_assert_whole(self);
}

void live_world_touch(live_world *self, char name)
{
    char yaml[256];
    kl_error err;

    snprintf(yaml, sizeof(yaml),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
             "\"name\":\"%c\",\"namespace\":\"default\"},"
             "\"data\":{\"value\":\"%u\"}}",
             name, ++self->touches);
    if (kl_sim_load(self->sim, yaml, strlen(yaml), &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
}

void live_world_delete(live_world *self, char name)
{
    char target[80];
    const kl_call call = {.method = "DELETE", .target = target};
    kl_reply reply;

    snprintf(target, sizeof(target), LIVE_WORLD_TARGET "/%c", name);
    assert_int_equal(kl_sim_call(self->sim, &call, &reply, NULL), KL_OK);
    kl_reply_clear(&reply);
}

void live_world_pull(live_world *self)
{
    kl_event event;

    while (kl_event_queue_next(self->queue) != NULL) {
        while (kl_registration_next(self->subscription, &event)) {
            witness_see(&self->pulled, &event);
            kl_registration_done(self->subscription, &event);
        }
    }
}

/* True if the cached object equals the server's. */
static bool agrees(const kl_object *object, const kl_value *item)
{
    const kl_value *metadata = kl_value_get(item, "metadata");
    const char *version =
        kl_value_string(kl_value_get(metadata, "resourceVersion"), NULL);

    return object != NULL &&
           strcmp(kl_object_resource_version(object), version) == 0;
}

/* True if the handler has had a resync since the count was `since`. */
static bool is_resynced(live_world *self, size_t since)
{
    bool is_so;

    kl__mutex_lock(&self->mutex);
    is_so = self->resyncs > since;
    kl__mutex_unlock(&self->mutex);
    return is_so;
}

/* True if the cache and the witnesses hold the same objects as the server. */
static bool is_even(live_world *self, const kl_value *items)
{
    kl_object_list list = {0};
    bool even = true;

    if (kl_informer_list(self->informer, NULL, NULL, &list, NULL) != KL_OK) {
        return false;
    }
    even = list.count == kl_value_size(items);
    for (size_t i = 0; i < list.count && even; i++) {
        even = agrees(list.items[i], kl_value_at(items, i));
    }
    live_world_pull(self);
    even =
        even && witness_knows(&self->pulled, &list) && self->pulled.has_synced;
    kl__mutex_lock(&self->mutex);
    even = even && witness_knows(&self->heard, &list) && self->heard.has_synced;
    kl__mutex_unlock(&self->mutex);
    kl_object_list_clear(&list);
    return even;
}

static void complain(live_world *self, const kl_value *items)
{
    kl_informer_status status;

    kl_informer_status_get(self->informer, &status);
    print_error("server %zu, cache %zu, pulled %zu events, heard %zu; %s, %s\n",
                kl_value_size(items), status.objects, self->pulled.events,
                self->heard.events, kl_informer_state_name(status.state),
                status.error.message);
    fail();
}

static void assert_even(live_world *self, bool expects_resync)
{
    int64_t deadline = now_ms() + PATIENCE_MS;
    sim_reply reply;
    const kl_value *items;
    size_t resyncs;

    kl__mutex_lock(&self->mutex);
    resyncs = self->resyncs;
    kl__mutex_unlock(&self->mutex);
    live_world_touch(self, 'a');
    reply = sim_ask(self->sim, "GET", LIVE_WORLD_TARGET, NULL);
    items = kl_value_get(kl_doc_root(reply.doc), "items");
    while (!is_even(self, items) ||
           (expects_resync && !is_resynced(self, resyncs))) {
        if (now_ms() >= deadline) {
            complain(self, items);
        }
        (void)kl_event_queue_wait(self->queue, TURN_MS);
    }
    sim_reply_clear(&reply);
}

void live_world_assert_whole(void *world)
{
    assert_even(world, false);
}

void live_world_assert_resynced(live_world *self)
{
    assert_even(self, true);
}

void live_world_close(live_world *self)
{
    kl_registration_remove(self->subscription);
    kl_registration_remove(self->handler);
    kl_event_queue_free(self->queue);
    kl_informer_close(self->informer);
    kl_client_unref(self->client);
    kl_sim_unref(self->sim);
    witness_clear(&self->heard);
    witness_clear(&self->pulled);
    kl__mutex_deinit(&self->mutex);
    sim_expect_nothing_lives();
}
