/*
 * shared_write.h - how the owner of a shared map (kubelua/shared.h) writes it.
 *
 * Puts and removals are collected until kl_shared_publish publishes all of them
 * that fit together. Any thread of the owner may call them; they never wait for
 * a publish that is under way. Entries of a former owner stay published until
 * they are put again or removed, or until their table is declared complete.
 *
 * In a process that is not the owner, such as a child that the owner forks,
 * each call fails with KL_ECLOSED. A process that is the owner no longer has
 * lost the puts that it has not published.
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
    const char *zone; /* the zone whose clients prefer it, or several zones with
                         commas between them; NULL: unknown */
    const char *node; /* the node whose clients prefer it; NULL: unknown */
    const char *pod;  /* the pod's name, for kl_pick; NULL: unknown */
    uint16_t port;
    uint16_t weight; /* relative to the others; 0: never picked */
    uint16_t flags;  /* KL_ENDPOINT_READY ... */
} kl_endpoint;

/* Sets the entry to a copy of these bytes; size may be 0. KL_ENOMEM,
 * KL_ETOO_LARGE (beyond KL_SHARED_VALUE_MAX, or the room of the map),
 * KL_ECLOSED. */
KL_API kl_code kl_shared_put(kl_shared *map, const kl_shared_key *key,
                             const void *value, size_t size, kl_error *err);

/*
 * Sets the entry to a copy of these endpoints; count may be 0. Their order does
 * not matter. Of several with the same host and port, one is kept: a ready one,
 * else one that serves. KL_ENOMEM, KL_ETOO_LARGE (beyond
 * KL_SHARED_ENDPOINTS_MAX, or a text that is too long), KL_EINVAL (no host),
 * KL_ECLOSED.
 */
KL_API kl_code kl_shared_put_endpoints(kl_shared *map, const kl_shared_key *key,
                                       const kl_endpoint *endpoints,
                                       size_t count, kl_error *err);

/* Removes the entry, if there is one. KL_ENOMEM, KL_ECLOSED. */
KL_API kl_code kl_shared_remove(kl_shared *map, const kl_shared_key *key,
                                kl_error *err);

/* Declares a table complete: entries of a former owner that were not put again
 * are removed. KL_ENOMEM, KL_EINVAL (a wrong name of a table), KL_ECLOSED. */
KL_API kl_code kl_shared_complete(kl_shared *map, const char *table,
                                  kl_error *err);

/*
 * Puts and removals that are made ready a few at a time, and then join those of
 * the next publish all at once: for an event loop, which must not stop for
 * 10,000 of them. One thread uses a batch; its map must stay open.
 */
typedef struct kl_shared_batch kl_shared_batch;

/* An empty batch; NULL: KL_ENOMEM. kl_shared_batch_free frees it. */
KL_API kl_shared_batch *kl_shared_batch_new(kl_shared *map, kl_error *err);

/* Drops what was not committed. NULL is allowed. */
KL_API void kl_shared_batch_free(kl_shared_batch *batch);

/* As kl_shared_put, in the batch. KL_ENOMEM, KL_ETOO_LARGE. */
KL_API kl_code kl_shared_batch_put(kl_shared_batch *batch,
                                   const kl_shared_key *key, const void *value,
                                   size_t size, kl_error *err);

/* As kl_shared_remove, in the batch. KL_ENOMEM. */
KL_API kl_code kl_shared_batch_remove(kl_shared_batch *batch,
                                      const kl_shared_key *key, kl_error *err);

/* Adds all of them to those of the next publish, which publishes all or none,
 * in a time that does not depend on their number. The batch is empty
 * afterwards. KL_ECLOSED: this process is not the owner. */
KL_API kl_code kl_shared_batch_commit(kl_shared_batch *batch, kl_error *err);

/*
 * Publishes the puts and removals since the last publish; does nothing if they
 * change nothing. It writes the whole map, so publish many changes together.
 * KL_ETOO_LARGE: not all entries fit, and all that fit are published. Services
 * and values that are left out are not there for readers; they are listed (see
 * kl_shared_status), counted, logged, and come as soon as they fit. Services
 * have three quarters of the room for certain, tables a quarter; in each,
 * namespaces or tables have equal shares, and the smallest Services or values
 * of a namespace or table stay. KL_ENOMEM: readers keep the last generation,
 * and the next publish tries again with all puts. KL_ECLOSED.
 */
KL_API kl_code kl_shared_publish(kl_shared *map, kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
