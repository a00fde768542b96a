/*
 * read.c - reads of a shared map; read.h has their steps.
 *
 * The writer stores the words of a slot, then the generation; three generations
 * later it writes the same slot again. So words that were read of generation g
 * are whole if the generation is g or g + 1 afterwards.
 */
#include "shared/read.h"

#include <string.h>

/* How often a read is tried. A try takes less than a microsecond, and fails
 * only if two publishes came meanwhile. */
enum { MOST_TRIES = 1000 };

const char *kl_shared_result_name(kl_shared_result result)
{
    static const char *const names[KL_SHARED_RESULTS] = {
        "ok",        "unknown",    "empty", "not_synced", "excluded",
        "too_small", "other_kind", "busy",  "broken"};

    return (unsigned)result < KL_SHARED_RESULTS ? names[result] : "unknown";
}

uint32_t kl_shared_version(const kl_shared *map, const kl_shared_key *key)
{
    /* Acquire: words that are read after it are of this generation or a newer
     * one. */
    return atomic_load_explicit(
        &map->versions[key->bucket % KL_SHARED_VERSIONS], memory_order_acquire);
}

bool kl__shared_view_look(kl__shared_view *view, uint32_t at)
{
    const kl__word *block = view->slot + at;
    uint32_t words, value_at;

    if (at < KL__SLOT_HEAD || at > view->used ||
        view->used - at < KL__BLOCK_HEAD) {
        return false;
    }
    words = kl__low(kl__word_load(&block[KL__BLOCK_LINK]));
    value_at =
        kl__value_at(kl__quarter(kl__word_load(&block[KL__BLOCK_FORM]), 0));
    if (words > view->used - at || value_at > words) {
        return false;
    }
    view->block = block;
    view->words = words;
    view->value_at = value_at;
    return true;
}

static bool is_named(const kl__shared_view *view, const kl_shared_key *key)
{
    uint64_t form = kl__word_load(&view->block[KL__BLOCK_FORM]);
    uint32_t words = kl__words_of(key->name_length);

    /* The second read of the head may give another length of the name, so it is
     * compared with the view's. */
    if (kl__word_load(&view->block[KL__BLOCK_HASH]) != key->hash ||
        kl__quarter(form, 0) != key->name_length ||
        view->value_at != kl__value_at(key->name_length)) {
        return false;
    }
    for (uint32_t i = 0; i < words; i++) {
        if (kl__word_load(&view->block[KL__BLOCK_HEAD + i]) != key->name[i]) {
            return false;
        }
    }
    return true;
}

/* Searches the bucket. A chain has at most as many blocks as there are entries.
 */
static kl_shared_result search_bucket(kl__shared_view *view, kl_shared_key *key)
{
    uint64_t bits = kl__word_load(&view->slot[KL__SLOT_BITS]);
    uint32_t left = kl__low(kl__word_load(&view->slot[KL__SLOT_USE]));
    uint64_t bucket, link;

    if (bits > KL__SLOT_BITS_MAX ||
        view->used < KL__SLOT_HEAD + ((uint64_t)1 << bits)) {
        return KL_SHARED_BROKEN;
    }
    bucket = key->hash & (((uint64_t)1 << bits) - 1);
    link = kl__word_load(&view->slot[KL__SLOT_HEAD + bucket]);
    left =
        left < view->used / KL__BLOCK_HEAD ? left : view->used / KL__BLOCK_HEAD;
    while (kl__high(link) != 0) {
        if (left-- == 0 || !kl__shared_view_look(view, kl__high(link))) {
            return KL_SHARED_BROKEN;
        }
        if (is_named(view, key)) {
            key->at = kl__high(link);
            key->generation = view->generation;
            return KL_SHARED_OK;
        }
        link = kl__word_load(&view->block[KL__BLOCK_LINK]);
    }
    return KL_SHARED_UNKNOWN;
}

/* If nothing was published since the last read, the entry is where it was; its
 * name was compared then, and is not compared again. */
static bool is_where_it_was(kl__shared_view *view, const kl_shared_key *key)
{
    if (key->at != 0 && key->at < view->used) {
        /* Prefetches the first records, which are in other cache lines than the
         * head. */
        const kl__word *value =
            view->slot + key->at + kl__value_at(key->name_length);

        __builtin_prefetch((const void *)value);
        __builtin_prefetch((const void *)(value + KL__RECORD_WORDS));
    }
    return key->generation == view->generation && key->at != 0 &&
           kl__shared_view_look(view, key->at) &&
           kl__word_load(&view->block[KL__BLOCK_HASH]) == key->hash;
}

