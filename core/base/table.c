/*
 * table.c - see table.h.
 */
#include "base/table.h"

#include "base/mem.h"
#include "base/text_hash.h"

#include <string.h>

/* An odd number with an irregular pattern of bits. */
#define FACTOR 0x9e3779b1U

kl__key kl__key_of_n(const char *text, size_t length)
{
    return (kl__key){text, length, kl__hash(text, length)};
}

kl__key kl__key_of(const char *text)
{
    return kl__key_of_n(text, strlen(text));
}

static uint32_t *hashes_of(const kl__table *table)
{
    return (uint32_t *)(void *)(table->items + (size_t)table->capacity *
                                                   (1 + table->has_links));
}

/* What the table keeps of a hash; never 0. */
static uint32_t mix_hash(const kl__table *table, uint32_t hash)
{
    uint32_t mixed = (hash ^ table->salt) * FACTOR;

    return mixed != 0 ? mixed : 1;
}

/* The slot where the search for a mixed hash begins. */
static uint32_t home_of(const kl__table *table, uint32_t mixed)
{
    return (uint32_t)(((uint64_t)mixed * table->capacity) >> 32);
}

static uint32_t slot_after(const kl__table *table, uint32_t slot)
{
    return slot + 1 < table->capacity ? slot + 1 : 0;
}

/* How many slots `to` is behind `from`. */
static uint32_t distance(const kl__table *table, uint32_t from, uint32_t to)
{
    return to >= from ? to - from : to + (table->capacity - from);
}

void kl__table_deinit(kl__table *table)
{
    kl__free(table->items);
    table->items = NULL;
    table->capacity = table->count = 0;
}

/* The next slot from `slot` on that has this mixed hash; KL__NO_SLOT if a free
 * slot comes first. */
static inline uint32_t next_match(const kl__table *table, uint32_t mixed,
                                  uint32_t slot)
{
    const uint32_t *hashes = hashes_of(table);

    while (hashes[slot] != mixed) {
        if (hashes[slot] == 0) {
            return KL__NO_SLOT;
        }
        slot = slot_after(table, slot);
    }
    return slot;
}

/* The first slot that has this mixed hash, or KL__NO_SLOT. */
static inline uint32_t first_match(const kl__table *table, uint32_t mixed)
{
    return table->count > 0 ? next_match(table, mixed, home_of(table, mixed))
                            : KL__NO_SLOT;
}

uint32_t kl__table_find(const kl__table *table, const kl__key *key,
                        kl__text_of text_of, const void *context)
{
    uint32_t mixed = mix_hash(table, key->hash);
    uint32_t slot = first_match(table, mixed);

    while (slot != KL__NO_SLOT) {
        const char *text = text_of(context, table->items[slot]);

        if (strncmp(text, key->text, key->length) == 0 &&
            text[key->length] == '\0') {
            break;
        }
        slot = next_match(table, mixed, slot_after(table, slot));
    }
    return slot;
}

uint32_t kl__table_find_item(const kl__table *table, uint32_t hash,
                             const void *item)
{
    uint32_t mixed = mix_hash(table, hash);
    uint32_t slot = first_match(table, mixed);

    while (slot != KL__NO_SLOT && table->items[slot] != item) {
        slot = next_match(table, mixed, slot_after(table, slot));
    }
    return slot;
}

void kl__table_fetch(const kl__table *table, uint32_t hash)
{
    if (table->count > 0) {
        uint32_t slot = home_of(table, mix_hash(table, hash));

        __builtin_prefetch(&hashes_of(table)[slot]);
        __builtin_prefetch(&table->items[slot]);
    }
}

const void *kl__table_guess(const kl__table *table, uint32_t hash)
{
    uint32_t slot = first_match(table, mix_hash(table, hash));

    return slot != KL__NO_SLOT ? table->items[slot] : NULL;
}

/* The least capacity for so many items. */
static size_t capacity_for(size_t count)
{
    return (count * 5 + 3) / 4;
}

