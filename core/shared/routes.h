/*
 * routes.h - merges Services and their EndpointSlices into lists of endpoints
 * by name ("web/shop:http"). It does no input or output: the owner's thread
 * puts objects in and takes changes out. The cost of an object is bounded by
 * the size of its Service.
 */
#ifndef KL_SHARED_ROUTES_H
#define KL_SHARED_ROUTES_H

#include "kubelua/error.h"
#include "kubelua/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address for requests. Texts are never NULL. */
typedef struct kl__endpoint {
    const char *host; /* an IPv4 or IPv6 address, or a host name */
    const char *zone; /* if each ready endpoint has a hint (hints.forZones):
                         the zone names of the hint, with commas ("a,b"); else
                         the zone where the endpoint is; "": unknown */
    const char *node; /* its node; "": unknown */
    const char *pod;  /* its pod; "": unknown */
    uint16_t port;    /* 0: the Service has no ports */
    uint16_t weight;  /* 1, or the value of an annotation */
    bool is_name;     /* the host is a DNS name */
    bool ready;
    bool serving;
    bool terminating;
} kl__endpoint;

/* The highest weight that an annotation can give. */
#define KL__WEIGHT_MAX 1000

/*
 * On a Service: "NAME=WEIGHT,...", at most 1,024 (64 with "*"), where NAME is
 * an address, a pod, a node or a zone, and may end in "*"; the first one that
 * matches an endpoint counts. On an EndpointSlice: the weight of its endpoints,
 * if the Service has none for them.
 */
#define KL__WEIGHTS_ANNOTATION "kubelua.dev/weights"
#define KL__WEIGHT_ANNOTATION "kubelua.dev/weight"

/*
 * What a flush does for a Service, in units of some 0.4 us: its names, and the
 * endpoints of all its names together. A Service above the limit is left out,
 * so that no flush of one Service takes longer than some 25 ms. A flush puts
 * the small Services first, and then only as many of the others as cost
 * KL__FLUSH_COST together.
 */
enum {
    KL__ROUTE_COST_MAX = 65536,
    KL__ROUTE_SMALL = 512,
    KL__FLUSH_COST = 16384
};

/* All names of a port ("web/shop:http", "web/shop:80"), and its endpoints now.
 */
typedef struct kl__route {
    const char *service; /* the Service's key, "web/shop" */
    bool is_spec;        /* no route: `spec` has changed */
    const char *spec;    /* the members of its spec that are not usual and that
                            a proxy may honour, as JSON; NULL: none */
    const char *const *names;
    size_t name_count;
    const kl__endpoint *endpoints; /* sorted by host, then port */
    size_t count;
    size_t usable;     /* number with a weight above 0 that are ready, or
                          terminating and still serving */
    bool is_too_large; /* more than KL__ROUTE_COST_MAX: `names` has the
                          Service's own name only, and it is left out */
    bool is_gone;      /* the names do not exist any more */
    bool is_external;  /* of an ExternalName Service */
} kl__route;

/* Called for each port of a Service that changed; the route is borrowed for the
 * call. Any result but KL_OK ends the flush, and the Service comes again. */
typedef kl_code (*kl__route_fn)(void *context, const kl__route *route,
                                kl_error *err);

/* Which endpoints routes have. Zeroed: the defaults. */
typedef struct kl__route_policy {
    bool external_names; /* DNS names too: of ExternalName Services, and of
                            slices of type FQDN */
} kl__route_policy;

/* Not thread-safe: only the owner's thread uses it. */
typedef struct kl__routes kl__routes;

/* Empty routes; the caller owns them. `policy` NULL: the defaults. NULL:
 * KL_ENOMEM. */
kl__routes *kl__routes_new(const kl__route_policy *policy, kl_error *err);
/* Frees the routes; NULL is fine. */
void kl__routes_free(kl__routes *routes);

/* Adds or changes a Service. KL_ENOMEM: nothing has changed. One that has an
 * address or a name that is not served (see address.h) is logged. */
kl_code kl__routes_put_service(kl__routes *routes, kl_object *service,
                               kl_error *err);
/* Removes a Service by its key ("web/shop"), if it is there. Its slices stay,
 * for a Service that is created again. */
void kl__routes_remove_service(kl__routes *routes, const char *key);

/* Adds or changes an EndpointSlice, also before its Service. KL_ENOMEM: nothing
 * has changed. Addresses that are not served are left out, and logged once. */
kl_code kl__routes_put_slice(kl__routes *routes, kl_object *slice,
                             kl_error *err);
/* Removes an EndpointSlice by its key, if it is there. */
void kl__routes_remove_slice(kl__routes *routes, const char *key);

/* Told of an address in a slice of a Service; pod "": unknown. */
typedef void (*kl__address_fn)(void *context, const char *service,
                               const char *host, const char *pod);

/* Calls `fn` for each address of every slice; and, after kl__routes_watch, for
 * each address of a slice that is put, until `fn` is NULL. */
void kl__routes_each_address(const kl__routes *routes, kl__address_fn fn,
                             void *context);
void kl__routes_watch(kl__routes *routes, kl__address_fn fn, void *context);

/* Counts a Service as changed, if it is there. */
void kl__routes_touch(kl__routes *routes, const char *service);

/* True if there are changes for kl__routes_flush. */
bool kl__routes_changed(const kl__routes *routes);

/*
 * Calls `fn` with every port of each Service that changed since the last flush,
 * even if the endpoints are the same. Ports of a Service come together, names
 * that do not exist any more last. KL_ENOMEM, or the result of `fn`: this
 * Service and those after it come at the next flush. It ends early, so that
 * what was put can be published, if there are large Services among them: call
 * it again while kl__routes_changed.
 */
kl_code kl__routes_flush(kl__routes *routes, kl__route_fn fn, void *context,
                         kl_error *err);

#endif
