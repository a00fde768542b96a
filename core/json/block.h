/*
 * block.h - classifies 64 bytes of JSON at once, as bit masks: which bytes are
 * in strings, which are brackets, colons, commas. All of it is inline, as is
 * check_rules.h: skip_blocks.c compiles both into one loop, once with AVX2 and
 * once without.
 */
#ifndef KL_JSON_BLOCK_H
#define KL_JSON_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum { KL__BLOCK_SIZE = 64 };

/* Bit i is byte i. */
typedef struct kl__block {
    uint64_t strings; /* from each opening quote to before its closing one */
    uint64_t quotes;  /* opening (also in `strings`), closing (not in it) */
    uint64_t escaped; /* bytes directly behind an escaping backslash */
    /* Outside of strings: */
    uint64_t opens;  /* opening brackets and braces */
    uint64_t closes; /* closing ones */
    uint64_t braces; /* only valid at a bit of `opens` or `closes` */
    uint64_t colons;
    uint64_t commas;
    uint64_t spaces; /* all whitespace */
    /* Anywhere: */
    uint64_t controls; /* below 0x20: legal as whitespace only */
    uint64_t high;     /* not ASCII */
    bool ends_in_string;
    bool ends_escaped; /* the last byte is a backslash that escapes the next */
} kl__block;

#ifdef __SSE2__

/* Where each kind of byte is, inside and outside of strings. */
typedef struct kl__marks {
    uint64_t quotes;
    uint64_t opens;
    uint64_t closes;
    uint64_t braces; /* bit 0x20 of the byte: 1 in { }, 0 in [ ] */
    uint64_t colons;
    uint64_t commas;
    uint64_t rare; /* backslashes, bytes up to ' ', bytes above ASCII */
} kl__marks;

static inline __m128i kl__equal(__m128i bytes, char byte)
{
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte));
}

static inline __m128i kl__up_to(__m128i bytes, char byte)
{
    return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(byte)), bytes);
}

static inline uint64_t kl__bits(__m128i found, int at)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(found) << at;
}

static inline __m128i kl__part(const char *bytes, int at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
}

static inline void kl__look(kl__marks *all, const char *bytes)
{
    *all = (kl__marks){0};
    for (int at = 0; at < KL__BLOCK_SIZE; at += 16) {
        __m128i part = kl__part(bytes, at);
        /* [ and {, ] and } differ in bit 0x20 only. */
        __m128i folded = _mm_or_si128(part, _mm_set1_epi8(0x20));
        __m128i rare = _mm_or_si128(kl__equal(part, '\\'), part);

        all->quotes |= kl__bits(kl__equal(part, '"'), at);
        all->opens |= kl__bits(kl__equal(folded, '{'), at);
        all->closes |= kl__bits(kl__equal(folded, '}'), at);
        all->braces |= kl__bits(_mm_slli_epi16(part, 2), at);
        all->colons |= kl__bits(kl__equal(part, ':'), at);
        all->commas |= kl__bits(kl__equal(part, ','), at);
        all->rare |= kl__bits(_mm_or_si128(rare, kl__up_to(part, ' ')), at);
    }
}

/* The same with AVX2: it takes half of the time. Called only if the machine has
 * AVX2; every such machine also has BMI. */
#define KL__WIDE __attribute__((target("avx2,bmi,popcnt")))

static inline KL__WIDE __m256i kl__wide_equal(__m256i bytes, char byte)
{
    return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte));
}

static inline KL__WIDE __m256i kl__wide_rare(__m256i bytes)
{
    __m256i low = _mm256_min_epu8(bytes, _mm256_set1_epi8(' '));

    return _mm256_or_si256(_mm256_or_si256(kl__wide_equal(bytes, '\\'), bytes),
                           _mm256_cmpeq_epi8(low, bytes));
}

static inline KL__WIDE uint64_t kl__wide_bits(__m256i first, __m256i second)
{
    return (uint64_t)(unsigned)_mm256_movemask_epi8(first) |
           (uint64_t)(unsigned)_mm256_movemask_epi8(second) << 32;
}

