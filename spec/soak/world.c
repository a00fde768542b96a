/*
 * world.c - see world.h.
 */
#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

/* The server's list is compared with the cache in small pages. After a block of
 * more than 128 KB is freed, glibc keeps twice as much memory in every arena:
 * the soak would measure itself. */
#define PAGE CONFIGMAPS "?limit=50"
#define METADATA \
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

enum {
    TARGET_SIZE = 512, /* size of a page's target with its continue token */
    PAYLOAD = 3000,    /* bytes of an object that are not read */
    BACKLOG = 200,     /* backlog of the witness, which gets every change */
    PATIENCE_MS = 60000,
    LAPS = KEYS /* the name of the object that marks the end of a lap */
};

unsigned world_draw(soak_world *self, unsigned sides)
{
    self->random = self->random * UINT64_C(6364136223846793005) + 1442695041;
    return (unsigned)(self->random >> 33) % sides;
}

bool world_fail(soak_world *self, const char *format, ...)
{
    va_list arguments;

    if (self->fault[0] == '\0') {
        va_start(arguments, format);
        vsnprintf(self->fault, sizeof(self->fault), format, arguments);
        va_end(arguments);
    }
    return false;
}

/* ---- the cluster ---- */

/* Makes one request, which must succeed. */
static bool ask(soak_world *self, const char *method, const char *target,
                const char *body)
{
    const kl_call call = {.method = method,
                          .target = target,
                          .body = body,
                          .body_length = body != NULL ? strlen(body) : 0};
    kl_reply reply = {0};
    kl_error err = {0};
    bool ok = kl_sim_call(self->sim, &call, &reply, &err) == KL_OK &&
              reply.status < 300;

    if (!ok) {
        world_fail(self, "%s %s: %d %.80s %.80s", method, target, reply.status,
                   err.message, reply.body != NULL ? reply.body : "");
    }
    kl_reply_clear(&reply);
    return ok;
}

static bool put(soak_world *self, int key, bool is_new)
{
    static char payload[PAYLOAD + 1];
    char body[PAYLOAD + 512], target[128];

    if (payload[0] == '\0') {
        memset(payload, 'x', PAYLOAD);
    }
    snprintf(body, sizeof(body),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"c%d\",\"namespace\":\"default\",\"labels\":{\"app\":"
             "\"a%d\"}},\"data\":{\"node\":\"n%u\",\"lap\":\"%ld\","
             "\"change\":\"%012ld\",\"payload\":\"%s\"}}",
             key, key % 7, world_draw(self, 20), self->lap, self->changes,
             payload);
    snprintf(target, sizeof(target), CONFIGMAPS "/c%d", key);
    self->changes++;
    return is_new ? ask(self, "POST", CONFIGMAPS, body)
                  : ask(self, "PUT", target, body);
}

static bool drop(soak_world *self, int key)
{
    char target[128];

    snprintf(target, sizeof(target), CONFIGMAPS "/c%d", key);
    self->changes++;
    return ask(self, "DELETE", target, NULL);
}

/* Makes one change: mostly an update; some objects are deleted, and some of
 * these are created again at once. */
static bool change_one(soak_world *self)
{
    int key = (int)world_draw(self, KEYS);
    unsigned dice = world_draw(self, 100);

    if (!self->exists[key]) {
        self->exists[key] = true;
        return put(self, key, true);
    }
    if (dice < 85) {
        return put(self, key, false);
    }
    self->exists[key] = dice < 93;
    return drop(self, key) && (dice >= 93 || put(self, key, true));
}

/* ---- the witness ---- */

static int key_of(const kl_object *object)
{
    return atoi(kl_object_name(object) + 1);
}

/* Takes an event about an object, or says why the event cannot be right. */
static bool believe(soak_world *self, const kl_event *event)
{
    int key = key_of(event->object);
    const char *uid = kl_object_uid(event->object);

    self->seen++;
    if (key >= KEYS) {
        return true;
    }
    if (self->known[key] != (event->type != KL_EVENT_ADD)) {
        return world_fail(self, "c%d: event %d, but it was %s", key,
                          (int)event->type,
                          self->known[key] ? "there" : "not there");
    }
    if (event->type != KL_EVENT_ADD && strcmp(uid, self->uids[key]) != 0) {
        return world_fail(self, "c%d: event %d is about another object", key,
                          (int)event->type);
    }
    self->known[key] = event->type != KL_EVENT_DELETE;
    snprintf(self->uids[key], UID_SIZE, "%s", uid);
    if (self->leak > 0 && self->seen % self->leak == 0) {
        kl_object_ref(event->object); /* never released: a leak on purpose */
    }
    return true;
}

