/*
 * read.h - the steps of every read: take a view of one generation, find the
 * entry, copy, then check that the view was not overwritten meanwhile.
 *
 *     kl__shared_view view = {...};
 *
 *     while (kl__shared_view_begin(map, key, &view)) {
 *         result = ... copy out of view.block ...
 *         if (kl__shared_view_end(map, &view)) {
 *             return result;
 *         }
 *     }
 *     return KL_SHARED_BUSY;
 *
 * Between begin and end each word may be overwritten. So a word is checked
 * before it is used as an offset, count or length, and no loop takes more steps
 * than the slot has words.
 */
#ifndef KL_SHARED_READ_H
#define KL_SHARED_READ_H

#include "shared/map.h"

/* One entry of one generation. */
typedef struct kl__shared_view {
    uint64_t generation;
    const kl__word *slot;
    uint32_t used;    /* words in use, at most the slot's length */
    uint32_t version; /* the entry's version, read before anything else */
    int tries;        /* tries so far; the caller zeroes it */
    kl_shared_result found;
    const kl__word
        *block; /* the block that was found, at least KL__BLOCK_HEAD words */
    uint32_t words;    /* length of the block, which is inside the slot */
    uint32_t value_at; /* where the value begins, at most `words` */
} kl__shared_view;

/* Begins a try and finds the entry. False: there were too many tries. */
bool kl__shared_view_begin(const kl_shared *map, kl_shared_key *key,
                           kl__shared_view *view);

/* True if everything read since kl__shared_view_begin is of one generation. */
bool kl__shared_view_end(const kl_shared *map, const kl__shared_view *view);

/* Sets the view to the block at word `at` of the slot. False: the block or its
 * name is not inside the slot. */
bool kl__shared_view_look(kl__shared_view *view, uint32_t at);

/* Copies words of a block; the caller has checked that they are inside it. */
static inline void kl__shared_copy_out(const kl__word *from, uint32_t words,
                                       uint64_t *to)
{
    for (uint32_t i = 0; i < words; i++) {
        to[i] = kl__word_load(&from[i]);
    }
}

#endif
