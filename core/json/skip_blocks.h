/*
 * skip_blocks.h - opening and closing brackets, shared by skip.c, which reads
 * byte by byte, and skip_blocks.c, which reads 64 bytes at once.
 */
#ifndef KL_JSON_SKIP_BLOCKS_H
#define KL_JSON_SKIP_BLOCKS_H

#include "json/skip.h"

/* Moves the outermost bracket of skip->top to skip->below, before another one
 * is opened. */
static inline void kl__skip_bury(kl__skip *skip)
{
    uint64_t *word = &skip->below->words[skip->depth / 64 - 1];
    uint64_t bit = UINT64_C(1) << (skip->depth % 64);

    *word = (skip->top >> 63) != 0 ? *word | bit : *word & ~bit;
}

static inline void kl__skip_open(kl__skip *skip, bool is_brace)
{
    if (skip->depth >= 64) {
        if (skip->depth >= KL_MAX_DEPTH) {
            skip->is_too_deep = true;
            skip->depth++;
            return;
        }
        kl__skip_bury(skip);
    }
    skip->top = skip->top * 2 + (is_brace ? 1 : 0);
    skip->depth++;
}

/* True if the innermost open bracket is a brace. */
static inline bool kl__skip_in_brace(const kl__skip *skip)
{
    return (skip->top & 1) != 0;
}

static inline bool kl__skip_close(kl__skip *skip, bool is_brace)
{
    if (skip->depth > KL_MAX_DEPTH) {
        skip->depth--;
        return true;
    }
    if (is_brace != kl__skip_in_brace(skip)) {
        return false;
    }
    skip->depth--;
    skip->top >>= 1;
    if (skip->depth >= 64) {
        uint64_t word = skip->below->words[skip->depth / 64 - 1];

        skip->top |= (word >> (skip->depth % 64) & 1) << 63;
    }
    return true;
}

/* Handles a bracket outside of strings. KL__SKIP_DONE: it ends the value; the
 * caller consumes it. */
static inline kl__skip_result kl__skip_bracket(kl__skip *skip, bool is_open,
                                               bool is_brace)
{
    if (is_open) {
        kl__skip_open(skip, is_brace);
        return KL__SKIP_MORE;
    }
    if (!kl__skip_close(skip, is_brace)) {
        return KL__SKIP_MISMATCH;
    }
    return skip->depth == 0 ? KL__SKIP_DONE : KL__SKIP_MORE;
}

/* Call while a bracket is open. Consumes whole blocks; stops at a block with a
 * backslash outside of strings. With an outline, it also consumes an incomplete
 * block at the end if the value ends in it; if not, it leaves that block
 * unread. It sets skip->outline to NULL when the check gives up. */
kl__skip_result kl__skip_blocks(kl__skip *skip, const char **at,
                                const char *end);

#endif
