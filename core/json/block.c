/*
 * block.c - see block.h. Comparing sixteen bytes at a time gives a bit each;
 * the rest is done on 64 bits at once, without a branch for each string.
 */
#include "json/block.h"

#ifdef __SSE2__

#include <emmintrin.h>

/* Where each kind of byte is, in strings or not. */
typedef struct marks {
    uint64_t quotes;
    uint64_t slashes;
    uint64_t brackets;
    uint64_t spaces;
} marks;

static __m128i equal(__m128i bytes, char byte)
{
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte));
}

static uint64_t bits(__m128i found, int at)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(found) << at;
}

static marks look(const char *bytes)
{
    marks all = {0};

    for (int at = 0; at < KL__BLOCK_SIZE; at += 16) {
        __m128i part =
            _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
        /* A bit apart: [ and {, ] and }. */
        __m128i folded = _mm_or_si128(part, _mm_set1_epi8(0x20));
        __m128i blank = _mm_or_si128(equal(part, ' '), equal(part, '\n'));
        __m128i other = _mm_or_si128(equal(part, '\t'), equal(part, '\r'));

        all.quotes |= bits(equal(part, '"'), at);
        all.slashes |= bits(equal(part, '\\'), at);
        all.brackets |=
            bits(_mm_or_si128(equal(folded, '{'), equal(folded, '}')), at);
        all.spaces |= bits(_mm_or_si128(blank, other), at);
    }
    return all;
}

/* The bytes that a backslash takes the meaning of. */
static uint64_t escaped_by(uint64_t slashes, bool is_escaped,
                           bool *ends_escaped)
{
    uint64_t escaped = is_escaped ? 1 : 0;

    *ends_escaped = false;
    slashes &= ~escaped;
    while (slashes != 0) {
        uint64_t first = slashes & (~slashes + 1);
        uint64_t next = first << 1;

        *ends_escaped = next == 0;
        escaped |= next;
        slashes &= ~(first | next);
    }
    return escaped;
}

/* Bit i: the number of bits of `quotes` up to bit i is odd. */
static uint64_t between(uint64_t quotes)
{
    for (int shift = 1; shift < KL__BLOCK_SIZE; shift *= 2) {
        quotes ^= quotes << shift;
    }
    return quotes;
}

bool kl__block_read(kl__block *block, const char *bytes, bool in_string,
                    bool is_escaped)
{
    marks all = look(bytes);
    uint64_t strings;

    all.quotes &= ~escaped_by(all.slashes, is_escaped, &block->ends_escaped);
    strings = between(all.quotes) ^ (in_string ? ~UINT64_C(0) : 0);
    block->brackets = all.brackets & ~strings;
    block->spaces = all.spaces & ~strings;
    block->ends_in_string = (strings >> (KL__BLOCK_SIZE - 1)) != 0;
    return (all.slashes & ~strings) == 0;
}

#else

bool kl__block_read(kl__block *block, const char *bytes, bool in_string,
                    bool is_escaped)
{
    (void)block;
    (void)bytes;
    (void)in_string;
    (void)is_escaped;
    return false;
}

#endif