static bool has_room(const kl__table *table, size_t extra)
{
    return capacity_for(table->count + extra) <= table->capacity;
}

bool kl__table_fits(const kl__table *table, size_t extra)
{
    enum { SMALL = 64, MUCH = 8 };

    return has_room(table, extra) &&
           (table->capacity <= SMALL ||
            table->capacity / MUCH <= table->count + extra);
}

/* Adds an item by its mixed hash. */
static uint32_t place_item(kl__table *table, uint32_t mixed, void *item)
{
    uint32_t *hashes = hashes_of(table);
    uint32_t slot = home_of(table, mixed);

    while (hashes[slot] != 0) {
        slot = slot_after(table, slot);
    }
    hashes[slot] = mixed;
    table->items[slot] = item;
    table->count++;
    return slot;
}

/* The capacity of a copy: half more than before if that is too small; less than
 * before if there are few items. */
static size_t next_capacity(const kl__table *table, size_t extra)
{
    size_t least = capacity_for(table->count + extra);
    size_t usual = has_room(table, extra)
                       ? table->capacity
                       : (size_t)table->capacity + table->capacity / 2;

    if (least >= usual) {
        return least;
    }
    return has_room(table, extra) && least + least / 2 < usual
               ? least + least / 2
               : usual;
}

bool kl__table_copy(const kl__table *from, size_t extra, kl__table *to)
{
    size_t size = sizeof(void *) * (1 + from->has_links) + sizeof(uint32_t);
    size_t capacity = next_capacity(from, extra);
    uint32_t cursor = 0, slot;

    *to = (kl__table){.salt = from->salt, .has_links = from->has_links};
    if (capacity == 0) {
        return true;
    }
    to->items = capacity < KL__NO_SLOT ? kl__calloc(capacity, size) : NULL;
    if (to->items == NULL) {
        return false;
    }
    to->capacity = (uint32_t)capacity;
    while ((slot = kl__table_next(from, &cursor)) != KL__NO_SLOT) {
        uint32_t at = place_item(to, hashes_of(from)[slot], from->items[slot]);

        if (to->has_links != 0) {
            *kl__table_link(to, at) = *kl__table_link(from, slot);
        }
    }
    return true;
}

bool kl__table_reserve(kl__table *table, size_t extra)
{
    kl__table larger;

    if (has_room(table, extra)) {
        return true;
    }
    if (!kl__table_copy(table, extra, &larger)) {
        return false;
    }
    kl__free(table->items);
    *table = larger;
    return true;
}

uint32_t kl__table_add(kl__table *table, uint32_t hash, void *item)
{
    return place_item(table, mix_hash(table, hash), item);
}

/* Moves what a slot holds to a free slot. */
static void move_slot(kl__table *table, uint32_t from, uint32_t to)
{
    uint32_t *hashes = hashes_of(table);

    hashes[to] = hashes[from];
    hashes[from] = 0;
    table->items[to] = table->items[from];
    if (table->has_links != 0) {
        *kl__table_link(table, to) = *kl__table_link(table, from);
    }
}

void kl__table_remove(kl__table *table, uint32_t slot)
{
    uint32_t *hashes = hashes_of(table);
    uint32_t hole = slot;

    hashes[hole] = 0;
    table->count--;
    for (uint32_t i = slot_after(table, hole); hashes[i] != 0;
         i = slot_after(table, i)) {
        /* What slot i holds may move back to the hole, unless its home lies
         * between the two. */
        uint32_t home = home_of(table, hashes[i]);

        if (distance(table, home, i) >= distance(table, hole, i)) {
            move_slot(table, i, hole);
            hole = i;
        }
    }
}

void **kl__table_link(const kl__table *table, uint32_t slot)
{
    return &table->items[(size_t)table->capacity + slot];
}

uint32_t kl__table_next(const kl__table *table, uint32_t *cursor)
{
    while (*cursor < table->capacity) {
        uint32_t slot = (*cursor)++;

        if (hashes_of(table)[slot] != 0) {
            return slot;
        }
    }
    return KL__NO_SLOT;
}
