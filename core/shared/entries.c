/*
 * entries.c - applies changes to the owner's entries and notes which versions
 * to raise; slot.c writes the slots. See entries.h.
 */
#include "shared/entries.h"

#include "base/mem.h"

#include <string.h>

void kl__entries_deinit(kl__entries *self)
{
    size_t cursor = 0;
    const kl__map_slot *slot;

    while ((slot = kl__map_next(&self->by_name, &cursor)) != NULL) {
        kl__free(slot->value);
    }
    kl__map_deinit(&self->by_name);
}

static void mark_dirty(kl__entries *self, const kl__shared_change *entry)
{
    uint32_t bucket =
        (uint32_t)(entry->block[KL__BLOCK_HASH] % KL_SHARED_VERSIONS);

    self->dirty[bucket / 64] |= (uint64_t)1 << bucket % 64;
    self->is_changed = true;
}

static bool is_same(const kl__shared_change *a, const kl__shared_change *b)
{
    return a->words == b->words && a->is_refused == b->is_refused &&
           memcmp(a->block, b->block, (size_t)a->words * 8) == 0;
}

/* The map uses the hash that the block already has, so no name is hashed again.
 */
static kl__map_slot slot_of(kl__shared_change *entry)
{
    return (kl__map_slot){.key = kl__change_name(entry),
                          .value = entry,
                          .hash = kl__high(entry->block[KL__BLOCK_HASH]),
                          .length = entry->name_length};
}

static void add_to_sums(kl__entries *self, const kl__shared_change *entry)
{
    self->words += entry->is_refused ? 0 : entry->words;
    self->refused += entry->is_refused ? 1 : 0;
    self->out_words += entry->is_out ? entry->words : 0;
    self->out_count += entry->is_out ? 1 : 0;
}

static void take_from_sums(kl__entries *self, const kl__shared_change *entry)
{
    self->words -= entry->is_refused ? 0 : entry->words;
    self->refused -= entry->is_refused ? 1 : 0;
    self->out_words -= entry->is_out ? entry->words : 0;
    self->out_count -= entry->is_out ? 1 : 0;
}

void kl__entries_set_out(kl__entries *self, kl__shared_change *entry,
                         bool is_out)
{
    if (entry->is_out != is_out) {
        take_from_sums(self, entry);
        entry->is_out = is_out;
        add_to_sums(self, entry);
        mark_dirty(self, entry);
    }
}

static bool put_entry(kl__entries *self, kl__shared_change *entry)
{
    void *old = NULL;

    if (!kl__map_put_slot(&self->by_name, slot_of(entry), &old)) {
        return false;
    }
    entry->next = NULL;
    if (old != NULL) {
        entry->is_out =
            ((const kl__shared_change *)old)->is_out && !entry->is_refused;
        take_from_sums(self, old);
    }
    add_to_sums(self, entry);
    if (old == NULL || !is_same(old, entry)) {
        mark_dirty(self, entry);
    }
    kl__free(old);
    return true;
}

/* Removes the entry that has the name of `named`, which may be that entry. */
static void remove_entry(kl__entries *self, kl__shared_change *named)
{
    kl__map_slot slot = slot_of(named);
    kl__shared_change *old = kl__map_remove_slot(&self->by_name, &slot);

    if (old != NULL) {
        take_from_sums(self, old);
        mark_dirty(self, old);
        kl__free(old);
    }
}

/* Finds the entries of a table, whose name (with its NUL) is `table`; a list by
 * `next`. */
static kl__shared_change *find_entries(const kl__entries *self,
                                       const kl__shared_change *table)
{
    kl__shared_change *list = NULL;
    size_t cursor = 0;
    const kl__map_slot *slot;

    while ((slot = kl__map_next(&self->by_name, &cursor)) != NULL) {
        kl__shared_change *entry = slot->value;

        if (entry->name_length >= table->name_length &&
            memcmp(slot->key, kl__change_name(table), table->name_length) ==
                0) {
            entry->next = list;
            list = entry;
        }
    }
    return list;
}

/* Counts the entries of a table as left, or removes those that are. */
static void change_table(kl__entries *self, const kl__shared_change *table)
{
    kl__shared_change *entry = find_entries(self, table), *next;

    for (; entry != NULL; entry = next) {
        next = entry->next;
        if (table->kind == KL__CHANGE_RENEW) {
            entry->is_left = true;
        } else if (entry->is_left) {
            remove_entry(self, entry);
        }
    }
}

bool kl__entries_apply(kl__entries *self, kl__shared_change *change)
{
    switch (change->kind) {
    case KL__CHANGE_PUT:
        return put_entry(self, change);
    case KL__CHANGE_REMOVE:
        remove_entry(self, change);
        break;
    default:
        change_table(self, change);
        break;
    }
    kl__free(change);
    return true;
}

static void raise_version(const kl_shared *map, uint32_t bucket)
{
    _Atomic uint32_t *version = &map->versions[bucket];
    uint32_t last = atomic_load_explicit(version, memory_order_relaxed);

    /* Release: a reader that sees this version also sees the generation before
     * it. */
    atomic_store_explicit(version, last + 1, memory_order_release);
}

void kl__entries_move_versions(kl__entries *self, const kl_shared *map)
{
    for (uint32_t i = 0; i < KL_SHARED_VERSIONS / 64; i++) {
        uint64_t dirty = self->is_all_dirty ? UINT64_MAX : self->dirty[i];

        for (; dirty != 0; dirty &= dirty - 1) {
            raise_version(map, i * 64 + (uint32_t)__builtin_ctzll(dirty));
        }
    }
    memset(self->dirty, 0, sizeof(self->dirty));
    self->is_all_dirty = false;
    self->is_changed = false;
}
