/*
 * skip_blocks.h - between skip.c, which goes byte by byte, and skip_blocks.c,
 * which takes sixty-four at once: brackets are opened and closed by both.
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

/* Whether the innermost bracket is a brace. */
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

/* A bracket outside of strings; KL__SKIP_DONE is for it to be taken. */
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

/* Inside of brackets: takes whole blocks, as long as they hold nothing out of
 * the ordinary. With an outline it also takes less than a block, if the value
 * ends in it, and else leaves that as if nobody had looked; or gives it up. */
kl__skip_result kl__skip_blocks(kl__skip *skip, const char **at,
                                const char *end);

#endif