static kl_shared_result find_entry(kl__shared_view *view, kl_shared_key *key)
{
    if (view->generation == 0) {
        return KL_SHARED_UNKNOWN;
    }
    if (kl__word_load(&view->slot[KL__SLOT_GENERATION]) != view->generation) {
        return KL_SHARED_BROKEN;
    }
    return is_where_it_was(view, key) ? KL_SHARED_OK : search_bucket(view, key);
}

static void look_up(const kl_shared *map, kl_shared_key *key,
                    kl__shared_view *view)
{
    uint32_t used;

    view->version = kl_shared_version(map, key);
    view->generation =
        atomic_load_explicit(&map->head->generation, memory_order_acquire);
    view->slot = map->slots + (view->generation % KL__SHARED_SLOTS) *
                                  (size_t)map->slot_words;
    used = kl__high(kl__word_load(&view->slot[KL__SLOT_USE]));
    view->used = used < map->slot_words ? used : map->slot_words;
    view->found = find_entry(view, key);
}

static bool is_newest(const kl_shared *map, const kl__shared_view *view)
{
    return kl__word_load(&map->head->generation) == view->generation;
}

bool kl__shared_view_begin(const kl_shared *map, kl_shared_key *key,
                           kl__shared_view *view)
{
    /* An unknown entry is looked up again if a generation came meanwhile: it
     * may be the first complete list, which has the entry. */
    do {
        if (view->tries++ == MOST_TRIES) {
            return false;
        }
        look_up(map, key, view);
        if (view->found != KL_SHARED_UNKNOWN) {
            return true;
        }
        if (!kl_shared_synced(map)) {
            view->found = KL_SHARED_NOT_SYNCED;
            return true;
        }
    } while (!is_newest(map, view));
    return true;
}

bool kl__shared_view_end(const kl_shared *map, const kl__shared_view *view)
{
    uint64_t now;

    kl__fence(memory_order_acquire);
    now = kl__word_load(&map->head->generation);
    return now - view->generation < 2;
}

static kl_shared_result copy_bytes(const kl__shared_view *view, void *buffer,
                                   size_t size, kl_shared_value *value)
{
    uint64_t form = kl__word_load(&view->block[KL__BLOCK_FORM]);
    const kl__word *from = view->block + view->value_at;
    uint32_t whole, rest;
    uint64_t last;

    if ((form >> 16 & 0xff) != KL__BLOCK_BYTES) {
        return KL_SHARED_OTHER_KIND;
    }
    value->length = kl__high(form);
    if (kl__words_of(value->length) > view->words - view->value_at) {
        return KL_SHARED_BROKEN;
    }
    if (value->length > size) {
        return KL_SHARED_TOO_SMALL;
    }
    whole = value->length / 8;
    rest = value->length % 8;
    for (uint32_t i = 0; i < whole; i++) {
        uint64_t word = kl__word_load(&from[i]);

        memcpy((char *)buffer + (size_t)i * 8, &word, 8);
    }
    if (rest > 0) {
        last = kl__word_load(&from[whole]);
        memcpy((char *)buffer + (size_t)whole * 8, &last, rest);
    }
    return KL_SHARED_OK;
}

kl_shared_result kl_shared_get(const kl_shared *map, kl_shared_key *key,
                               void *buffer, size_t size,
                               kl_shared_value *value)
{
    kl__shared_view view = {0};
    kl_shared_result result;

    while (kl__shared_view_begin(map, key, &view)) {
        *value = (kl_shared_value){.version = view.version};
        result = view.found == KL_SHARED_OK
                     ? copy_bytes(&view, buffer, size, value)
                     : view.found;
        if (kl__shared_view_end(map, &view)) {
            return result;
        }
    }
    return KL_SHARED_BUSY;
}

void kl_shared_get_status(const kl_shared *map, kl_shared_status *status)
{
    const kl__shared_head *head = map->head;
    uint64_t use;

    *status = (kl_shared_status){
        .size = map->size,
        .room = (uint64_t)map->slot_words * 8,
        .generation =
            atomic_load_explicit(&head->generation, memory_order_acquire),
        .epoch = kl__word_load(&head->epoch),
        .takeovers = kl__word_load(&head->takeovers),
        .full = kl__word_load(&head->full),
        .age_ms = kl_shared_age_ms(map),
        .owner_pid = (uint32_t)kl__word_load(&head->owner_pid),
        .synced = kl_shared_synced(map),
        .left_out = kl__word_load(&head->left_out),
        .kept = kl__word_load(&head->kept),
        .owned_ms = kl__shared_age_of(&head->taken_ms),
        .published_ms = kl__shared_age_of(&head->published_ms),
    };
    use = kl__word_load(&map->slots[(status->generation % KL__SHARED_SLOTS) *
                                        (size_t)map->slot_words +
                                    KL__SLOT_USE]);
    status->used = (uint64_t)kl__high(use) * 8;
    status->entries = kl__low(use);
}
