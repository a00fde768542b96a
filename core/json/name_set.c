/*
 * name_set.c - see name_set.h. Open addressing with linear probing. The names
 * that were added last are dropped first, so a slot that is freed never
 * interrupts the way to another name.
 */
#include "json/name_set.h"

#include "base/mem.h"
#include "base/text_hash.h"
#include "kubelua/cursor.h"

#include <string.h>

void kl__names_init(kl__names *names)
{
    names->items = names->few;
    names->count = 0;
    names->capacity = KL__NAMES_FEW;
    names->slots = names->few_slots;
    memset(names->few_slots, 0, sizeof(names->few_slots));
}

void kl__names_drop(kl__names *names, size_t first)
{
    while (names->count > first) {
        kl__name *last = &names->items[--names->count];

        names->slots[last->slot] = 0;
        if (last->is_owned) {
            kl__free((void *)(uintptr_t)last->bytes);
        }
    }
}

void kl__names_deinit(kl__names *names)
{
    kl__names_drop(names, 0);
    if (names->items != names->few) {
        kl__free(names->items);
        kl__free(names->slots);
    }
}

static void put_slot(kl__names *names, size_t i)
{
    kl__name *name = &names->items[i];
    size_t mask = 2 * names->capacity - 1;
    size_t at = name->hash & mask;

    while (names->slots[at] != 0) {
        at = (at + 1) & mask;
    }
    names->slots[at] = (uint32_t)i + 1;
    name->slot = (uint32_t)at;
}

/* Doubles the room. False: out of memory. */
static bool grow(kl__names *names)
{
    size_t capacity = 2 * names->capacity;
    bool is_few = names->items == names->few;
    uint32_t *slots = kl__calloc(2 * capacity, sizeof(*slots));
    kl__name *items =
        kl__realloc(is_few ? NULL : names->items, capacity * sizeof(*items));

    if (items == NULL || slots == NULL) {
        kl__free(slots);
        if (is_few) {
            kl__free(items);
        } else if (items != NULL) {
            names->items = items;
        }
        return false;
    }
    if (is_few) {
        memcpy(items, names->few, sizeof(names->few));
    } else {
        kl__free(names->slots);
    }
    names->items = items;
    names->slots = slots;
    names->capacity = capacity;
    for (size_t i = 0; i < names->count; i++) {
        put_slot(names, i);
    }
    return true;
}

/* Resolves the escapes of a name, into memory that it then owns. */
static bool read_name(kl__name *name, const kl__name_text *at)
{
    char *bytes;

    *name = (kl__name){.bytes = at->bytes, .length = at->length};
    if (at->end == NULL) {
        return true;
    }
    name->bytes++;
    name->length = (size_t)(kl_cursor_skip(at->bytes, at->end) - at->bytes) - 2;
    if (memchr(name->bytes, '\\', name->length) == NULL) {
        return true;
    }
    bytes = kl__malloc(name->length + 1);
    if (bytes == NULL) {
        return false;
    }
    name->length = kl_cursor_decode(at->bytes, at->end, bytes);
    name->bytes = bytes;
    name->is_owned = true;
    return true;
}

static kl__name *find_name(const kl__names *names, size_t first,
                           const kl__name *wanted)
{
    size_t mask = 2 * names->capacity - 1;

    for (size_t at = wanted->hash & mask; names->slots[at] != 0;
         at = (at + 1) & mask) {
        size_t i = names->slots[at] - 1;
        kl__name *name = &names->items[i];

        if (i >= first && name->hash == wanted->hash &&
            name->length == wanted->length &&
            memcmp(name->bytes, wanted->bytes, name->length) == 0) {
            return name;
        }
    }
    return NULL;
}

kl__name *kl__names_add(kl__names *names, size_t first, const kl__name_text *at,
                        bool *is_new)
{
    kl__name name, *found;

    if (!read_name(&name, at)) {
        return NULL;
    }
    /* The level is part of the hash: the objects around may have the same
     * name, 10,000 of them. */
    name.hash =
        kl__hash(name.bytes, name.length) + (uint32_t)first * 0x9e3779b1u;
    found = find_name(names, first, &name);
    *is_new = found == NULL;
    if (found != NULL || (names->count == names->capacity && !grow(names))) {
        if (name.is_owned) {
            kl__free((void *)(uintptr_t)name.bytes);
        }
        return found;
    }
    names->items[names->count] = name;
    put_slot(names, names->count);
    return &names->items[names->count++];
}
