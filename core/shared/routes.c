/*
 * routes.c - keeps the slices and names of each Service, and which Services
 * have changed since the last flush.
 */
#include "shared/routes.h"

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kubelua/log.h"
#include "shared/routes_parts.h"

#include <stdlib.h>
#include <string.h>

/* A Service: it exists, or its slices came before it, or it is gone and its
 * names still have to be removed. */
typedef struct kl__routed {
    char *key;
    kl__route_service *service; /* NULL: it does not exist */
    kl__list slices;            /* list of kl__slice_node */
    kl__list changed;           /* in a list of changed Services, or in none */
    char **names;               /* names given to `fn` at the last flush */
    size_t name_count;
    bool is_named;     /* `names` are those of `service`, port by port */
    bool is_large;     /* it is in the list of large ones, if in one */
    bool is_too_large; /* it was at the last flush */
    bool has_spec;     /* a spec was told */
} kl__routed;

struct kl__routes {
    kl__map services; /* kl__routed by key */
    kl__map slices;   /* kl__slice_node by key */
    kl__list changed; /* of kl__routed, in the order in which they changed */
    kl__list large;   /* the same for those above KL__ROUTE_SMALL */
    int small_rounds; /* flushes in a row that did only small ones */
    uint64_t stamps;  /* versions of Services that were read */
    kl__merge merge;
    kl__route_policy policy;
    kl__address_fn watch; /* NULL: none */
    void *watcher;
};

kl__routes *kl__routes_new(const kl__route_policy *policy, kl_error *err)
{
    kl__routes *routes = kl__calloc(1, sizeof(*routes));

    if (routes == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for the routes");
        return NULL;
    }
    kl__list_init(&routes->changed);
    kl__list_init(&routes->large);
    if (policy != NULL) {
        routes->policy = *policy;
    }
    return routes;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        kl__free(names[i]);
    }
    kl__free(names);
}

static void free_routed(kl__routed *routed)
{
    kl__list_remove(&routed->changed);
    kl__route_service_free(routed->service);
    free_names(routed->names, routed->name_count);
    kl__free(routed->key);
    kl__free(routed);
}

static void free_node(kl__slice_node *node)
{
    kl__list_remove(&node->node);
    kl__route_slice_free(node->slice);
    kl__free(node->weights);
    kl__free(node->key);
    kl__free(node);
}

void kl__routes_free(kl__routes *routes)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    if (routes == NULL) {
        return;
    }
    while ((slot = kl__map_next(&routes->slices, &cursor)) != NULL) {
        free_node(slot->value);
    }
    cursor = 0;
    while ((slot = kl__map_next(&routes->services, &cursor)) != NULL) {
        free_routed(slot->value);
    }
    kl__map_deinit(&routes->slices);
    kl__map_deinit(&routes->services);
    kl__merge_deinit(&routes->merge);
    kl__free(routes);
}

/* The cost of a flush of the Service. It counts each endpoint for as many ports
 * as its slice and the Service have, for the family with the most. */
static size_t cost_of(const kl__routed *routed)
{
    const kl__route_service *service = routed->service;
    size_t sums[KL__FAMILIES] = {0}, most = 0, ports;

    if (service == NULL) {
        return routed->name_count;
    }
    ports = service->port_count > 0 ? service->port_count : 1;
    for (const kl__list *at = routed->slices.next; at != &routed->slices;
         at = at->next) {
        const kl__route_slice *slice =
            KL__CONTAINER(at, kl__slice_node, node)->slice;
        size_t served = slice->port_count < ports ? slice->port_count : ports;

        sums[slice->family] +=
            slice->endpoint_count * (served > 0 ? served : 1);
        most = sums[slice->family] > most ? sums[slice->family] : most;
    }
    /* a port has a name and a number; an only one the Service's name too */
    return (ports > 1 ? 2 : 3) * (ports + most) + routed->name_count;
}

/* Puts a Service at the end of the list for its size, unless it is in that. */
static void mark_changed(kl__routes *routes, kl__routed *routed)
{
    bool is_large = cost_of(routed) > KL__ROUTE_SMALL;

    if (!kl__list_empty(&routed->changed) && is_large == routed->is_large) {
        return;
    }
    kl__list_remove(&routed->changed);
    routed->is_large = is_large;
    kl__list_append(is_large ? &routes->large : &routes->changed,
                    &routed->changed);
}

