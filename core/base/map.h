/*
 * map.h - a hash table from strings to pointers. The map does not copy keys:
 * the caller keeps a key alive and unchanged while it is in the map, usually
 * because the value contains it. Not thread-safe.
 */
#ifndef KL_BASE_MAP_H
#define KL_BASE_MAP_H

#include "base/for_sim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kl__map_slot {
    const char *key; /* NULL: free */
    void *value;
    uint32_t hash;
    uint32_t length;
} kl__map_slot;

/* A zeroed map is empty and valid. Open addressing with linear probing; at most
 * 3/4 of the slots are used; a removal shifts later slots back, so there are no
 * tombstones. */
typedef struct kl__map {
    kl__map_slot *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
} kl__map;

/* Frees the table, not keys or values; zeroes the map. */
KL__FOR_SIM void kl__map_deinit(kl__map *map);

/* The value of a key, or NULL. */
KL__FOR_SIM void *kl__map_get(const kl__map *map, const char *key);
KL__FOR_SIM void *kl__map_get_n(const kl__map *map, const char *key,
                                size_t length);

/* Makes room for `extra` new keys: putting them then cannot fail. False: out of
 * memory. */
KL__FOR_SIM bool kl__map_reserve(kl__map *map, size_t extra);

/* True if there is room for `extra` new keys: putting them cannot fail. */
bool kl__map_has_room(const kl__map *map, size_t extra);

/* Makes `to` a copy of `from` with room for `extra` new keys. For a map that
 * other threads read: the writer fills a copy and then swaps it in. What `to`
 * held is not freed. False: out of memory, and `to` is empty. */
bool kl__map_copy(const kl__map *from, size_t extra, kl__map *to);

/* Sets a key's value (not NULL), replacing the key pointer too. `old` (may be
 * NULL) gets the former value or NULL. False: out of memory, map unchanged. */
KL__FOR_SIM bool kl__map_put(kl__map *map, const char *key, void *value,
                             void **old);
/* The same for a key of `length` bytes, which may be NUL bytes. */
KL__FOR_SIM bool kl__map_put_n(kl__map *map, const char *key, size_t length,
                               void *value, void **old);

/* Removes a key and returns its value, or NULL. Never allocates. */
KL__FOR_SIM void *kl__map_remove(kl__map *map, const char *key);

/* The same two for a map whose keys have another hash than the map's own, which
 * the caller knows already. On such a map no other call takes a key. */
bool kl__map_put_slot(kl__map *map, kl__map_slot slot, void **old);
void *kl__map_remove_slot(kl__map *map, const kl__map_slot *slot);

/* Iterates over the used slots, in no order: *cursor starts at 0; NULL at the
 * end. The map must not change meanwhile. */
KL__FOR_SIM const kl__map_slot *kl__map_next(const kl__map *map,
                                             size_t *cursor);

#endif
