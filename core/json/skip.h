/*
 * skip.h - finds the end of a JSON value whose bytes arrive in chunks. Its
 * state has a fixed size. scan.c uses it to cut frames.
 */
#ifndef KL_JSON_SKIP_H
#define KL_JSON_SKIP_H

#include "json/check.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kl__skip_result {
    KL__SKIP_MORE,    /* the value goes on; call again with the bytes from
                       * *at on and more bytes behind them */
    KL__SKIP_DONE,    /* *at is behind the value's last byte */
    KL__SKIP_MISMATCH /* *at closes a bracket of the other kind */
} kl__skip_result;

/* How many bytes are read at once, of blocks of 64. All find the same. */
typedef enum kl__skip_way {
    KL__SKIP_BEST, /* as many as the machine can */
    KL__SKIP_16,   /* SSE2, NEON */
    KL__SKIP_32,   /* AVX2 */
    KL__SKIP_64    /* AVX-512 */
} kl__skip_way;

/* The kinds of open brackets that are further out than the innermost 64. Apart
 * from kl__skip, which is copied for each run. Needs no initial value. */
typedef struct kl__skip_levels {
    uint64_t words[(KL_MAX_DEPTH + 63) / 64];
} kl__skip_levels;

typedef struct kl__skip {
    size_t depth;  /* open brackets */
    size_t spaces; /* bytes of whitespace outside of strings */
    bool in_string;
    bool is_escaped;  /* the last byte was a backslash that escapes the next */
    bool is_scalar;   /* a number or word: no byte marks its end */
    bool in_metadata; /* bracket 1 is the value of the member "metadata" */
    /* Some bracket is deeper than KL_MAX_DEPTH. Of these only the number is
     * kept: a bracket that closes another kind is not found among them. */
    bool is_too_deep;
    /* The kinds of the open brackets, 1: brace. Bit 0 of `top` is the innermost
     * one; `below` has those that are further out than 64. */
    uint64_t top;
    kl__skip_levels *below;
    kl__skip_way way; /* KL__SKIP_BEST; specs set another one */

    kl__outline *outline; /* to fill; NULL: none, or the check gave up */
    kl__check check;
    size_t taken; /* bytes of the value so far; only with an outline */
} kl__skip;

/* `first` is the first byte of a value; kl__skip_run must get it, too. Borrows
 * `below` until the value ends. False: no JSON value begins with this byte. */
bool kl__skip_begin(kl__skip *skip, kl__skip_levels *below, char first);

/* Call after kl__skip_begin with '{': the following runs also fill `outline`.
 * While they do, a run may leave up to 63 bytes for the next run, and the bytes
 * of the value so far must stay in memory right before *at. Borrows `outline`
 * until the value ends. */
void kl__skip_outline(kl__skip *skip, kl__outline *outline);

/* True if the machine has instructions for it; false for KL__SKIP_BEST. */
bool kl__skip_has(kl__skip_way way);
/* The widest that the machine has; KL__SKIP_BEST: it has none of them. */
kl__skip_way kl__skip_best(void);

/* Consumes bytes from *at up to `end` at most, and moves *at. */
kl__skip_result kl__skip_run(kl__skip *skip, const char **at, const char *end);

#endif
