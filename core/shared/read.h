/*
 * read.h - how every read goes: a view of one generation, an entry found in it,
 * the caller's copy, and the check that the view was whole until then.
 *
 *     kl__shared_view view = {...};
 *     while (kl__shared_view_begin(map, key, &view)) {
 *         result = what the caller copies out of view.block;
 *         if (kl__shared_view_end(map, &view)) {
 *             return result;
 *         }
 *     }
 *     return KL_SHARED_BUSY;
 *
 * Between both, all that is read may be torn: it is checked where it is used as
 * an offset, count or length, and nothing loops longer than the slot is large.
 */
#ifndef KL_SHARED_READ_H
#define KL_SHARED_READ_H

#include "shared/map.h"

/* One entry of one generation. */
typedef struct kl__shared_view {
    uint64_t generation;
    const kl__word *slot;
    uint32_t used;    /* words of the slot, at most what the slot has */
    uint32_t version; /* of the entry, before anything else was read */
    int tries;        /* zeroed by the caller */
    kl_shared_result found;
    const kl__word *block; /* found: KL__BLOCK_HEAD words at least */
    uint32_t words;        /* of the block, all in the slot */
    uint32_t value_at;     /* words from the block's start, at most `words` */
} kl__shared_view;

/* Begins a try: finds the entry. False: there were too many tries. */
bool kl__shared_view_begin(const kl_shared *map, kl_shared_key *key,
                           kl__shared_view *view);

/* True if what was read since kl__shared_view_begin is of one generation. */
bool kl__shared_view_end(const kl_shared *map, const kl__shared_view *view);

/* True if a block begins at word `at` of the slot, and it and its name are in
 * it; the view has it then. */
bool kl__shared_view_look(kl__shared_view *view, uint32_t at);

/* Copies words of a block; the caller has checked that they are in it. */
static inline void kl__shared_copy_out(const kl__word *from, uint32_t words,
                                       uint64_t *to)
{
    for (uint32_t i = 0; i < words; i++) {
        to[i] = kl__word_load(&from[i]);
    }
}

#endif
