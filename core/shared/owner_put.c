/*
 * owner_put.c - turns each changed route into an entry of the map, or keeps the
 * entry; see owner_put.h.
 */
#include "shared/owner_put.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/log.h"
#include "shared/owner_feed.h"
#include "shared/writer.h"

#include <string.h>

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