/* The Service of that key, which is added if it is missing; NULL: out of
 * memory. */
static kl__routed *need_routed(kl__routes *routes, const char *key)
{
    kl__routed *routed = kl__map_get(&routes->services, key);

    if (routed != NULL) {
        return routed;
    }
    routed = kl__calloc(1, sizeof(*routed));
    if (routed == NULL) {
        return NULL;
    }
    kl__list_init(&routed->slices);
    kl__list_init(&routed->changed);
    routed->key = kl__strdup(key);
    if (routed->key == NULL ||
        !kl__map_put(&routes->services, routed->key, routed, NULL)) {
        free_routed(routed);
        return NULL;
    }
    return routed;
}

/* Frees a Service that has no object, no slices and no names. */
static void drop_if_empty(kl__routes *routes, kl__routed *routed)
{
    if (routed->service == NULL && kl__list_empty(&routed->slices) &&
        routed->name_count == 0) {
        kl__map_remove(&routes->services, routed->key);
        free_routed(routed);
    }
}

kl_code kl__routes_put_service(kl__routes *routes, kl_object *service,
                               kl_error *err)
{
    kl__route_service *read =
        kl__route_service_read(service, &routes->policy, err);
    kl__routed *routed;

    if (read == NULL) {
        return KL_ENOMEM;
    }
    routed = need_routed(routes, kl_object_key(service));
    if (routed == NULL) {
        kl__route_service_free(read);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a Service");
    }
    read->stamp = ++routes->stamps;
    if (read->weights.is_cut &&
        (routed->service == NULL || !routed->service->weights.is_cut)) {
        kl_log(KL_LOG_WARN,
               "shared map: the annotation " KL__WEIGHTS_ANNOTATION
               " of Service %s has more than %d rules, or %d with \"*\": those "
               "after them do not count",
               routed->key, KL__WEIGHT_RULES, KL__WEIGHT_PREFIXES);
    }
    if (read->fault != NULL &&
        (routed->service == NULL || routed->service->fault != read->fault)) {
        kl_log(KL_LOG_WARN,
               "shared map: the ExternalName of Service %s %s: the Service has "
               "no endpoint",
               routed->key, read->fault);
    }
    kl__route_service_free(routed->service);
    routed->service = read;
    routed->is_named = false;
    mark_changed(routes, routed);
    return KL_OK;
}

void kl__routes_remove_service(kl__routes *routes, const char *key)
{
    kl__routed *routed = kl__map_get(&routes->services, key);

    if (routed == NULL || routed->service == NULL) {
        return;
    }
    kl__route_service_free(routed->service);
    routed->service = NULL;
    routed->is_named = false;
    mark_changed(routes, routed);
    drop_if_empty(routes, routed);
}

/* Removes a slice from its Service, which is freed if nothing is left of it. */
static void remove_from_service(kl__routes *routes, kl__slice_node *node)
{
    kl__routed *routed = node->routed;

    kl__list_remove(&node->node);
    node->routed = NULL;
    if (routed != NULL) {
        mark_changed(routes, routed);
        drop_if_empty(routes, routed);
    }
}

static kl__slice_node *need_node(kl__routes *routes, const char *key)
{
    kl__slice_node *node = kl__map_get(&routes->slices, key);

    if (node != NULL) {
        return node;
    }
    node = kl__calloc(1, sizeof(*node));
    if (node == NULL) {
        return NULL;
    }
    kl__list_init(&node->node);
    node->key = kl__strdup(key);
    if (node->key == NULL ||
        !kl__map_put(&routes->slices, node->key, node, NULL)) {
        free_node(node);
        return NULL;
    }
    return node;
}

static void drop_node(kl__routes *routes, kl__slice_node *node)
{
    remove_from_service(routes, node);
    kl__map_remove(&routes->slices, node->key);
    free_node(node);
}

static void tell_addresses(const kl__slice_node *node, kl__address_fn fn,
                           void *context)
{
    const kl__route_slice *slice = node->slice;

    for (size_t i = 0; i < slice->endpoint_count; i++) {
        fn(context, node->routed->key,
           slice->texts + slice->endpoints[i].address,
           slice->texts + slice->endpoints[i].pod);
    }
}

