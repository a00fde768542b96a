/*
 * block.h - classifies 64 bytes of JSON at once, as bit masks: which bytes are
 * in strings, which are brackets, colons, commas. All of it is inline, as is
 * check_rules.h: skip_blocks.c compiles both into one loop for each set of
 * instructions.
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
    uint64_t escaped; /* what an escape is made of, except for \" and \\ */
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
} kl__block;

/* What a block leaves to the next one. Words, as bools would be packed into one
 * register, so that each would wait for the other. */
typedef struct kl__border {
    uint64_t string; /* all bits: the next byte is in a string, else 0 */
    uint64_t escape; /* 1: the next byte is escaped, else 0 */
} kl__border;

#ifdef __SSE2__

/* Where each kind of byte is, inside and outside of strings. */
typedef struct kl__marks {
    uint64_t quotes;
    uint64_t slashes; /* backslashes */
    uint64_t opens;
    uint64_t closes;
    uint64_t braces; /* bit 0x20 of the byte: 1 in { }, 0 in [ ] */
    uint64_t colons;
    uint64_t commas;
    uint64_t rare; /* bytes up to ' ', bytes above ASCII */
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
        /* As a signed number, a byte above ASCII is below 0. */
        __m128i rare = _mm_cmpgt_epi8(_mm_set1_epi8(' ' + 1), part);

        all->quotes |= kl__bits(kl__equal(part, '"'), at);
        all->slashes |= kl__bits(kl__equal(part, '\\'), at);
        all->opens |= kl__bits(kl__equal(folded, '{'), at);
        all->closes |= kl__bits(kl__equal(folded, '}'), at);
        all->braces |= kl__bits(_mm_slli_epi16(part, 2), at);
        all->colons |= kl__bits(kl__equal(part, ':'), at);
        all->commas |= kl__bits(kl__equal(part, ','), at);
        all->rare |= kl__bits(rare, at);
    }
}

/* The same with AVX2: it takes half of the time. */
#define KL__AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt,pclmul")))

static inline KL__AVX2 __m256i kl__wide_equal(__m256i bytes, char byte)
{
    return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte));
}

static inline KL__AVX2 __m256i kl__wide_rare(__m256i bytes)
{
    return _mm256_cmpgt_epi8(_mm256_set1_epi8(' ' + 1), bytes);
}

static inline KL__AVX2 uint64_t kl__wide_bits(__m256i first, __m256i second)
{
    return (uint64_t)(unsigned)_mm256_movemask_epi8(first) |
           (uint64_t)(unsigned)_mm256_movemask_epi8(second) << 32;
}

static inline KL__AVX2 void kl__look_avx2(kl__marks *all, const char *bytes)
{
    const __m256i *from = (const __m256i *)(const void *)bytes;
    const __m256i a = _mm256_loadu_si256(from);
    const __m256i b = _mm256_loadu_si256(from + 1);
    const __m256i fold = _mm256_set1_epi8(0x20);
    const __m256i c = _mm256_or_si256(a, fold);
    const __m256i d = _mm256_or_si256(b, fold);

    all->quotes = kl__wide_bits(kl__wide_equal(a, '"'), kl__wide_equal(b, '"'));
    all->slashes =
        kl__wide_bits(kl__wide_equal(a, '\\'), kl__wide_equal(b, '\\'));
    all->opens = kl__wide_bits(kl__wide_equal(c, '{'), kl__wide_equal(d, '{'));
    all->closes = kl__wide_bits(kl__wide_equal(c, '}'), kl__wide_equal(d, '}'));
    all->braces =
        kl__wide_bits(_mm256_slli_epi16(a, 2), _mm256_slli_epi16(b, 2));
    all->colons = kl__wide_bits(kl__wide_equal(a, ':'), kl__wide_equal(b, ':'));
    all->commas = kl__wide_bits(kl__wide_equal(a, ','), kl__wide_equal(b, ','));
    all->rare = kl__wide_bits(kl__wide_rare(a), kl__wide_rare(b));
}

