/*
 * cursor_leave.c - finds the end of an array or object, 64 bytes at a time: the
 * brackets of a block are counted, and only where the last one may close are
 * they looked at one by one. The text is valid, so the kinds of brackets need
 * no look; skip_blocks.c, which checks its bytes, takes longer.
 */
#include "json/cursor.h"

#include "json/block.h"
#include "json/skip.h"
#include "json/text.h"

#include <string.h>

#ifdef __SSE2__

/* What is known before a block. */
typedef struct leaving {
    size_t depth; /* open brackets, at least 1 */
    kl__border border;
} leaving;

/* The bit of the bracket that closes the last open one; KL__BLOCK_SIZE: it is
 * not in this block. */
static inline int find_last(uint64_t opens, uint64_t closes, size_t depth)
{
    for (; closes != 0; closes &= closes - 1, depth--) {
        uint64_t before = (closes & (0 - closes)) - 1;

        if (depth + (size_t)__builtin_popcountll(opens & before) == 1) {
            return __builtin_ctzll(closes);
        }
    }
    return KL__BLOCK_SIZE;
}

static inline int leave_block(leaving *self, const kl__marks *all,
                              kl__between_fn between)
{
    uint64_t escaped = kl__escaped_by(all->slashes, &self->border.escape);
    uint64_t strings = between(all->quotes & ~escaped) ^ self->border.string;
    uint64_t opens = all->opens & ~strings;
    uint64_t closes = all->closes & ~strings;
    size_t closed = (size_t)__builtin_popcountll(closes);
    int last = closed >= self->depth ? find_last(opens, closes, self->depth)
                                     : KL__BLOCK_SIZE;

    self->border.string = (uint64_t)((int64_t)strings >> (KL__BLOCK_SIZE - 1));
    self->depth += (size_t)__builtin_popcountll(opens);
    self->depth -= closed;
    return last;
}

typedef void (*look_fn)(kl__marks *all, const char *bytes);

/* The last block of the text is copied, with NULs behind it. */
static inline const char *leave_with(look_fn look, kl__between_fn between,
                                     const char *at, const char *end)
{
    leaving self = {.depth = 1};
    char padded[KL__BLOCK_SIZE] = {0};
    kl__marks all;
    int last;

    for (; end - at >= KL__BLOCK_SIZE; at += KL__BLOCK_SIZE) {
        look(&all, at);
        last = leave_block(&self, &all, between);
        if (last < KL__BLOCK_SIZE) {
            return at + last + 1;
        }
    }
    memcpy(padded, at, (size_t)(end - at));
    look(&all, padded);
    last = leave_block(&self, &all, between);
    return last < end - at ? at + last + 1 : end;
}

/* `flatten` inlines everything above, as in skip_blocks.c. AVX-512 gains
 * nothing here; `cold` is for the size of the library. */
static __attribute__((flatten)) KL__AVX2 const char *leave_avx2(const char *at,
                                                                const char *end)
{
    return leave_with(kl__look_avx2, kl__between_clmul, at, end);
}

static const char *leave_sse2(const char *at, const char *end)
{
    return leave_with(kl__look, kl__between, at, end);
}

const char *kl__cursor_leave_by(kl__skip_way way, const char *at,
                                const char *end)
{
    return way >= KL__SKIP_AVX2 ? leave_avx2(at, end) : leave_sse2(at, end);
}

const char *kl__cursor_leave(const char *at, const char *end)
{
    return kl__cursor_leave_by(kl__skip_best(), at, end);
}

#else

/* Without SSE2 every byte outside of strings is read by itself. */
const char *kl__cursor_leave_by(kl__skip_way way, const char *at,
                                const char *end)
{
    (void)way;
    return kl__cursor_leave(at, end);
}

const char *kl__cursor_leave(const char *at, const char *end)
{
    for (size_t depth = 1; at < end && depth > 0;) {
        unsigned char class = kl__byte_class[(unsigned char)*at];

        at = class == KL__BYTE_QUOTE ? kl_cursor_skip(at, end) : at + 1;
        depth += class == KL__BYTE_OPEN ? 1 : 0;
        depth -= class == KL__BYTE_CLOSE ? 1 : 0;
    }
    return at;
}

#endif
