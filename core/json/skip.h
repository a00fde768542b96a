/*
 * skip.h - finds where a JSON value ends, across chunks: its state is a few
 * words, whatever was seen. For scan.c, which cuts frames with it.
 */
#ifndef KL_JSON_SKIP_H
#define KL_JSON_SKIP_H

#include "json/check.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kl__skip_result {
    KL__SKIP_MORE,     /* it is not over; *at is before what is to be given
                          once more, with more bytes behind it */
    KL__SKIP_DONE,     /* *at is behind its last byte */
    KL__SKIP_MISMATCH, /* *at is a bracket that closes another one */
    KL__SKIP_TOO_DEEP  /* *at is one bracket too many */
} kl__skip_result;

typedef struct kl__skip {
    size_t depth;  /* brackets that are open */
    size_t spaces; /* bytes of whitespace outside of strings */
    bool in_string;
    bool is_escaped;  /* the last byte was a backslash in a string */
    bool is_scalar;   /* a number or word: ends before what cannot be in it */
    bool in_metadata; /* bracket 1 is that of "metadata" in an outline */
    uint64_t braces[KL_MAX_DEPTH / 64]; /* bit i: bracket i is a brace */

    kl__outline *outline; /* NULL: nobody asks whether it is JSON, or no more */
    kl__check check;
    size_t taken; /* bytes of the value, where there is an outline */
} kl__skip;

/* At the first byte of a value, which is not taken yet. False: none begins
 * with this byte. */
bool kl__skip_begin(kl__skip *skip, char first);

/* After begin, at an object: fills `outline` until it is over. As long as it
 * can, up to 63 bytes are left for the next time. The bytes that were taken
 * must be there still, right before *at. Borrows `outline`. */
void kl__skip_outline(kl__skip *skip, kl__outline *outline);

/* Takes bytes from *at on, up to `end` at most, and moves *at. */
kl__skip_result kl__skip_run(kl__skip *skip, const char **at, const char *end);

#endif
