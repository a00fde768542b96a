/*
 * keeping.h - keeps the endpoints of a Service that has lost its last usable
 * one, for a time: on request only, as their addresses may soon belong to other
 * pods. So an address is dropped as soon as a slice of another Service has it
 * for another pod. Endpoints that are kept have the flag KL_ENDPOINT_KEPT. Only
 * the owner's thread uses it; the next owner clears what this one has kept.
 */
#ifndef KL_SHARED_KEEPING_H
#define KL_SHARED_KEEPING_H

#include "kubelua/shared_write.h"
#include "shared/routes.h"

typedef struct kl__keeping kl__keeping;

/* A name of a route, and its entry. */
typedef struct kl__route_name {
    kl_shared *map;
    kl_shared_key *key;
    const kl__route *route;
    size_t index;
} kl__route_name;

/* Keeps for so many milliseconds; `routes` lives longer. The caller owns it.
 * NULL: KL_ENOMEM. */
kl__keeping *kl__keeping_new(kl__routes *routes, int keep_ms, kl_error *err);
/* NULL is fine. */
void kl__keeping_free(kl__keeping *self);

/*
 * Puts the published endpoints of a name again, whose route has no usable one
 * now. KL_ENOT_FOUND: there is nothing to keep, or its time is over. KL_ENOMEM,
 * KL_ECLOSED.
 */
kl_code kl__keeping_put(kl__keeping *self, const kl__route_name *name,
                        kl_error *err);

/* Ends the keeping of a name, if it is kept. */
void kl__keeping_forget(kl__keeping *self, const char *name);

/* Counts Services whose time is over as changed. */
void kl__keeping_expire(kl__keeping *self, int64_t now_ms);

/* When the next one is over, by the real clock; INT64_MAX: nothing is kept. */
int64_t kl__keeping_next(const kl__keeping *self);

/* The endpoints that are kept; those of several names of a port count once. */
size_t kl__keeping_count(const kl__keeping *self);

#endif
