/*
 * map.c - see map.h.
 */
#include "base/map.h"

#include "base/mem.h"
#include "base/text_hash.h"

#include <string.h>

enum { FIRST_CAPACITY = 16 };

/* The index of the key's slot, or of the free slot where the key belongs. */
static size_t find_slot(const kl__map *map, const char *key, size_t length,
                        uint32_t hash)
{
    size_t mask = map->capacity - 1;
    size_t i = hash & mask;

    while (map->slots[i].key != NULL) {
        const kl__map_slot *slot = &map->slots[i];

        if (slot->hash == hash && slot->length == length &&
            memcmp(slot->key, key, length) == 0) {
            break;
        }
        i = (i + 1) & mask;
    }
    return i;
}

void kl__map_deinit(kl__map *map)
{
    kl__free(map->slots);
    *map = (kl__map){0};
}

void *kl__map_get_n(const kl__map *map, const char *key, size_t length)
{
    if (map->count == 0) {
        return NULL;
    }
    return map->slots[find_slot(map, key, length, kl__hash(key, length))].value;
}

void *kl__map_get(const kl__map *map, const char *key)
{
    return kl__map_get_n(map, key, strlen(key));
}

/* Doubles the capacity until `count` keys use at most 3/4 of the slots, and
 * returns it. */
static size_t capacity_for(size_t capacity, size_t count)
{
    capacity = capacity != 0 ? capacity : FIRST_CAPACITY;
    while (capacity / 4 * 3 < count) {
        capacity *= 2;
    }
    return capacity;
}

bool kl__map_has_room(const kl__map *map, size_t extra)
{
    return map->capacity / 4 * 3 >= map->count + extra;
}

bool kl__map_copy(const kl__map *from, size_t extra, kl__map *to)
{
    size_t capacity = capacity_for(from->capacity, from->count + extra);

    *to = (kl__map){0};
    to->slots = kl__calloc(capacity, sizeof(kl__map_slot));
    if (to->slots == NULL) {
        return false;
    }
    to->capacity = capacity;
    to->count = from->count;
    for (size_t i = 0; i < from->capacity; i++) {
        const kl__map_slot *slot = &from->slots[i];

        if (slot->key != NULL) {
            to->slots[find_slot(to, slot->key, slot->length, slot->hash)] =
                *slot;
        }
    }
    return true;
}

bool kl__map_reserve(kl__map *map, size_t extra)
{
    kl__map bigger;

    if (kl__map_has_room(map, extra)) {
        return true;
    }
    if (!kl__map_copy(map, extra, &bigger)) {
        return false;
    }
    kl__free(map->slots);
    *map = bigger;
    return true;
}

bool kl__map_put(kl__map *map, const char *key, void *value, void **old)
{
    return kl__map_put_n(map, key, strlen(key), value, old);
}

bool kl__map_put_slot(kl__map *map, kl__map_slot slot, void **old)
{
    kl__map_slot *at;

    if (!kl__map_reserve(map, 1)) {
        return false;
    }
    at = &map->slots[find_slot(map, slot.key, slot.length, slot.hash)];
    if (old != NULL) {
        *old = at->value;
    }
    if (at->key == NULL) {
        map->count++;
    }
    *at = slot;
    return true;
}

bool kl__map_put_n(kl__map *map, const char *key, size_t length, void *value,
                   void **old)
{
    return kl__map_put_slot(
        map,
        (kl__map_slot){key, value, kl__hash(key, length), (uint32_t)length},
        old);
}

void *kl__map_remove(kl__map *map, const char *key)
{
    size_t length = strlen(key);

    return kl__map_remove_slot(
        map,
        &(kl__map_slot){key, NULL, kl__hash(key, length), (uint32_t)length});
}

void *kl__map_remove_slot(kl__map *map, const kl__map_slot *slot)
{
    size_t mask = map->capacity - 1;
    size_t hole;
    void *value;

    if (map->count == 0) {
        return NULL;
    }
    hole = find_slot(map, slot->key, slot->length, slot->hash);
    value = map->slots[hole].value;
    if (map->slots[hole].key == NULL) {
        return NULL;
    }
    map->count--;
    for (size_t i = (hole + 1) & mask; map->slots[i].key != NULL;
         i = (i + 1) & mask) {
        /* The slot at i may move back to the hole, unless its home (the index
         * that its hash gives) lies between the two. */
        size_t home = map->slots[i].hash & mask;

        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = (kl__map_slot){0};
    return value;
}

const kl__map_slot *kl__map_next(const kl__map *map, size_t *cursor)
{
    while (*cursor < map->capacity) {
        const kl__map_slot *slot = &map->slots[(*cursor)++];

        if (slot->key != NULL) {
            return slot;
        }
    }
    return NULL;
}
