/*
 * skip_blocks.h - opening and closing brackets, shared by skip.c, which reads
 * byte by byte, and skip_blocks.c, which reads 64 bytes at once.
 */
#ifndef KL_JSON_SKIP_BLOCKS_H
#define KL_JSON_SKIP_BLOCKS_H

#include "json/skip.h"

static inline bool kl__skip_open(kl__skip *skip, bool is_brace)
{
    uint64_t bit;
    uint64_t *word;

    if (skip->depth == KL_MAX_DEPTH) {
        return false;
    }
    word = &skip->braces[skip->depth / 64];
    bit = UINT64_C(1) << (skip->depth % 64);
    *word = is_brace ? *word | bit : *word & ~bit;
    skip->depth++;
    return true;
}

/* True if the innermost open bracket is a brace. */
static inline bool kl__skip_in_brace(const kl__skip *skip)
{
    size_t last = skip->depth - 1;

    return (skip->braces[last / 64] >> (last % 64) & 1) != 0;
}

static inline bool kl__skip_close(kl__skip *skip, bool is_brace)
{
    if (is_brace != kl__skip_in_brace(skip)) {
        return false;
    }
    skip->depth--;
    return true;
}

/* Handles a bracket outside of strings. KL__SKIP_DONE: it ends the value; the
 * caller consumes it. */
static inline kl__skip_result kl__skip_bracket(kl__skip *skip, bool is_open,
                                               bool is_brace)
{
    if (is_open) {
        return kl__skip_open(skip, is_brace) ? KL__SKIP_MORE
                                             : KL__SKIP_TOO_DEEP;
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
