/*
 * table.h - a compact hash table of pointers, for caches with a million items:
 * 12 bytes a slot, at most 4/5 of the slots used, and it grows by half. Each
 * item has a key, which is a text. A slot holds the pointer to the item and 32
 * bits of the key's hash; to compare a key, the table calls a function of the
 * caller, which returns the item's key. Not thread-safe.
 */
#ifndef KL_BASE_TABLE_H
#define KL_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text without NUL bytes, borrowed, and its hash: computed once, used for
 * every table. */
typedef struct kl__key {
    const char *text;
    size_t length;
    uint32_t hash;
} kl__key;

kl__key kl__key_of(const char *text);
kl__key kl__key_of_n(const char *text, size_t length);

/* The text of an item, with a NUL. */
typedef const char *(*kl__text_of)(const void *context, const void *item);

/*
 * A zeroed table is empty and valid. Open addressing with linear probing. The
 * slots are in the order of their mixed hashes, so copying a table reads and
 * writes memory in order. For the same reason a table would be slow while it is
 * filled in the order of another one: give tables that depend on each other
 * different salts.
 */
typedef struct kl__table {
    void **items; /* one block: items, links if any, hashes (0: free slot) */
    uint32_t capacity;
    uint32_t count;
    uint32_t salt;
    uint32_t has_links; /* 1: each item has a second pointer, its link */
} kl__table;

#define KL__NO_SLOT UINT32_MAX

/* Frees the table's memory, not the items; the table is empty afterwards. */
void kl__table_deinit(kl__table *table);

/* The slot of a key or of an item, or KL__NO_SLOT. */
uint32_t kl__table_find(const kl__table *table, const kl__key *key,
                        kl__text_of text_of, const void *context);
uint32_t kl__table_find_item(const kl__table *table, uint32_t hash,
                             const void *item);

/* For a search that comes soon: has the processor fetch what it looks at, as a
 * large table is in no cache of the processor. */
void kl__table_fetch(const kl__table *table, uint32_t hash);
/* The item that a search for this hash most likely finds, or NULL. */
const void *kl__table_guess(const kl__table *table, uint32_t hash);

/* True if `extra` items can be added, and the table is not much too large. */
bool kl__table_fits(const kl__table *table, size_t extra);
/* Makes `to` a copy of `from` with room for `extra` more items; it may be
 * smaller than `from`. For a table that other threads read: the writer swaps
 * the copy in. What `to` held is not freed. False: out of memory; `to` is
 * empty. */
bool kl__table_copy(const kl__table *from, size_t extra, kl__table *to);
/* Makes room for `extra` more items in place. False: out of memory. */
bool kl__table_reserve(kl__table *table, size_t extra);

/* Adds an item, whose key is not in the table and for which there is room.
 * Never allocates. Returns its slot. */
uint32_t kl__table_add(kl__table *table, uint32_t hash, void *item);
/* Removes the item of a slot; others may move. Never allocates. */
void kl__table_remove(kl__table *table, uint32_t slot);

/* The link of a slot's item; only for a table with links. */
void **kl__table_link(const kl__table *table, uint32_t slot);

/* Iterates over the items, in no order: *cursor starts at 0; KL__NO_SLOT at the
 * end. The table must not change meanwhile. */
uint32_t kl__table_next(const kl__table *table, uint32_t *cursor);

#endif
