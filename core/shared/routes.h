/*
 * routes.h - Services and their EndpointSlices, merged into lists of endpoints
 * by name ("web/shop:http"). Pure: the owner's thread feeds it with objects and
 * takes out what changed; what an object costs is bounded by its Service.
 */
#ifndef KL_SHARED_ROUTES_H
#define KL_SHARED_ROUTES_H

#include "kubelua/error.h"
#include "kubelua/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a request can be sent to. Texts are never NULL. */
typedef struct kl__endpoint {
    const char *host; /* an IPv4 or IPv6 address, or a host name */
    const char *zone; /* that it is for: of the hint, where all endpoints have
                         one, else that it is in; "" if it is not known */
    const char *node; /* that it is on; "" if it is not known */
    uint16_t port;    /* 0: the Service has no ports */
    uint16_t weight;  /* 1 unless an annotation says more, or less */
    bool is_name;     /* the host is a name that has to be resolved */
    bool ready;
    bool serving;
    bool terminating;
} kl__endpoint;

/* The highest weight that an annotation can give. */
#define KL__WEIGHT_MAX 1000

/*
 * On a Service: "NAME=WEIGHT,...", where NAME is an address, a pod, a node or a
 * zone, and may end in "*"; the first that fits an endpoint counts. On an
 * EndpointSlice: the weight of its endpoints, where the Service has none for
 * them.
 */
#define KL__WEIGHTS_ANNOTATION "kubelua.dev/weights"
#define KL__WEIGHT_ANNOTATION "kubelua.dev/weight"

/* A name and where it leads to now. */
typedef struct kl__route {
    const char *name;
    const kl__endpoint *endpoints; /* sorted by host, then port */
    size_t count;
    size_t usable; /* ready, or terminating and still serving */
    bool is_gone;  /* the name leads nowhere any more */
} kl__route;

/* Called for each name of a Service that changed; the route is borrowed for
 * the call. Anything but KL_OK stops, and the Service comes again. */
typedef kl_code (*kl__route_fn)(void *context, const kl__route *route,
                                kl_error *err);

/* Not thread-safe: it belongs to the owner's thread. */
typedef struct kl__routes kl__routes;

/* Empty ones; the caller owns them. NULL: KL_ENOMEM. */
kl__routes *kl__routes_new(kl_error *err);
/* Frees them; NULL is fine. */
void kl__routes_free(kl__routes *routes);

/* A Service was added or changed. KL_ENOMEM: it is as it was before. */
kl_code kl__routes_put_service(kl__routes *routes, kl_object *service,
                               kl_error *err);
/* A Service is gone, by its key ("web/shop"); one that was not there is fine.
 * Its slices stay, for a Service that comes again. */
void kl__routes_remove_service(kl__routes *routes, const char *key);

/* An EndpointSlice was added or changed; it waits for its Service. KL_ENOMEM:
 * it is as it was before. */
kl_code kl__routes_put_slice(kl__routes *routes, kl_object *slice,
                             kl_error *err);
/* An EndpointSlice is gone, by its key; one that was not there is fine. */
void kl__routes_remove_slice(kl__routes *routes, const char *key);

/* True if a flush has something to tell. */
bool kl__routes_changed(const kl__routes *routes);

/*
 * Calls `fn` with every name of each Service that changed since the last flush,
 * also where the endpoints came out the same. Names of one Service come one
 * after the other, those that are gone last. KL_ENOMEM, or what `fn` returned:
 * the Service at hand and those after it come at the next flush.
 */
kl_code kl__routes_flush(kl__routes *routes, kl__route_fn fn, void *context,
                         kl_error *err);

#endif
