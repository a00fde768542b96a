/*
 * entries.h - the entries that the owner publishes next, and which of them have
 * changed since the last publish. slot.c writes them to a slot. Not
 * thread-safe: writer.c has the lock.
 */
#ifndef KL_SHARED_ENTRIES_H
#define KL_SHARED_ENTRIES_H

#include "base/map.h"
#include "shared/change.h"
#include "shared/map.h"

typedef struct kl__entries {
    kl__map by_name;    /* values are kl__shared_change, which own the keys */
    uint64_t words;     /* sum of all blocks, but for refused names */
    uint64_t out_words; /* of those that are not published */
    size_t out_count;
    size_t refused;    /* names that are no entries */
    bool is_changed;   /* there is a change that is not published */
    bool is_all_dirty; /* raise all versions at the next publish */
    uint64_t dirty[KL_SHARED_VERSIONS /
                   64]; /* the versions to raise at the next publish */
} kl__entries;

void kl__entries_deinit(kl__entries *self);

/* Applies a change, and takes it if it succeeds. False: out of memory, and
 * nothing has changed. */
bool kl__entries_apply(kl__entries *self, kl__shared_change *change);

/* Adds the entries of the map's last generation, except damaged ones. */
kl_code kl__entries_read(kl__entries *self, const kl_shared *map,
                         kl_error *err);

/* Publishes an entry, or does not. */
void kl__entries_set_out(kl__entries *self, kl__shared_change *entry,
                         bool is_out);

/* The words that the published entries need in a slot; or all. */
uint64_t kl__entries_size(const kl__entries *self);
uint64_t kl__entries_size_of_all(const kl__entries *self);

/* Writes the published entries to a slot, which is large enough, as that
 * generation. */
void kl__entries_write(const kl__entries *self, kl__word *slot,
                       uint64_t generation);

/* Raises the versions of changed entries; then no entry counts as changed. */
void kl__entries_move_versions(kl__entries *self, const kl_shared *map);

#endif
