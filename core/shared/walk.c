/*
 * walk.c - lists the entries of a shared map, a part at a time
 * (kl_shared_walk).
 *
 * Between two calls the owner may publish, with another number of buckets. So a
 * place is no bucket, but a point of a line: that of the hash's lowest bits in
 * reverse order. A bucket is an interval of that line, whatever their number:
 * with twice as many, its halves are the two buckets that its entries go to.
 */
#include "shared/read.h"

#include <string.h>

enum {
    TRIES = 1000,    /* as other reads */
    BUCKETS = 2048,  /* that a call looks at */
    NAME_WORDS = 68, /* of the longest name */
    LINE = 1 << KL__SLOT_BITS_MAX
};

_Static_assert(NAME_WORDS * 8 >= KL_SHARED_TABLE_MAX + 1 + KL_SHARED_KEY_MAX,
               "a name fits");

/* What a call lists. */
typedef struct listing {
    const char *table;
    kl_shared_entry *entries;
    uint32_t capacity;
    uint32_t count; /* may be above `capacity`: only so many were stored */
} listing;

/* The bucket of a place, where there are 2^bits. */
static uint32_t bucket_of(uint32_t place, uint32_t bits)
{
    uint32_t bucket = 0;

    for (uint32_t i = 0; i < bits; i++) {
        bucket |= (place >> (KL__SLOT_BITS_MAX - 1 - i) & 1) << i;
    }
    return bucket;
}

/* Copies the name of the view's block. False: no key has it. */
static bool copy_name(const kl__shared_view *view, kl_shared_entry *entry)
{
    uint64_t words[NAME_WORDS + 1] = {0};
    uint32_t length =
        kl__quarter(kl__word_load(&view->block[KL__BLOCK_FORM]), 0);
    size_t table_length;

    /* the block may have changed since kl__shared_view_look has checked it */
    if (length > KL_SHARED_TABLE_MAX + 1 + KL_SHARED_KEY_MAX ||
        kl__value_at(length) > view->words) {
        return false;
    }
    kl__shared_copy_out(&view->block[KL__BLOCK_HEAD], kl__words_of(length),
                        words);
    table_length = strnlen((const char *)words, length);
    if (table_length == length || table_length > KL_SHARED_TABLE_MAX ||
        length - table_length - 1 > KL_SHARED_KEY_MAX) {
        return false;
    }
    entry->bytes = view->words * 8;
    entry->table_length = (uint16_t)table_length;
    entry->key_length = (uint16_t)(length - table_length - 1);
    memcpy(entry->name, words, length);
    entry->name[length] = '\0';
    return true;
}

static void list_block(listing *self, const kl__shared_view *view)
{
    kl_shared_entry entry;

    if (copy_name(view, &entry) &&
        (self->table == NULL || strcmp(self->table, entry.name) == 0)) {
        if (self->count < self->capacity) {
            self->entries[self->count] = entry;
        }
        self->count++;
    }
}

/* A chain has at most as many blocks as there are entries. */
static bool list_bucket(listing *self, kl__shared_view *view, uint32_t bucket)
{
    uint32_t left = kl__low(kl__word_load(&view->slot[KL__SLOT_USE]));
    uint64_t link = kl__word_load(&view->slot[KL__SLOT_HEAD + bucket]);

    left =
        left < view->used / KL__BLOCK_HEAD ? left : view->used / KL__BLOCK_HEAD;
    while (kl__high(link) != 0) {
        if (left-- == 0 || !kl__shared_view_look(view, kl__high(link))) {
            return false;
        }
        list_block(self, view);
        link = kl__word_load(&view->block[KL__BLOCK_LINK]);
    }
    return true;
}

/* Lists whole buckets from `place` on, which it moves. */
static kl_shared_result list_part(listing *self, kl__shared_view *view,
                                  uint32_t *place)
{
    uint64_t bits = kl__word_load(&view->slot[KL__SLOT_BITS]);
    uint32_t step, at, fitting = 0;

    if (view->generation == 0) {
        *place = LINE;
        return KL_SHARED_OK;
    }
    if (bits > KL__SLOT_BITS_MAX ||
        view->used < KL__SLOT_HEAD + ((uint64_t)1 << bits) ||
        kl__word_load(&view->slot[KL__SLOT_GENERATION]) != view->generation) {
        return KL_SHARED_BROKEN;
    }
    step = (uint32_t)LINE >> bits;
    at = *place & ~(step - 1);
    for (int i = 0; i < BUCKETS && at < LINE; i++) {
        if (!list_bucket(self, view, bucket_of(at, (uint32_t)bits))) {
            return KL_SHARED_BROKEN;
        }
        if (self->count > self->capacity) {
            break; /* the next call begins with this bucket */
        }
        fitting = self->count;
        at += step;
    }
    if (self->count > self->capacity && fitting == 0) {
        return KL_SHARED_TOO_SMALL;
    }
    self->count = fitting;
    *place = at;
    return KL_SHARED_OK;
}

static void begin_view(const kl_shared *map, kl__shared_view *view)
{
    uint32_t used;

    view->generation =
        atomic_load_explicit(&map->head->generation, memory_order_acquire);
    view->slot = map->slots + (view->generation % KL__SHARED_SLOTS) *
                                  (size_t)map->slot_words;
    used = kl__high(kl__word_load(&view->slot[KL__SLOT_USE]));
    view->used = used < map->slot_words ? used : map->slot_words;
}

kl_shared_result kl_shared_walk(const kl_shared *map, kl_shared_cursor *cursor,
                                kl_shared_entry *entries, uint32_t capacity,
                                uint32_t *count)
{
    for (int i = 0; i < TRIES; i++) {
        listing found = {
            .table = cursor->table, .entries = entries, .capacity = capacity};
        uint32_t at = (uint32_t)(cursor->place & (LINE - 1));
        kl__shared_view view = {0};
        kl_shared_result result;

        begin_view(map, &view);
        result = list_part(&found, &view, &at);
        if (kl__shared_view_end(map, &view)) {
            *count = result == KL_SHARED_BROKEN ? 0 : found.count;
            if (result == KL_SHARED_OK) {
                cursor->place = at < LINE ? at : 0;
            }
            return result;
        }
    }
    *count = 0;
    return KL_SHARED_BUSY;
}
