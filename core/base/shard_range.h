/*
 * shard_range.h - one of several shards of a collection: the objects whose UIDs
 * have their hash (kl_shard_hash) in a range, as a server selects them by the
 * parameter shardSelector (KEP-5866).
 */
#ifndef KL_BASE_SHARD_RANGE_H
#define KL_BASE_SHARD_RANGE_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { KL__SHARD_SELECTOR_SIZE = 96 };

/* Zeroed: all. */
typedef struct kl__shard_range {
    uint64_t first;
    uint64_t last;
} kl__shard_range;

/* Reads "0/4": the first of four shards. NULL, "" or "0/1": all. KL_EINVAL. */
kl_code kl__shard_range_parse(const char *text, kl__shard_range *range,
                              kl_error *err);
bool kl__shard_range_is_all(const kl__shard_range *range);
bool kl__shard_range_has(const kl__shard_range *range, const char *uid);
/* Writes the value of shardSelector. */
void kl__shard_range_selector(const kl__shard_range *range,
                              char text[KL__SHARD_SELECTOR_SIZE]);

#endif