static inline KL__WIDE void kl__look_wide(kl__marks *all, const char *bytes)
{
    const __m256i *from = (const __m256i *)(const void *)bytes;
    const __m256i a = _mm256_loadu_si256(from);
    const __m256i b = _mm256_loadu_si256(from + 1);
    const __m256i fold = _mm256_set1_epi8(0x20);
    const __m256i c = _mm256_or_si256(a, fold);
    const __m256i d = _mm256_or_si256(b, fold);

    all->quotes = kl__wide_bits(kl__wide_equal(a, '"'), kl__wide_equal(b, '"'));
    all->opens = kl__wide_bits(kl__wide_equal(c, '{'), kl__wide_equal(d, '{'));
    all->closes = kl__wide_bits(kl__wide_equal(c, '}'), kl__wide_equal(d, '}'));
    all->braces =
        kl__wide_bits(_mm256_slli_epi16(a, 2), _mm256_slli_epi16(b, 2));
    all->colons = kl__wide_bits(kl__wide_equal(a, ':'), kl__wide_equal(b, ':'));
    all->commas = kl__wide_bits(kl__wide_equal(a, ','), kl__wide_equal(b, ','));
    all->rare = kl__wide_bits(kl__wide_rare(a), kl__wide_rare(b));
}

/* Fills the masks of the rare bytes; returns the backslashes. */
static inline uint64_t kl__tell_rare(kl__block *block, const char *bytes)
{
    uint64_t slashes = 0;

    for (int at = 0; at < KL__BLOCK_SIZE; at += 16) {
        __m128i part = kl__part(bytes, at);
        __m128i blank =
            _mm_or_si128(kl__equal(part, ' '), kl__equal(part, '\n'));
        __m128i other =
            _mm_or_si128(kl__equal(part, '\t'), kl__equal(part, '\r'));

        slashes |= kl__bits(kl__equal(part, '\\'), at);
        block->spaces |= kl__bits(_mm_or_si128(blank, other), at);
        block->controls |= kl__bits(kl__up_to(part, 0x1f), at);
        block->high |= kl__bits(part, at);
    }
    return slashes;
}

/* The bytes that are escaped, given all backslashes. `is_escaped`: the block
 * before this one ended in a backslash that escapes. */
static inline uint64_t kl__escaped_by(uint64_t slashes, bool is_escaped,
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

/* Bit i of the result: the number of set bits 0 to i in `quotes` is odd, so
 * byte i is in a string. */
static inline uint64_t kl__between(uint64_t quotes)
{
    for (int shift = 1; shift < KL__BLOCK_SIZE; shift *= 2) {
        quotes ^= quotes << shift;
    }
    return quotes;
}

/* Fills `block` from the marks. False: a backslash is outside of strings, so
 * the caller must read these bytes one by one. */
static inline bool kl__block_read(kl__block *block, const kl__marks *all,
                                  const char *bytes, bool in_string,
                                  bool is_escaped)
{
    uint64_t slashes = 0;
    uint64_t plain;

    block->spaces = 0;
    block->controls = 0;
    block->high = 0;
    if (all->rare != 0) {
        slashes = kl__tell_rare(block, bytes);
    }
    block->escaped = kl__escaped_by(slashes, is_escaped, &block->ends_escaped);
    block->quotes = all->quotes & ~block->escaped;
    block->strings =
        kl__between(block->quotes) ^ (in_string ? ~UINT64_C(0) : UINT64_C(0));
    plain = ~block->strings;
    block->opens = all->opens & plain;
    block->closes = all->closes & plain;
    block->braces = all->braces;
    block->colons = all->colons & plain;
    block->commas = all->commas & plain;
    block->spaces &= plain;
    block->ends_in_string = (block->strings >> (KL__BLOCK_SIZE - 1)) != 0;
    return (slashes & plain) == 0;
}

#endif

#endif
