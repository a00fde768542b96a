/*
 * shard_range.h - shards of a collection: the objects whose UIDs have their
 * hash (kl_shard_hash) in some ranges, as a server selects them by the
 * parameter shardSelector (KEP-5866).
 */
#ifndef KL_BASE_SHARD_RANGE_H
#define KL_BASE_SHARD_RANGE_H

#include "base/buf.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every second one of the parts of kubelua/shard.h. */
enum { KL__SHARD_RANGES_MAX = 128 };

typedef struct kl__shard_range {
    uint64_t first;
    uint64_t last;
} kl__shard_range;

/* In order; between two of them is a gap. Zeroed: all. */
typedef struct kl__shard_ranges {
    bool is_mixed; /* of kl_shard_mixed_hash, which no server selects by */
    size_t count;
    kl__shard_range items[KL__SHARD_RANGES_MAX];
} kl__shard_ranges;

/* Reads "0/4", the first of four shards, or several: "0/4,3/8". NULL, "" or
 * "0/1": all. KL_EINVAL. */
kl_code kl__shard_ranges_parse(const char *text, kl__shard_ranges *ranges,
                               kl_error *err);
bool kl__shard_ranges_are_all(const kl__shard_ranges *ranges);
/* True if the ranges have the hash of a UID, or another text. */
bool kl__shard_ranges_have(const kl__shard_ranges *ranges, const char *text);
/* Appends the value of shardSelector; not of all. */
void kl__shard_ranges_selector(const kl__shard_ranges *ranges, kl__buf *text);

#endif
