/*
 * marks.h - finds each kind of byte that means something in JSON, in 64 bytes
 * at once, with the instructions that the machine has. block.h tells which of
 * them are in strings.
 */
#ifndef KL_JSON_MARKS_H
#define KL_JSON_MARKS_H

#include <stdint.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum { KL__BLOCK_SIZE = 64 };

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

static inline void kl__look_16(kl__marks *all, const char *bytes)
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

/* The same, 32 bytes at once: it takes half of the time. */
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

static inline KL__AVX2 void kl__look_32(kl__marks *all, const char *bytes)
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

/* The same, 64 bytes at once: one comparison makes a mask. */
#define KL__AVX512 \
    __attribute__((target("avx512f,avx512bw,bmi,bmi2,popcnt,pclmul")))

static inline KL__AVX512 uint64_t kl__equal_64(__m512i bytes, char byte)
{
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte));
}

static inline KL__AVX512 void kl__look_64(kl__marks *all, const char *bytes)
{
    const __m512i all_bytes = _mm512_loadu_si512(bytes);
    const __m512i bit = _mm512_set1_epi8(0x20);
    const __m512i folded = _mm512_or_si512(all_bytes, bit);

    all->quotes = kl__equal_64(all_bytes, '"');
    all->slashes = kl__equal_64(all_bytes, '\\');
    all->opens = kl__equal_64(folded, '{');
    all->closes = kl__equal_64(folded, '}');
    all->braces = _mm512_test_epi8_mask(all_bytes, bit);
    all->colons = kl__equal_64(all_bytes, ':');
    all->commas = kl__equal_64(all_bytes, ',');
    all->rare = _mm512_cmple_epi8_mask(all_bytes, bit);
}

#endif

#endif
