/*
 * shared_write.h - how the owner of a shared map (kubelua/shared.h) writes it.
 *
 * Puts and removals are kept aside until kl_shared_publish makes them the next
 * generation, all of them or none. They may come from any thread of the owner,
 * and never wait for a publish that is under way. What an owner before left
 * stays published until it is put again, removed, or its table is complete.
 *
 * In a process that is not the owner, such as a child that the owner forks,
 * each call fails with KL_ECLOSED: what was put aside is lost with the
 * ownership.
 */
#ifndef KUBELUA_SHARED_WRITE_H
#define KUBELUA_SHARED_WRITE_H

#include "kubelua/shared.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KL_SHARED_VALUE_MAX (1 << 20) /* bytes of a value */
#define KL_SHARED_ENDPOINTS_MAX 16384 /* endpoints of an entry */

/* An endpoint to put; the map copies it. */
typedef struct kl_endpoint {
    const char *host; /* an address without brackets, or a DNS name */
    const char *zone; /* the zone that it is for; NULL: unknown */
    const char *node; /* the node that it is for; NULL: unknown */
    uint16_t port;
    uint16_t weight; /* relative; 0: never picked */
    uint16_t flags;  /* KL_ENDPOINT_READY ... */
} kl_endpoint;

/* Sets the entry to some bytes, which are copied; size may be 0. KL_ENOMEM,
 * KL_ETOO_LARGE (beyond KL_SHARED_VALUE_MAX), KL_ECLOSED. */
KL_API kl_code kl_shared_put(kl_shared *map, const kl_shared_key *key,
                             const void *value, size_t size, kl_error *err);

/*
 * Sets the entry to these endpoints, which are copied; count may be 0. Their
 * order does not matter; of several with the same host and port, one that is
 * ready counts, else one that serves. KL_ENOMEM, KL_ETOO_LARGE (beyond
 * KL_SHARED_ENDPOINTS_MAX, or a text that is too long), KL_EINVAL (no host),
 * KL_ECLOSED.
 */
KL_API kl_code kl_shared_put_endpoints(kl_shared *map, const kl_shared_key *key,
                                       const kl_endpoint *endpoints,
                                       size_t count, kl_error *err);

/* Removes the entry, if there is one. KL_ENOMEM, KL_ECLOSED. */
KL_API kl_code kl_shared_remove(kl_shared *map, const kl_shared_key *key,
                                kl_error *err);

/* The table is complete: what is left in it of an owner before is removed.
 * KL_ENOMEM, KL_EINVAL (no such name of a table), KL_ECLOSED. */
KL_API kl_code kl_shared_complete(kl_shared *map, const char *table,
                                  kl_error *err);

/*
 * Publishes what was put and removed since. Nothing happens if that changes
 * nothing. It writes the whole map, so changes that come close together are
 * better published together. KL_ETOO_LARGE: the map is full; readers keep the
 * last published state, it is counted, logged once until it fits again, and
 * nothing that was put is forgotten: the next publish tries again. KL_ENOMEM:
 * the same, without the counting. KL_ECLOSED.
 */
KL_API kl_code kl_shared_publish(kl_shared *map, kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
