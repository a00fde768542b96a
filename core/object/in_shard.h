/*
 * in_shard.h - tells if an object is in a shard. The object's UID, key or
 * namespace decides, or the UID, key or name of one of its owners.
 */
#ifndef KL_OBJECT_IN_SHARD_H
#define KL_OBJECT_IN_SHARD_H

#include "base/shard_range.h"
#include "kubelua/informer.h"

/* The ranges of a shard, and what they are of. Zeroed: all objects. */
typedef struct kl__shard {
    kl_shard_by by;
    kl__shard_ranges ranges;
} kl__shard;

/* Reads kl_informer_options.shard. KL_EINVAL. */
kl_code kl__shard_parse(const char *text, kl_shard_by by, kl__shard *shard,
                        kl_error *err);

/* True if another state of an object may be of another shard. */
bool kl__shard_may_change(const kl__shard *shard);

/* False: no object of the namespace is of the shard. Thread-safe. */
bool kl__shard_has_namespace(const kl__shard *shard, const char *name_space);

/* True if an object is of the shard. An object whose owners cannot be read is.
 * Thread-safe. */
bool kl__shard_has(const kl__shard *shard, kl_object *object);

#endif