void kl__routes_each_address(const kl__routes *routes, kl__address_fn fn,
                             void *context)
{
    size_t cursor = 0;
    const kl__map_slot *slot;

    while ((slot = kl__map_next(&routes->slices, &cursor)) != NULL) {
        tell_addresses(slot->value, fn, context);
    }
}

void kl__routes_watch(kl__routes *routes, kl__address_fn fn, void *context)
{
    routes->watch = fn;
    routes->watcher = context;
}

void kl__routes_touch(kl__routes *routes, const char *service)
{
    kl__routed *routed = kl__map_get(&routes->services, service);

    if (routed != NULL) {
        mark_changed(routes, routed);
    }
}

/* Adds a node for a slice, and its Service if that is missing: both or neither.
 */
static kl_code place_slice(kl__routes *routes, const char *key,
                           kl__route_slice *read)
{
    const char *of = read->texts + read->service;
    kl__slice_node *node = need_node(routes, key);
    kl__routed *routed = node != NULL ? need_routed(routes, of) : NULL;

    if (routed == NULL) {
        if (node != NULL && node->slice == NULL) {
            drop_node(routes, node);
        }
        return KL_ENOMEM;
    }
    if (node->routed != routed) {
        remove_from_service(routes, node);
        node->routed = routed;
        kl__list_append(&routed->slices, &node->node);
    }
    if (read->refused > 0 &&
        (node->slice == NULL || node->slice->refused == 0)) {
        kl_log(KL_LOG_WARN,
               "shared map: %zu of the addresses in EndpointSlice %s are not "
               "served, such as \"%s\", which %s",
               read->refused, key, read->texts + read->first_refused,
               read->fault);
    }
    kl__route_slice_free(node->slice);
    node->slice = read;
    node->weighed = 0;
    mark_changed(routes, routed);
    if (routes->watch != NULL) {
        tell_addresses(node, routes->watch, routes->watcher);
    }
    return KL_OK;
}

kl_code kl__routes_put_slice(kl__routes *routes, kl_object *slice,
                             kl_error *err)
{
    kl__route_slice *read = kl__route_slice_read(slice, &routes->policy, err);

    if (read == NULL) {
        return KL_ENOMEM;
    }
    if (read->service == 0) {
        kl__route_slice_free(read);
        kl__routes_remove_slice(routes, kl_object_key(slice));
        return KL_OK;
    }
    if (place_slice(routes, kl_object_key(slice), read) != KL_OK) {
        kl__route_slice_free(read);
        return kl_error_set(err, KL_ENOMEM,
                            "out of memory for an EndpointSlice");
    }
    return KL_OK;
}

void kl__routes_remove_slice(kl__routes *routes, const char *key)
{
    kl__slice_node *node = kl__map_get(&routes->slices, key);

    if (node != NULL) {
        drop_node(routes, node);
    }
}

bool kl__routes_changed(const kl__routes *routes)
{
    return !kl__list_empty(&routes->changed) || !kl__list_empty(&routes->large);
}

/* A flush; and the names of the Service, if it has changed since its last one.
 */
typedef struct kl__naming {
    kl__routes *routes;
    kl__routed *routed;
    kl__route_fn fn;
    void *context;
    char **names;
    size_t count;
    char **sorted; /* the new names, sorted, in the same block of memory */
    size_t sorted_count;
    bool is_too_large;
} kl__naming;

/* Takes a name; false: it is NULL, as there was no memory. */
static bool add_name(kl__naming *naming, char *name)
{
    if (name != NULL) {
        naming->names[naming->count++] = name;
    }
    return name != NULL;
}

static bool add_port(kl__naming *naming, size_t index)
{
    const kl__route_service *service = naming->routed->service;
    const kl__route_port *port = &service->ports[index];
    const char *key = naming->routed->key;

    return (port->name == 0 ||
            add_name(naming, kl__strprintf("%s:%s", key,
                                           service->texts + port->name))) &&
           (!port->has_number ||
            add_name(naming,
                     kl__strprintf("%s:%u", key, (unsigned)port->number)));
}

