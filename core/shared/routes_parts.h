/*
 * routes_parts.h - the fields of Services and EndpointSlices that routes need:
 * their texts in one block, and numbers that point into it.
 */
#ifndef KL_SHARED_ROUTES_PARTS_H
#define KL_SHARED_ROUTES_PARTS_H

#include "base/buf.h"
#include "base/list.h"
#include "kubelua/error.h"
#include "kubelua/object.h"
#include "shared/routes.h"
#include "shared/weights.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The address families, in the order in which they are tried if the Service
 * names none. */
typedef enum kl__family {
    KL__FAMILY_IPV4,
    KL__FAMILY_IPV6,
    KL__FAMILY_FQDN, /* host names; always last */
    KL__FAMILIES
} kl__family;

/* The position of a text in the block of its Service or slice; 0 is "". */
typedef uint32_t kl__text_at;

/* A port of a Service, or of a slice (the target port). */
typedef struct kl__route_port {
    kl__text_at name;
    kl__text_at protocol; /* "TCP" if the object has none */
    uint16_t number;      /* 0: none */
    bool has_number;      /* of a Service: the number means this port */
} kl__route_port;

/* The fields of a Service; constant. */
typedef struct kl__route_service {
    char *texts;
    kl__route_port *ports;
    size_t port_count;
    kl__weights weights;
    uint64_t stamp;                    /* number of this version among all */
    kl__family families[KL__FAMILIES]; /* in the order of preference */
    bool is_external;                  /* type ExternalName: it has no slices */
    kl__text_at external_name;         /* 0: it is not served */
    const char *fault;                 /* why not; NULL: it is; static */
    char *spec; /* what is not usual in it, as JSON; NULL: nothing */
    bool publish_not_ready; /* each endpoint counts as ready (KEP-1672) */
} kl__route_service;

typedef struct kl__slice_endpoint {
    kl__text_at address;
    kl__text_at zone;
    kl__text_at node;
    kl__text_at pod;  /* the name in its targetRef */
    kl__text_at hint; /* zone names in hints.forZones, as "a,b"; 0: none */
    bool ready;
    bool serving;
    bool terminating;
} kl__slice_endpoint;

/* The fields of an EndpointSlice; constant. */
typedef struct kl__route_slice {
    char *texts;
    kl__text_at version;
    kl__text_at service;   /* "namespace/name"; 0: it has no Service */
    kl__route_port *ports; /* sorted by name and protocol */
    size_t port_count;
    kl__slice_endpoint *endpoints;
    size_t endpoint_count;
    kl__family family;
    int weight;                /* from its annotation; -1: none */
    size_t refused;            /* addresses that are not served, left out */
    kl__text_at first_refused; /* one of them */
    const char *fault;         /* why it is not; static */
} kl__route_slice;

/* Reads a Service; the caller owns the result. NULL: KL_ENOMEM. A field of a
 * wrong type is taken as absent, as the API server has checked the object. */
kl__route_service *kl__route_service_read(kl_object *object,
                                          const kl__route_policy *policy,
                                          kl_error *err);
void kl__route_service_free(kl__route_service *service);

/* The same for an EndpointSlice. */
kl__route_slice *kl__route_slice_read(kl_object *object,
                                      const kl__route_policy *policy,
                                      kl_error *err);
void kl__route_slice_free(kl__route_slice *slice);

/* One slice of a Service, for the merge. */
typedef struct kl__slice_node {
    kl__list node; /* in the list of its Service */
    char *key;
    kl__route_slice *slice;
    struct kl__routed *routed;
    uint16_t *weights; /* of the endpoints; NULL: `slice` has them */
    uint64_t weighed;  /* stamp of the Service whose rules gave them; 0: none */
} kl__slice_node;

/* The endpoints of one port; the memory is used again for the next merge. */
typedef struct kl__merge {
    struct kl__candidate *candidates;
    size_t capacity;
    kl__endpoint *endpoints; /* room for `capacity`, too */
    size_t count;
    size_t usable; /* number with a weight above 0 that are ready, or
                      terminating and still serving */
} kl__merge;

void kl__merge_deinit(kl__merge *merge);

/* Finds the weights of the endpoints in each slice of a list, once for each
 * version of the Service and of the slice. False: out of memory. */
bool kl__merge_weigh(const kl__route_service *service, const kl__list *slices);

/*
 * Fills `merge->endpoints` with the endpoints of a port. `port` NULL: of a
 * Service without ports. `slices`: a list of kl__slice_node, which were
 * weighed. Texts are borrowed
 * from the Service and its slices. False: out of memory.
 */
bool kl__merge_port(kl__merge *merge, const kl__route_service *service,
                    const kl__route_port *port, const kl__list *slices);

#endif
