/*
 * block.c - see block.h. Comparing sixteen or thirty-two bytes at a time gives
 * a bit each; the rest is done on 64 bits at once, without a branch for each
 * string.
 */
#include "json/block.h"

#ifdef __SSE2__

#include <immintrin.h>

/* Where each kind of byte is, in strings or not. */
typedef struct marks {
    uint64_t quotes;
    uint64_t slashes;
    uint64_t opens;
    uint64_t closes;
    uint64_t braces; /* bit 0x20: it tells { and } from [ and ] */
    uint64_t colons;
    uint64_t commas;
    uint64_t low; /* up to and including the blank */
    uint64_t high;
} marks;

static __m128i equal(__m128i bytes, char byte)
{
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte));
}

static uint64_t bits(__m128i found, int at)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(found) << at;
}

static __m128i part_of(const char *bytes, int at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
}

static void look(marks *all, const char *bytes)
{
    *all = (marks){0};
    for (int at = 0; at < KL__BLOCK_SIZE; at += 16) {
        __m128i part = part_of(bytes, at);
        /* A bit apart: [ and {, ] and }. */
        __m128i folded = _mm_or_si128(part, _mm_set1_epi8(0x20));

        all->quotes |= bits(equal(part, '"'), at);
        all->slashes |= bits(equal(part, '\\'), at);
        all->opens |= bits(equal(folded, '{'), at);
        all->closes |= bits(equal(folded, '}'), at);
        all->braces |= bits(_mm_slli_epi16(part, 2), at);
        all->colons |= bits(equal(part, ':'), at);
        all->commas |= bits(equal(part, ','), at);
        all->low |= bits(
            _mm_cmpeq_epi8(_mm_min_epu8(part, _mm_set1_epi8(' ')), part), at);
        all->high |= bits(part, at);
    }
}

/* The same with AVX2, which a machine may have or not: half of the time. */
#define WIDE __attribute__((target("avx2")))

static inline WIDE __m256i wide_equal(__m256i bytes, char byte)
{
    return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte));
}

static inline WIDE uint64_t wide_bits(__m256i first, __m256i second)
{
    return (uint64_t)(unsigned)_mm256_movemask_epi8(first) |
           (uint64_t)(unsigned)_mm256_movemask_epi8(second) << 32;
}

static WIDE void look_wide(marks *all, const char *bytes)
{
    const __m256i *from = (const __m256i *)(const void *)bytes;
    const __m256i a = _mm256_loadu_si256(from);
    const __m256i b = _mm256_loadu_si256(from + 1);
    const __m256i fold = _mm256_set1_epi8(0x20);
    const __m256i a_folded = _mm256_or_si256(a, fold);
    const __m256i b_folded = _mm256_or_si256(b, fold);

    all->quotes = wide_bits(wide_equal(a, '"'), wide_equal(b, '"'));
    all->slashes = wide_bits(wide_equal(a, '\\'), wide_equal(b, '\\'));
    all->opens = wide_bits(wide_equal(a_folded, '{'), //
                           wide_equal(b_folded, '{'));
    all->closes = wide_bits(wide_equal(a_folded, '}'), //
                            wide_equal(b_folded, '}'));
    all->braces = wide_bits(_mm256_slli_epi16(a, 2), _mm256_slli_epi16(b, 2));
    all->colons = wide_bits(wide_equal(a, ':'), wide_equal(b, ':'));
    all->commas = wide_bits(wide_equal(a, ','), wide_equal(b, ','));
    all->low = wide_bits(_mm256_cmpeq_epi8(_mm256_min_epu8(a, fold), a),
                         _mm256_cmpeq_epi8(_mm256_min_epu8(b, fold), b));
    all->high = wide_bits(a, b);
}

/* What kinds of low bytes there are: mostly there are none to ask about. */
static void tell_low(kl__block *block, const char *bytes)
{
    for (int at = 0; at < KL__BLOCK_SIZE; at += 16) {
        __m128i part = part_of(bytes, at);
        __m128i blank = _mm_or_si128(equal(part, ' '), equal(part, '\n'));
        __m128i other = _mm_or_si128(equal(part, '\t'), equal(part, '\r'));
        __m128i low = _mm_min_epu8(part, _mm_set1_epi8(0x1f));

        block->spaces |= bits(_mm_or_si128(blank, other), at);
        block->controls |= bits(_mm_cmpeq_epi8(low, part), at);
    }
    block->spaces &= ~block->strings;
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
    marks all;
    uint64_t plain;

    if (__builtin_cpu_supports("avx2")) {
        look_wide(&all, bytes);
    } else {
        look(&all, bytes);
    }
    block->escaped = escaped_by(all.slashes, is_escaped, &block->ends_escaped);
    block->quotes = all.quotes & ~block->escaped;
    block->strings =
        between(block->quotes) ^ (in_string ? ~UINT64_C(0) : UINT64_C(0));
    plain = ~block->strings;
    block->opens = all.opens & plain;
    block->closes = all.closes & plain;
    block->braces = all.braces;
    block->colons = all.colons & plain;
    block->commas = all.commas & plain;
    block->high = all.high;
    block->spaces = 0;
    block->controls = 0;
    if (all.low != 0) {
        tell_low(block, bytes);
    }
    block->ends_in_string = (block->strings >> (KL__BLOCK_SIZE - 1)) != 0;
    return (all.slashes & plain) == 0;
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
