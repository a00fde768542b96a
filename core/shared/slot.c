/*
 * slot.c - writes the owner's entries to a slot, and reads entries back from
 * the slot that a former owner published, with the same checks as a reader.
 */
#include "shared/entries.h"

#include "base/mem.h"
#include "shared/records.h"

#include <string.h>

/* The number of buckets is 2^bits: at least as many as entries. */
static uint32_t bits_for(size_t count)
{
    uint32_t bits = 0;

    while (bits < KL__SLOT_BITS_MAX && ((size_t)1 << bits) < count) {
        bits++;
    }
    return bits;
}

static uint32_t first_block(uint32_t bits)
{
    return kl__line_words(KL__SLOT_HEAD + ((uint32_t)1 << bits));
}

static size_t count_published(const kl__entries *self)
{
    return self->by_name.count - self->refused - self->out_count;
}

uint64_t kl__entries_size(const kl__entries *self)
{
    return first_block(bits_for(count_published(self))) + self->words -
           self->out_words;
}

uint64_t kl__entries_size_of_all(const kl__entries *self)
{
    return first_block(bits_for(self->by_name.count - self->refused)) +
           self->words;
}

/* Stores the words of a block: whole cache lines, unless a former owner made
 * the block otherwise. Atomic stores are not merged into wider ones, but eight
 * in a row take a third of the instructions of a loop of one. */
static void store_words(kl__word *to, const uint64_t *from, uint32_t words)
{
    uint32_t i = 0;

    for (; words - i >= 8; i += 8) {
        kl__word_store(&to[i], from[i]);
        kl__word_store(&to[i + 1], from[i + 1]);
        kl__word_store(&to[i + 2], from[i + 2]);
        kl__word_store(&to[i + 3], from[i + 3]);
        kl__word_store(&to[i + 4], from[i + 4]);
        kl__word_store(&to[i + 5], from[i + 5]);
        kl__word_store(&to[i + 6], from[i + 6]);
        kl__word_store(&to[i + 7], from[i + 7]);
    }
    for (; i < words; i++) {
        kl__word_store(&to[i], from[i]);
    }
}

/* Copies a block to word `at` and links it as the first of its bucket. */
static void link_block(kl__word *slot, uint32_t at,
                       const kl__shared_change *entry, uint64_t mask)
{
    uint64_t hash = entry->block[KL__BLOCK_HASH];
    kl__word *bucket = &slot[KL__SLOT_HEAD + (hash & mask)];
    kl__word *block = &slot[at];

    store_words(block, entry->block, entry->words);
    kl__word_store(&block[KL__BLOCK_LINK],
                   kl__pair(kl__high(kl__word_load(bucket)), entry->words));
    kl__word_store(bucket, kl__pair(at, kl__high(hash)));
}

void kl__entries_write(const kl__entries *self, kl__word *slot,
                       uint64_t generation)
{
    size_t count = count_published(self);
    uint32_t bits = bits_for(count);
    uint64_t buckets = (uint64_t)1 << bits;
    uint32_t at = first_block(bits);
    size_t cursor = 0;
    const kl__map_slot *entry;

    kl__word_store(&slot[KL__SLOT_GENERATION], generation);
    kl__word_store(&slot[KL__SLOT_BITS], bits);
    kl__word_store(&slot[KL__SLOT_HEAD - 1], 0);
    for (uint32_t i = KL__SLOT_HEAD; i < at; i++) {
        kl__word_store(&slot[i], 0);
    }
    while ((entry = kl__map_next(&self->by_name, &cursor)) != NULL) {
        const kl__shared_change *change = entry->value;

        if (!change->is_out && !change->is_refused) {
            link_block(slot, at, change, buckets - 1);
            at += change->words;
        }
    }
    kl__word_store(&slot[KL__SLOT_USE], kl__pair(at, (uint32_t)count));
}

/* True if nothing stands behind the name in its last word, which the hash
 * takes in: no key has such a hash. */
static bool is_padded(const char *name, size_t length)
{
    size_t end = kl__words_of(length) * sizeof(uint64_t);

    while (length < end && name[length] == '\0') {
        length++;
    }
    return length == end;
}

/* True if the block's name has its hash, and its kind is known. */
static bool is_whole(const kl_shared *map, const kl__shared_change *entry)
{
    uint32_t kind = entry->block[KL__BLOCK_FORM] >> 16 & 0xff;
    const char *name = kl__change_name(entry);
    const char *end = memchr(name, '\0', entry->name_length);

    return end != NULL && end != name &&
           (kind == KL__BLOCK_BYTES || kind == KL__BLOCK_ENDPOINTS) &&
           end - name <= KL_SHARED_TABLE_MAX &&
           entry->name_length <= (size_t)(end - name) + 1 + KL_SHARED_KEY_MAX &&
           is_padded(name, entry->name_length) &&
           kl__shared_hash_words(&entry->block[KL__BLOCK_HEAD],
                                 entry->name_length,
                                 map->seed) == entry->block[KL__BLOCK_HASH];
}

static kl_code read_block(kl__entries *self, const kl_shared *map,
                          const kl__shared_view *view, kl_error *err)
{
    kl__shared_change *entry = kl__change_new(KL__CHANGE_PUT, view->words, err);

    if (entry == NULL) {
        return KL_ENOMEM;
    }
    kl__shared_copy_out(view->block, view->words, entry->block);
    entry->block[KL__BLOCK_LINK] = view->words;
    entry->name_length = kl__quarter(entry->block[KL__BLOCK_FORM], 0);
    entry->is_left = true;
    if (!is_whole(map, entry)) {
        kl__free(entry);
        return KL_OK;
    }
    if (!kl__entries_apply(self, entry)) {
        kl__free(entry);
        return kl_error_set(err, KL_ENOMEM, "out of memory");
    }
    return KL_OK;
}

kl_code kl__entries_read(kl__entries *self, const kl_shared *map, kl_error *err)
{
    uint64_t generation =
        atomic_load_explicit(&map->head->generation, memory_order_acquire);
    const kl__word *slot =
        map->slots + (generation % KL__SHARED_SLOTS) * (size_t)map->slot_words;
    kl__shared_view view = {.slot = slot, .generation = generation};
    uint64_t bits = kl__word_load(&slot[KL__SLOT_BITS]);
    uint32_t used = kl__high(kl__word_load(&slot[KL__SLOT_USE]));
    uint64_t at;

    view.used = used < map->slot_words ? used : map->slot_words;
    if (generation == 0 || bits > KL__SLOT_BITS_MAX ||
        kl__word_load(&slot[KL__SLOT_GENERATION]) != generation) {
        return KL_OK;
    }
    /* blocks follow each other, so links are not needed */
    at = first_block((uint32_t)bits);
    while (at < view.used && kl__shared_view_look(&view, (uint32_t)at) &&
           view.words > 0) {
        if (read_block(self, map, &view, err) != KL_OK) {
            return KL_ENOMEM;
        }
        at += view.words;
    }
    return KL_OK;
}