/* The lap whose end the object marks; 0: it is another object. */
static long lap_of(kl_object *object)
{
    const kl_value *root = kl_object_open(object, NULL);
    const char *text =
        kl_value_string(kl_value_get(kl_value_get(root, "data"), "lap"), NULL);
    long lap =
        text != NULL && key_of(object) == LAPS ? strtol(text, NULL, 10) : 0;

    kl_object_close(object);
    return lap;
}

/* Takes up to `count` events; false: one of them cannot be right. */
static bool look(soak_world *self, int count)
{
    kl_event event;
    bool ok = kl_event_queue_next(self->queue) != NULL;

    if (!ok) {
        return true; /* no event waits */
    }
    while (ok && kl_registration_next(self->registration, &event)) {
        if (event.object != NULL) {
            ok = believe(self, &event);
            if (event.type != KL_EVENT_DELETE && key_of(event.object) == LAPS) {
                self->lap_seen = lap_of(event.object);
            }
        }
        kl_registration_done(self->registration, &event);
        if (--count == 0) {
            kl_event_queue_again(self->queue, self->registration);
            break;
        }
    }
    return ok;
}

static void note_lists(soak_world *self, long *lists)
{
    kl_informer_status status;

    kl_informer_status_get(self->informer, &status);
    *lists = (long)status.lists;
}

bool world_change(soak_world *self, long count)
{
    bool ok = true;

    for (long i = 0; ok && i < count; i++) {
        ok = change_one(self) && (i % 8 != 0 || look(self, 5));
    }
    return ok;
}

bool world_fill(soak_world *self)
{
    bool ok = true;

    for (int i = 0; ok && i < KEYS; i++) {
        if (!self->exists[i]) {
            self->exists[i] = true;
            ok = put(self, i, true);
        }
    }
    return ok;
}

bool world_settle(soak_world *self)
{
    long changes, seen, lists;

    self->lap++;
    kl_sim_requests_clear(self->sim); /* the cluster keeps the last 1,000 */
    if (!put(self, LAPS, self->lap == 1)) {
        return false;
    }
    while (self->lap_seen != self->lap) {
        if (kl_event_queue_wait(self->queue, PATIENCE_MS) != KL_OK) {
            return world_fail(self, "lap %ld was not seen: events were lost",
                              self->lap);
        }
        if (!look(self, KEYS)) {
            return false;
        }
    }
    /* The last list is reported whole, in the order of its keys: the object of
     * the lap may not be its last one. */
    while (kl_registration_backlog(self->registration) > 0) {
        if (!look(self, KEYS)) {
            return false;
        }
    }
    for (int i = 0; i < KEYS; i++) {
        if (self->known[i] != self->exists[i]) {
            return world_fail(self, "c%d: the server %s it, the witness %s", i,
                              self->exists[i] ? "has" : "has not",
                              self->known[i] ? "does" : "does not");
        }
    }
    changes = self->changes;
    seen = self->seen;
    note_lists(self, &lists);
    if (lists == self->lists) {
        self->calm++;
        if (self->seen != self->changes) {
            return world_fail(self, "lap %ld: %ld changes, %ld events",
                              self->lap, changes, seen);
        }
    }
    self->lists = lists;
    /* a list may merge changes: they are not missed */
    self->seen = self->changes;
    return true;
}

/* ---- cache and server ---- */

static bool compare_item(soak_world *self, const kl_value *item,
                         const kl_object_list *list, size_t index)
{
    const kl_value *metadata = kl_value_get(item, "metadata");
    const char *name = kl_value_string(kl_value_get(metadata, "name"), NULL);
    const char *version =
        kl_value_string(kl_value_get(metadata, "resourceVersion"), NULL);
    const kl_object *object = list->items[index];

    if (strcmp(kl_object_name(object), name) != 0 ||
        strcmp(kl_object_resource_version(object), version) != 0) {
        return world_fail(self, "the cache has %s@%s, the server %s@%s",
                          kl_object_name(object),
                          kl_object_resource_version(object), name, version);
    }
    return true;
}

/* Compares a page of the server's list with the cache from `*at` on; `next`
 * gets the target of the next page, or "". */
