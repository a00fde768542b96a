/*
 * entries.h - what the owner of a shared map wants to be in it: the entries,
 * which of them changed since the last publish, and a slot made of them. Not
 * thread-safe: writer.c has the lock.
 */
#ifndef KL_SHARED_ENTRIES_H
#define KL_SHARED_ENTRIES_H

#include "base/map.h"
#include "shared/change.h"
#include "shared/map.h"

typedef struct kl__entries {
    kl__map by_name;   /* kl__change: each owns its block, and its key */
    uint64_t words;    /* of all blocks */
    bool is_changed;   /* something differs from what is published */
    bool is_all_dirty; /* all versions have to move on */
    uint64_t dirty[KL_SHARED_VERSIONS / 64]; /* versions that have to */
} kl__entries;

void kl__entries_deinit(kl__entries *self);

/* Applies a change and takes it; false: out of memory, nothing happened. */
bool kl__entries_apply(kl__entries *self, kl__change *change);

/* Adds what the map's last generation holds, as far as it is whole. */
kl_code kl__entries_read(kl__entries *self, const kl_shared *map,
                         kl_error *err);

/* The words that a slot of all entries takes. */
uint64_t kl__entries_size(const kl__entries *self);

/* Writes them to a slot, which is large enough, as that generation. */
void kl__entries_write(const kl__entries *self, kl__word *slot,
                       uint64_t generation);

/* Moves the versions of what changed on; nothing is changed any more. */
void kl__entries_move_versions(kl__entries *self, const kl_shared *map);

#endif
