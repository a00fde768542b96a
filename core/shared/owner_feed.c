/*
 * owner_feed.c - follows the cluster, turns each changed route into an entry of
 * the map, or keeps the entry; see owner_feed.h.
 */
#include "shared/owner_feed.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "shared/keeping.h"
#include "shared/writer.h"

#include "kubelua/handler.h"
#include "kubelua/informer.h"
#include "kubelua/log.h"

#include <string.h>

enum { READ_MS = 20, EVENTS_AT_ONCE = 256 };

typedef struct putting {
    kl_shared *map;
    kl__keeping *keeping;   /* NULL: nothing is kept */
    kl_endpoint *endpoints; /* memory for one route */
    size_t capacity;
} putting;

static bool reserve_endpoints(putting *self, size_t count)
{
    kl_endpoint *grown;

    if (count <= self->capacity) {
        return true;
    }
    count = count < 64 ? 64 : 2 * count;
    grown = kl__realloc(self->endpoints, count * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    self->endpoints = grown;
    self->capacity = count;
    return true;
}

/* The flags of an endpoint in the map. `serving` counts only if the endpoint is
 * ready or terminating: a slice written by hand may have it otherwise. */
static uint16_t flags_of(const kl__endpoint *endpoint)
{
    bool serves =
        endpoint->serving && (endpoint->ready || endpoint->terminating);

    return (uint16_t)((endpoint->ready ? KL_ENDPOINT_READY : 0) |
                      (serves ? KL_ENDPOINT_SERVING : 0) |
                      (endpoint->terminating ? KL_ENDPOINT_TERMINATING : 0) |
                      (endpoint->is_name ? KL_ENDPOINT_DNS : 0));
}

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* A text that is too long for an entry would make the put of the whole list
 * fail, so it is left out. (A node's name has at most 253 bytes.) */
static const char *place_or_null(const char *text, size_t limit)
{
    return strlen(text) <= limit ? text_or_null(text) : NULL;
}

/* The ranking of a route's endpoints, which the caller frees. */
static kl__ranking *rank_route(putting *self, const kl__route *route,
                               kl_error *err)
{
    if (!reserve_endpoints(self, route->count)) {
        kl_error_set(err, KL_ENOMEM, "out of memory for endpoints");
        return NULL;
    }
    for (size_t i = 0; i < route->count; i++) {
        const kl__endpoint *from = &route->endpoints[i];

        self->endpoints[i] = (kl_endpoint){
            .host = from->host,
            .zone = place_or_null(from->zone, KL_SHARED_ZONES_MAX),
            .node = place_or_null(from->node, KL_SHARED_NODE_MAX),
            .pod = place_or_null(from->pod, KL_SHARED_POD_MAX),
            .port = from->port,
            .weight = from->weight,
            .flags = flags_of(from),
        };
    }
    return kl__ranking_new(self->endpoints, route->count, err);
}

/* A failure other than KL_ENOMEM and KL_ECLOSED would repeat, so it must not
 * keep other Services from being put: the name is left out. */
static kl_code judge_failure(putting *self, const kl_shared_key *key,
                             const char *name, kl_code code, kl_error *err)
{
    kl_error why;

    if (code == KL_OK || code == KL_ENOMEM || code == KL_ECLOSED) {
        return code;
    }
    why = *err;
    kl_log(KL_LOG_WARN, "shared map: %s is left out: %s", name, why.message);
    return kl__shared_refuse(self->map, key, why.message, err);
}

/* True for a Service that has lost its endpoints, but is there. */
static bool may_keep(const kl__route *route)
{
    return route->usable == 0 && !route->is_external && !route->is_gone &&
           !route->is_too_large;
}

/* Puts or removes one name of a route. The first name that needs the ranking
 * makes it. */
static kl_code put_name(putting *self, const kl__route *route, size_t index,
                        kl__ranking **ranking, kl_error *err)
{
    const char *name = route->names[index];
    kl_shared_key key;
    kl_code code = KL_ENOT_FOUND;

    if (!kl_shared_key_init(self->map, KL__SERVICES_TABLE, name, strlen(name),
                            &key)) {
        return KL_OK; /* longer than any name in Kubernetes */
    }
    if (self->keeping != NULL && !may_keep(route)) {
        kl__keeping_forget(self->keeping, name);
    }
    if (route->is_gone) {
        return kl_shared_remove(self->map, &key, err);
    }
    if (route->is_too_large) {
        return kl__shared_refuse(self->map, &key,
                                 "has too many ports and endpoints", err);
    }
    if (self->keeping != NULL && may_keep(route)) {
        code = kl__keeping_put(
            self->keeping,
            &(kl__route_name){
                .map = self->map, .key = &key, .route = route, .index = index},
            err);
    }
    if (code != KL_ENOT_FOUND) {
        return code;
    }
    if (*ranking == NULL) {
        *ranking = rank_route(self, route, err);
    }
    code = *ranking != NULL
               ? kl__shared_put_ranking(self->map, &key, *ranking, err)
               : err->code;
    return judge_failure(self, &key, name, code, err);
}

static kl_code put_spec(putting *self, const kl__route *route, kl_error *err)
{
    kl_shared_key key;
    kl_code code;
    char *value;

    if (!kl_shared_key_init(self->map, KL__SPECS_TABLE, route->service,
                            strlen(route->service), &key)) {
        return KL_OK;
    }
    if (route->spec == NULL) {
        return kl_shared_remove(self->map, &key, err);
    }
    value = kl__strprintf("j%s", route->spec); /* as kube.lookup reads it */
    if (value == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a spec");
    }
    code = kl_shared_put(self->map, &key, value, strlen(value), err);
    kl__free(value);
    return judge_failure(self, &key, route->service, code, err);
}

static kl_code put_route(void *context, const kl__route *route, kl_error *err)
{
    kl__ranking *ranking = NULL;
    kl_code code = KL_OK;

    if (route->is_spec) {
        return put_spec(context, route, err);
    }
    for (size_t i = 0; i < route->name_count && code == KL_OK; i++) {
        code = put_name(context, route, i, &ranking, err);
    }
    kl__free(ranking);
    return code;
}

kl_code kl__put_routes(kl__routes *routes, kl_shared *map, kl__keeping *keeping,
                       kl_error *err)
{
    putting self = {.map = map, .keeping = keeping};
    kl_error own;
    kl_code code =
        kl__routes_flush(routes, put_route, &self, err != NULL ? err : &own);

    kl__free(self.endpoints);
    return code;
}

/* An informer of Services or of slices, of one namespace or of all. */
typedef struct source {
    kl_informer *informer;
    kl_registration *registration;
    bool has_slices;
    bool has_synced;
} source;

struct kl__feed {
    kl_event_queue *queue;
    kl__routes *routes;
    kl__keeping *keeping; /* NULL: nothing is kept */
    source *sources;
    size_t count;
};

static kl_code open_source(kl__feed *feed, source *one, kl_client *client,
                           const kl_informer_options *options, kl_error *err)
{
    kl_handler_options handler = {.name = "shared map", .ignores_errors = true};

    one->informer = kl_informer_open(client, options, err);
    if (one->informer == NULL) {
        return err->code;
    }
    one->registration =
        kl_informer_subscribe(one->informer, feed->queue, one, &handler, err);
    return one->registration != NULL ? KL_OK : err->code;
}

static kl_code open_sources(kl__feed *feed, kl_client *client,
                            const kl__feed_scope *scope, kl_error *err)
{
    kl_code code = KL_OK;

    feed->sources = kl__calloc(2 * scope->count + 1, sizeof(*feed->sources));
    if (feed->sources == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < 2 * scope->count && code == KL_OK; i++) {
        kl_informer_options services = {
            .resource = "services",
            .name_space = scope->namespaces[i / 2],
            .labels = scope->labels,
        };
        kl_informer_options slices = {
            .resource = "endpointslices.discovery.k8s.io",
            .name_space = scope->namespaces[i / 2],
        };

        feed->count++;
        feed->sources[i].has_slices = i % 2 == 1;
        code = open_source(feed, &feed->sources[i], client,
                           i % 2 == 1 ? &slices : &services, err);
    }
    return code;
}

kl__feed *kl__feed_open(kl_client *client, const kl__feed_scope *scope,
                        kl_event_queue *queue, kl_error *err)
{
    kl__feed *feed = kl__calloc(1, sizeof(*feed));

    if (feed == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    feed->queue = queue;
    feed->routes = kl__routes_new(&scope->policy, err);
    if (feed->routes != NULL && scope->keep_ms > 0) {
        feed->keeping = kl__keeping_new(feed->routes, scope->keep_ms, err);
    }
    if (feed->routes == NULL || (scope->keep_ms > 0 && feed->keeping == NULL) ||
        open_sources(feed, client, scope, err) != KL_OK) {
        kl__feed_close(feed);
        return NULL;
    }
    return feed;
}

void kl__feed_close(kl__feed *feed)
{
    if (feed == NULL) {
        return;
    }
    for (size_t i = 0; i < feed->count; i++) {
        kl_registration_remove(feed->sources[i].registration);
        kl_informer_close(feed->sources[i].informer);
    }
    kl__keeping_free(feed->keeping);
    kl__routes_free(feed->routes);
    kl__free(feed->sources);
    kl__free(feed);
}

static kl_code put_object(kl__feed *feed, const source *one, kl_object *object,
                          kl_error *err)
{
    return one->has_slices ? kl__routes_put_slice(feed->routes, object, err)
                           : kl__routes_put_service(feed->routes, object, err);
}

static void remove_object(kl__feed *feed, const source *one, const char *key)
{
    if (one->has_slices) {
        kl__routes_remove_slice(feed->routes, key);
    } else {
        kl__routes_remove_service(feed->routes, key);
    }
}

static kl_code take_event(kl__feed *feed, source *one, const kl_event *event,
                          kl_error *err)
{
    switch (event->type) {
    case KL_EVENT_ADD:
    case KL_EVENT_UPDATE:
        return put_object(feed, one, event->object, err);
    case KL_EVENT_DELETE:
        remove_object(feed, one, kl_object_key(event->object));
        return KL_OK;
    case KL_EVENT_SYNCED:
        one->has_synced = true;
        return KL_OK;
    default:
        return KL_OK;
    }
}

/* Handles some events of a source, and puts it back into the queue if there may
 * be more. */
static kl_code read_source(kl__feed *feed, source *one, kl_error *err)
{
    kl_code code = KL_OK;
    kl_event event;
    int left = EVENTS_AT_ONCE;

    while (code == KL_OK && left-- > 0) {
        if (!kl_registration_next(one->registration, &event)) {
            return KL_OK;
        }
        code = take_event(feed, one, &event, err);
        kl_registration_done(one->registration, &event);
    }
    kl_event_queue_again(feed->queue, one->registration);
    return code;
}

kl_code kl__feed_read(kl__feed *feed, kl_error *err)
{
    int64_t end = kl__clock_now(kl__clock_real()) + READ_MS;
    kl_code code = KL_OK;
    source *one;

    while (code == KL_OK && (one = kl_event_queue_next(feed->queue)) != NULL) {
        code = read_source(feed, one, err);
        if (kl__clock_now(kl__clock_real()) >= end) {
            break;
        }
    }
    return code;
}

bool kl__feed_has_synced(const kl__feed *feed)
{
    for (size_t i = 0; i < feed->count; i++) {
        if (!feed->sources[i].has_synced) {
            return false;
        }
    }
    return true;
}

bool kl__feed_has_ended(const kl__feed *feed)
{
    kl_informer_status status;

    if (feed->count == 0) {
        return false;
    }
    kl_informer_status_get(feed->sources[0].informer, &status);
    return status.state == KL_STATE_STOPPED;
}

int64_t kl__feed_age_ms(const kl__feed *feed)
{
    int64_t oldest = feed->count > 0 ? 0 : -1;
    kl_informer_status status;

    for (size_t i = 0; i < feed->count; i++) {
        kl_informer_status_get(feed->sources[i].informer, &status);
        if (status.last_message_age_ms < 0) {
            return -1;
        }
        oldest = status.last_message_age_ms > oldest
                     ? status.last_message_age_ms
                     : oldest;
    }
    return oldest;
}

bool kl__feed_changed(const kl__feed *feed)
{
    return kl__routes_changed(feed->routes);
}

int64_t kl__feed_next_change(const kl__feed *feed)
{
    return feed->keeping != NULL ? kl__keeping_next(feed->keeping) : INT64_MAX;
}

kl_code kl__feed_put(kl__feed *feed, kl_shared *map, kl_error *err)
{
    kl_code code;

    if (feed->keeping != NULL) {
        kl__keeping_expire(feed->keeping, kl__clock_now(kl__clock_real()));
    }
    code = kl__put_routes(feed->routes, map, feed->keeping, err);
    kl__shared_tell_kept(
        map, feed->keeping != NULL ? kl__keeping_count(feed->keeping) : 0);
    return code;
}