static bool compare_page(soak_world *self, const kl_object_list *list,
                         const kl_doc *page, size_t *at, char next[TARGET_SIZE])
{
    const kl_value *root = kl_doc_root(page);
    const kl_value *items = kl_value_get(root, "items");
    const char *token = kl_value_string(
        kl_value_get(kl_value_get(root, "metadata"), "continue"), NULL);

    for (size_t i = 0; i < kl_value_size(items); i++, (*at)++) {
        if (*at == list->count) {
            return world_fail(self, "the server has more than the cache's %zu",
                              list->count);
        }
        if (!compare_item(self, kl_value_at(items, i), list, *at)) {
            return false;
        }
    }
    snprintf(next, TARGET_SIZE, token != NULL ? PAGE "&continue=%s" : "%s",
             token != NULL ? token : "");
    return true;
}

static bool compare_with(soak_world *self, const kl_object_list *list)
{
    char target[TARGET_SIZE] = PAGE;
    size_t at = 0;
    bool ok = true;

    while (ok && *target != '\0') {
        const kl_call call = {
            .method = "GET", .target = target, .accept = METADATA};
        kl_reply reply = {0};
        kl_error err = {0};
        kl_doc *page = NULL;

        if (kl_sim_call(self->sim, &call, &reply, &err) == KL_OK) {
            page = kl_doc_parse(reply.body, reply.body_length, &err);
        }
        ok = page != NULL ? compare_page(self, list, page, &at, target)
                          : world_fail(self, "cannot compare: %s", err.message);
        kl_doc_unref(page);
        kl_reply_clear(&reply);
    }
    return ok && (at == list->count ||
                  world_fail(self, "the cache has %zu objects, the server %zu",
                             list->count, at));
}

bool world_compare(soak_world *self)
{
    kl_object_list list = {0};
    kl_error err = {0};
    bool ok =
        kl_informer_list(self->informer, "default", NULL, &list, &err) == KL_OK
            ? compare_with(self, &list)
            : world_fail(self, "cannot list: %s", err.message);

    kl_object_list_clear(&list);
    return ok;
}

/* ---- life ---- */

kl_client *world_connect(soak_world *self)
{
    kl_client_options options = {.config = self->config};
    kl_client *client;
    kl_error err;

    if (self->config == NULL) {
        options.transport = kl_sim_transport(self->sim, &err);
    }
    client = kl_client_new(&options, &err);
    kl_transport_unref(options.transport);
    if (client == NULL) {
        world_fail(self, "no client: %s", err.message);
    }
    return client;
}

static bool listen_on_port(soak_world *self)
{
    kl_config_options options = {0};
    kl_error err;

    if (kl_sim_listen(self->sim, &(kl_sim_listen_options){0}, &err) != KL_OK) {
        return world_fail(self, "no port: %s", err.message);
    }
    options.server = kl_sim_url(self->sim);
    self->config = kl_config_load(&options, &err);
    return self->config != NULL ||
           world_fail(self, "no configuration: %s", err.message);
}

static bool watch(soak_world *self)
{
    kl_handler_options options = {
        .name = "witness", .every_change = true, .backlog = BACKLOG};
    kl_error err;

    self->informer =
        kl_informer_open(self->client,
                         &(kl_informer_options){.resource = "configmaps",
                                                .name_space = "default"},
                         &err);
    if (self->informer == NULL ||
        kl_informer_wait_synced(self->informer, PATIENCE_MS, &err) != KL_OK) {
        return world_fail(self, "no informer: %s", err.message);
    }
    self->queue = kl_event_queue_new(&err);
    if (self->queue == NULL) {
        return world_fail(self, "no queue: %s", err.message);
    }
    self->registration = kl_informer_subscribe(self->informer, self->queue,
                                               self, &options, &err);
    note_lists(self, &self->lists);
    return self->registration != NULL ||
           world_fail(self, "no witness: %s", err.message);
}

bool world_begin(soak_world *self, bool in_process)
{
    kl_sim_options options = {.bookmark_ms = 500, .history = 3000};
    kl_error err;

    self->sim = kl_sim_new(&options, &err);
    if (self->sim == NULL) {
        return world_fail(self, "no simulator: %s", err.message);
    }
    if (!in_process && !listen_on_port(self)) {
        return false;
    }
    self->client = world_connect(self);
    return self->client != NULL && watch(self);
}

void world_end(soak_world *self)
{
    kl_registration_remove(self->registration);
    kl_informer_close(self->informer);
    kl_event_queue_free(self->queue);
    kl_client_unref(self->client);
    kl_config_unref(self->config);
    kl_sim_unref(self->sim);
}