static int compare_names(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;

    return strcmp(*a, *b);
}

/* Adds the names of a Service, port by port; its only port, or none, has its
 * own name too. False: out of memory. */
static bool add_names(kl__naming *naming)
{
    const kl__routed *routed = naming->routed;
    size_t ports = routed->service != NULL ? routed->service->port_count : 0;
    bool fits = true;

    if (naming->is_too_large) {
        return add_name(naming, kl__strdup(routed->key));
    }
    for (size_t i = 0; i < ports && fits; i++) {
        fits = add_port(naming, i);
    }
    if (fits && ports <= 1 && routed->service != NULL) {
        fits = add_name(naming, kl__strdup(routed->key));
    }
    return fits;
}

static bool make_names(kl__naming *naming)
{
    const kl__routed *routed = naming->routed;
    size_t ports = routed->service != NULL ? routed->service->port_count : 0;
    size_t most = 2 * ports + 1;

    /* room for the former names too: see keep_names */
    naming->names = kl__calloc(2 * most + routed->name_count, sizeof(char *));
    if (naming->names == NULL || !add_names(naming)) {
        free_names(naming->names, naming->count);
        return false;
    }
    naming->sorted = naming->names + most + routed->name_count;
    if (naming->count > 0) {
        memcpy(naming->sorted, naming->names, naming->count * sizeof(char *));
        qsort(naming->sorted, naming->count, sizeof(char *), compare_names);
    }
    naming->sorted_count = naming->count;
    return true;
}

/* The number of names of a port (NULL: of a Service without ports). */
static size_t count_names(const kl__route_service *service,
                          const kl__route_port *port)
{
    size_t count = service->port_count <= 1;

    if (port != NULL) {
        count += port->name != 0;
        count += port->has_number;
    }
    return count;
}

/* Calls `fn` with the endpoints of a port and its names, which are the next
 * ones of *names. */
static kl_code tell_port(const kl__naming *naming, const kl__route_port *port,
                         char *const **names, kl_error *err)
{
    const kl__routed *routed = naming->routed;
    kl__merge *merge = &naming->routes->merge;
    kl__route route = {.service = routed->key,
                       .names = (const char *const *)*names,
                       .name_count = count_names(routed->service, port)};

    if (!kl__merge_port(merge, routed->service, port, &routed->slices)) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for endpoints");
    }
    route.endpoints = merge->endpoints;
    route.count = merge->count;
    route.usable = merge->usable;
    route.is_external = routed->service->is_external;
    *names += route.name_count;
    return naming->fn(naming->context, &route, err);
}

static kl_code tell_ports(const kl__naming *naming, kl_error *err)
{
    const kl__routed *routed = naming->routed;
    char *const *names = routed->is_named ? routed->names : naming->names;
    size_t ports = routed->service != NULL ? routed->service->port_count : 0;
    kl_code code = KL_OK;

    if (naming->is_too_large) {
        return naming->fn(naming->context,
                          &(kl__route){
                              .names = (const char *const *)names,
                              .name_count = 1,
                              .is_too_large = true,
                          },
                          err);
    }
    if (routed->service != NULL &&
        !kl__merge_weigh(routed->service, &routed->slices)) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for weights");
    }
    for (size_t i = 0; i < ports && code == KL_OK; i++) {
        code = tell_port(naming, &routed->service->ports[i], &names, err);
    }
    return routed->service != NULL && ports == 0
               ? tell_port(naming, NULL, &names, err)
               : code;
}

static bool has_name(const kl__naming *naming, const char *name)
{
    return naming->sorted_count > 0 &&
           bsearch(&name, naming->sorted, naming->sorted_count, sizeof(char *),
                   compare_names) != NULL;
}

static kl_code tell_gone(kl__naming *naming, kl_error *err)
{
    const kl__routed *routed = naming->routed;
    kl_code code = KL_OK;

    for (size_t i = 0; i < routed->name_count && code == KL_OK; i++) {
        if (!has_name(naming, routed->names[i])) {
            code =
                naming->fn(naming->context,
                           &(kl__route){
                               .names = (const char *const *)&routed->names[i],
                               .name_count = 1,
                               .is_gone = true,
                           },
                           err);
        }
    }
    return code;
}