/* The same with AVX-512: one comparison makes a mask. */
#define KL__AVX512 \
    __attribute__((target("avx512f,avx512bw,bmi,bmi2,popcnt,pclmul")))

static inline KL__AVX512 uint64_t kl__equal_512(__m512i bytes, char byte)
{
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte));
}

static inline KL__AVX512 void kl__look_avx512(kl__marks *all, const char *bytes)
{
    const __m512i all_bytes = _mm512_loadu_si512(bytes);
    const __m512i bit = _mm512_set1_epi8(0x20);
    const __m512i folded = _mm512_or_si512(all_bytes, bit);

    all->quotes = kl__equal_512(all_bytes, '"');
    all->slashes = kl__equal_512(all_bytes, '\\');
    all->opens = kl__equal_512(folded, '{');
    all->closes = kl__equal_512(folded, '}');
    all->braces = _mm512_test_epi8_mask(all_bytes, bit);
    all->colons = kl__equal_512(all_bytes, ':');
    all->commas = kl__equal_512(all_bytes, ',');
    all->rare = _mm512_cmple_epi8_mask(all_bytes, bit);
}

/* Fills the masks of the rare bytes. */
static inline void kl__tell_rare(kl__block *block, const char *bytes)
{
    for (int at = 0; at < KL__BLOCK_SIZE; at += 16) {
        __m128i part = kl__part(bytes, at);
        __m128i blank =
            _mm_or_si128(kl__equal(part, ' '), kl__equal(part, '\n'));
        __m128i other =
            _mm_or_si128(kl__equal(part, '\t'), kl__equal(part, '\r'));

        block->spaces |= kl__bits(_mm_or_si128(blank, other), at);
        block->controls |= kl__bits(kl__up_to(part, 0x1f), at);
        block->high |= kl__bits(part, at);
    }
}

/* The bytes that are escaped, given all backslashes. A run of backslashes that
 * starts at an even bit escapes the odd bits, and the other way round; the
 * subtraction carries the start of each run to its end. */
static inline uint64_t kl__escaped_by(uint64_t slashes, uint64_t *escape)
{
    const uint64_t odd = UINT64_C(0xaaaaaaaaaaaaaaaa);
    uint64_t first = *escape;
    uint64_t active = slashes & ~first;
    uint64_t both = (((active << 1) | odd) - active) ^ odd;

    *escape = (both & slashes) >> (KL__BLOCK_SIZE - 1);
    return both ^ (slashes | first);
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

static inline __attribute__((target("pclmul"))) uint64_t
kl__between_clmul(uint64_t quotes)
{
    __m128i sums = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)quotes),
                                        _mm_set1_epi8((char)0xff), 0);

    return (uint64_t)_mm_cvtsi128_si64(sums);
}

typedef uint64_t (*kl__between_fn)(uint64_t quotes);

/* Fills `block` from the marks, and moves `border` behind it. False: a
 * backslash is outside of strings, so the caller must read these bytes one by
 * one. */
static inline bool kl__block_read(kl__block *block, const kl__marks *all,
                                  const char *bytes, kl__border *border,
                                  kl__between_fn between)
{
    uint64_t plain, escaped;

    block->spaces = 0;
    block->controls = 0;
    block->high = 0;
    if (all->rare != 0) {
        kl__tell_rare(block, bytes);
    }
    escaped = kl__escaped_by(all->slashes, &border->escape);
    block->escaped = escaped & ~(all->quotes | all->slashes);
    block->quotes = all->quotes & ~escaped;
    block->strings = between(block->quotes) ^ border->string;
    border->string =
        (uint64_t)((int64_t)block->strings >> (KL__BLOCK_SIZE - 1));
    plain = ~block->strings;
    block->opens = all->opens & plain;
    block->closes = all->closes & plain;
    block->braces = all->braces;
    block->colons = all->colons & plain;
    block->commas = all->commas & plain;
    block->spaces &= plain;
    return (all->slashes & plain) == 0;
}

#endif

#endif
