/*
 * shared_hash.h - consistent hashing over many endpoints, at a constant cost.
 *
 * Keys are divided into KL_HASH_PARTS parts by their hash; rendezvous hashing
 * gives each part to an endpoint: the one with the highest score of (part,
 * endpoint), as kl_shared_pick does with single keys. So if an endpoint goes,
 * only its parts move; one that comes takes parts from all others, in
 * proportion to its weight; all processes and machines, whatever they saw
 * before, give a part to the same endpoint. Of 1,000 endpoints each has about
 * 65 parts (57 to 74 in two of three cases).
 *
 * Looking at all endpoints costs 1 ns for each, 10 ns with weights. So callers
 * keep the winner of each part that was asked for, and change what they keep
 * when the endpoints change (kl_hash_change).
 *
 * All calls are pure functions of their arguments, and cannot fail.
 */
#ifndef KUBELUA_SHARED_HASH_H
#define KUBELUA_SHARED_HASH_H

#include "kubelua/error.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KL_HASH_PARTS 65536

/* Endpoints, each at its index. At most 65,535; borrowed. */
typedef struct kl_hash_endpoints {
    const uint64_t *identities; /* see kl_pick */
    const uint16_t *weights;    /* NULL: all the same; 0: never chosen */
    uint32_t count;
} kl_hash_endpoints;

/* The index of the endpoint that has this part; `count` if there is none with a
 * weight. */
KL_API uint32_t kl_hash_choose(const kl_hash_endpoints *endpoints,
                               uint32_t part);

/*
 * Brings the winners that a caller keeps from one list of endpoints to the
 * next. `winners` has KL_HASH_PARTS numbers: 0, the winner of that part is not
 * known, else its index and 1. `moved` has for each endpoint of the list before
 * its index in `now` and 1; or 0: it is gone, or its weight is another one.
 * `added` are the indexes in `now` of those that came, or whose weight is
 * another one. Parts of endpoints that are gone become unknown; all do where
 * so many came that looking at them here would take some milliseconds.
 */
KL_API void kl_hash_change(uint16_t *winners, const uint16_t *moved,
                           const kl_hash_endpoints *now, const uint32_t *added,
                           uint32_t added_count);

#ifdef __cplusplus
}
#endif
#endif