/* Tells what is not usual in the spec, or that nothing is any more. */
static kl_code tell_spec(const kl__naming *naming, kl_error *err)
{
    kl__routed *routed = naming->routed;
    const char *spec = routed->service != NULL && !naming->is_too_large
                           ? routed->service->spec
                           : NULL;
    kl_code code;

    if (spec == NULL && !routed->has_spec) {
        return KL_OK;
    }
    routed->has_spec = true; /* until it was told that there is none */
    code = naming->fn(
        naming->context,
        &(kl__route){.service = routed->key, .is_spec = true, .spec = spec},
        err);
    routed->has_spec = code != KL_OK || spec != NULL;
    return code;
}

/* Takes the new names. After a failure `fn` may have got some of the new names,
 * while old ones are not removed yet. So both are kept, and the next flush
 * removes those that are gone. */
static void keep_names(kl__naming *naming, bool has_failed)
{
    kl__routed *routed = naming->routed;

    for (size_t i = 0; i < routed->name_count; i++) {
        if (!has_failed || has_name(naming, routed->names[i])) {
            kl__free(routed->names[i]);
        } else {
            naming->names[naming->count++] = routed->names[i];
        }
    }
    kl__free(routed->names);
    routed->names = naming->names;
    routed->name_count = naming->count;
    routed->is_named = !has_failed;
}

/* Says once that a Service is left out. */
static void tell_size(const kl__naming *naming)
{
    const kl__routed *routed = naming->routed;

    if (naming->is_too_large && !routed->is_too_large) {
        kl_log(KL_LOG_WARN,
               "shared map: Service %s is left out: its ports and endpoints "
               "together are more than %d",
               routed->key, KL__ROUTE_COST_MAX);
    } else if (!naming->is_too_large && routed->is_too_large) {
        kl_log(KL_LOG_INFO, "shared map: Service %s is not too large any more",
               routed->key);
    }
}

static kl_code flush_routed(kl__naming *naming, kl_error *err)
{
    kl__routed *routed = naming->routed;
    kl_code code;

    naming->is_too_large =
        routed->service != NULL &&
        cost_of(routed) - routed->name_count > KL__ROUTE_COST_MAX;
    tell_size(naming);
    if (routed->is_named && routed->is_too_large == naming->is_too_large) {
        return tell_ports(naming, err);
    }
    routed->is_named = false;
    routed->is_too_large = naming->is_too_large;
    if (!make_names(naming)) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a route");
    }
    code = tell_ports(naming, err);
    code = code == KL_OK ? tell_spec(naming, err) : code;
    if (code == KL_OK) {
        code = tell_gone(naming, err);
    }
    keep_names(naming, code != KL_OK);
    return code;
}

/* Flushes the Services of a list until they have cost as much as `most`. */
static kl_code flush_list(kl__naming *form, kl__list *list, size_t most,
                          kl_error *err)
{
    size_t cost = 0;

    while (!kl__list_empty(list) && cost < most) {
        kl__naming naming = *form;
        kl_code code;

        naming.routed = KL__CONTAINER(list->next, kl__routed, changed);
        cost += cost_of(naming.routed);
        code = flush_routed(&naming, err);
        if (code != KL_OK) {
            return code;
        }
        kl__list_remove(&naming.routed->changed);
        drop_if_empty(naming.routes, naming.routed);
    }
    return KL_OK;
}

kl_code kl__routes_flush(kl__routes *routes, kl__route_fn fn, void *context,
                         kl_error *err)
{
    enum { SMALL_ROUNDS = 4 };
    kl__naming form = {.routes = routes, .fn = fn, .context = context};
    bool has_small = !kl__list_empty(&routes->changed);
    kl_code code = flush_list(&form, &routes->changed, SIZE_MAX, err);

    if (code != KL_OK) {
        return code;
    }
    /* What is small is published before large ones are begun; but large ones
     * have a turn. */
    if (has_small && !kl__list_empty(&routes->large) &&
        ++routes->small_rounds < SMALL_ROUNDS) {
        return KL_OK;
    }
    routes->small_rounds = 0;
    return flush_list(&form, &routes->large, KL__FLUSH_COST, err);
}
