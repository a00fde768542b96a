/*
 * guests.c - see guests.h.
 */
#include "guests.h"

#include <stddef.h>
#include <stdio.h>

/* ---- handlers ---- */

/* What a handler may do on its own thread: read the object. */
static void read_object(kl_object *object)
{
    const kl_value *root = kl_object_open(object, NULL);

    (void)kl_value_string(kl_value_get(kl_value_get(root, "data"), "node"),
                          NULL);
    kl_object_close(object);
}

static void on_add(void *context, kl_object *object, bool initial)
{
    (void)context;
    (void)initial;
    read_object(object);
}

static void on_update(void *context, kl_object *old, kl_object *object)
{
    (void)context;
    (void)old;
    read_object(object);
}

static void on_remove(void *context, kl_object *object, bool unknown)
{
    (void)context;
    (void)unknown;
    read_object(object);
}

/* An index by function, on the informer's thread. */
static kl_code by_app(void *context, const kl_object *object,
                      const kl_value *root, kl_index_sink *sink)
{
    const kl_value *labels =
        kl_value_get(kl_value_get(root, "metadata"), "labels");
    size_t length = 0;
    const char *app = kl_value_string(kl_value_get(labels, "app"), &length);

    (void)context;
    (void)object;
    return app != NULL ? kl_index_emit(sink, app, length) : KL_OK;
}

/* ---- arrival ---- */

static bool add_handler(guest *self, soak_world *world, int place)
{
    const kl_handler handler = {
        .add = on_add, .update = on_update, .remove = on_remove};
    kl_handler_options options = {.resync_ms =
                                      world_draw(world, 2) == 0 ? 50 : 0,
                                  .backlog = 50 + world_draw(world, 500)};
    kl_error err;

    /* The last registration is never drained, so its events are merged. */
    self->registrations[place] =
        place < HANDLERS - 1
            ? kl_informer_add_handler(self->informer, &handler, &options, &err)
            : kl_informer_subscribe(self->informer, self->queue, self, &options,
                                    &err);
    return self->registrations[place] != NULL ||
           world_fail(world, "no handler: %s", err.message);
}

static bool add_indexes(guest *self, soak_world *world)
{
    kl_error err;

    return (kl_informer_add_path_index(self->informer, "node", "data.node",
                                       &err) == KL_OK &&
            kl_informer_add_index(self->informer, "app", by_app, NULL, NULL,
                                  &err) == KL_OK) ||
           world_fail(world, "no index: %s", err.message);
}

static void leave(guest *self)
{
    /* The close of the informer removes the other registrations. */
    kl_registration_remove(self->registrations[0]);
    kl_informer_close(self->informer);
    kl_event_queue_free(self->queue);
    kl_client_unref(self->client);
    *self = (guest){.client = NULL};
}

/* A guest on the world's client may share an informer, also with the
 * witness. */
static bool arrive(guest *self, soak_world *world)
{
    static const char *const labels[] = {NULL, "app=a3", "app in (a1,a2)"};
    kl_informer_options options = {
        .resource = world_draw(world, 2) == 0 ? "configmaps" : "cm",
        .name_space = world_draw(world, 2) == 0 ? "default" : NULL,
        .labels = labels[world_draw(world, 3)],
        .resync_ms = world_draw(world, 3) == 0 ? 20 : 0,
        .page_size = 1 + (int)world_draw(world, 150),
        .no_streaming_list = world_draw(world, 2) == 0};
    bool shares = world_draw(world, 3) == 0;
    kl_error err;
    bool ok = true;

    self->client = shares ? kl_client_ref(world->client) : world_connect(world);
    if (self->client == NULL) {
        return false;
    }
    self->informer = kl_informer_open(self->client, &options, &err);
    self->queue = kl_event_queue_new(&err);
    if (self->informer == NULL || self->queue == NULL) {
        return world_fail(world, "no guest: %s", err.message);
    }
    if (!shares && world_draw(world, 2) == 0) {
        ok = add_indexes(self, world);
    }
    for (int i = 0; ok && i < HANDLERS; i++) {
        ok = world_draw(world, 3) == 0 || add_handler(self, world, i);
    }
    if (ok && !shares && world_draw(world, 8) == 0) {
        kl_client_close(self->client); /* the guest itself leaves later */
    }
    return ok;
}

/* ---- what a guest does ---- */

static bool swap_handler(guest *self, soak_world *world)
{
    int place = (int)world_draw(world, HANDLERS);
    kl_error err;

    if (self->registrations[place] != NULL) {
        kl_registration_remove(self->registrations[place]);
        self->registrations[place] = NULL;
        return true;
    }
    /* NULL if its client was closed. */
    self->registrations[0] =
        place == 0
            ? kl_informer_add_handler(self->informer,
                                      &(kl_handler){.add = on_add}, NULL, &err)
            : self->registrations[0];
    return true;
}

/* Queries any informer in the same way; some do not have the index. */
static void query(const kl_informer *informer)
{
    kl_object_list list = {0};
    kl_string_list values = {0};
    kl_selector *selector = kl_selector_parse("app!=a1", NULL);

    kl_object_unref(kl_informer_get(informer, "default/c7"));
    if (kl_informer_list(informer, NULL, selector, &list, NULL) == KL_OK) {
        kl_object_list_clear(&list);
    }
    if (kl_informer_by_index(informer, "node", "n3", &list, NULL) == KL_OK) {
        kl_object_list_clear(&list);
    }
    if (kl_informer_index_values(informer, "app", &values, NULL) == KL_OK) {
        kl_string_list_clear(&values);
    }
    kl_selector_free(selector);
}

static bool fail_some(soak_world *world)
{
    static const int statuses[] = {429, 500, 503, 504};
    const kl_sim_failure failure = {.verb = world_draw(world, 2) == 0 ? "watch"
                                                                      : "list",
                                    .count = 1,
                                    .status = statuses[world_draw(world, 4)]};
    kl_error err;

    return kl_sim_fail(world->sim, &failure, &err) == KL_OK ||
           world_fail(world, "no failure: %s", err.message);
}

bool guests_act(soak_guests *self, soak_world *world)
{
    guest *one = &self->all[world_draw(world, GUESTS)];
    unsigned dice = world_draw(world, 100);

    if (dice < 12) {
        self->cuts++;
        kl_sim_cut(world->sim);
    } else if (dice < 16) {
        self->compactions++;
        kl_sim_compact(world->sim);
        kl_sim_cut(world->sim);
    } else if (dice < 20) {
        self->failures++;
        return fail_some(world);
    } else if (dice < 50) {
        self->queries++;
        query(one->informer != NULL ? one->informer : world->informer);
    } else if (one->client == NULL) {
        self->opened++;
        return arrive(one, world);
    } else if (dice < 75) {
        return swap_handler(one, world);
    } else {
        leave(one);
    }
    return true;
}

void guests_leave(soak_guests *self)
{
    for (int i = 0; i < GUESTS; i++) {
        leave(&self->all[i]);
    }
}
