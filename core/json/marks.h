/*
 * marks.h - finds each kind of byte that means something in JSON, in 64 bytes
 * at once, with the instructions that the machine has. block.h tells which of
 * them are in strings.
 */
#ifndef KL_JSON_MARKS_H
#define KL_JSON_MARKS_H

#include <stdbool.h>
#include <stdint.h>

/* KL__HAS_16: this machine reads 16 bytes at once; every amd64 and arm64 can.
 * KL__HAS_WIDE: kl__skip_has tells if it also reads 32 or 64 at once. */
#if defined(__SSE2__)
#include <immintrin.h>
#define KL__HAS_16 1
#define KL__HAS_WIDE 1
#elif defined(__ARM_NEON) && defined(__AARCH64EL__)
#include <arm_neon.h>
#define KL__HAS_16 1
#endif

enum { KL__BLOCK_SIZE = 64 };

#ifdef KL__HAS_16

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

/*
 * The 16 bytes that are read at once, and what this needs of the machine. A
 * test sets all bits of the bytes that pass. kl__four_parts reads a block, with
 * its bytes in any order; kl__bits puts the top bits of all of them in order.
 */
typedef struct kl__parts kl__parts;

#ifdef __SSE2__

typedef __m128i kl__part;

struct kl__parts {
    kl__part a, b, c, d;
};

static inline kl__part kl__one_part(const char *bytes)
{
    return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

static inline kl__parts kl__four_parts(const char *bytes)
{
    return (kl__parts){kl__one_part(bytes), kl__one_part(bytes + 16),
                       kl__one_part(bytes + 32), kl__one_part(bytes + 48)};
}

static inline kl__part kl__all(char byte)
{
    return _mm_set1_epi8(byte);
}

static inline kl__part kl__equal(kl__part bytes, char byte)
{
    return _mm_cmpeq_epi8(bytes, kl__all(byte));
}

static inline bool kl__is_any(kl__part found)
{
    return _mm_movemask_epi8(found) != 0;
}

static inline kl__part kl__up_to(kl__part bytes, char byte)
{
    return _mm_cmpeq_epi8(_mm_min_epu8(bytes, kl__all(byte)), bytes);
}

/* As a signed number, a byte above ASCII is below 0. */
static inline kl__part kl__rare(kl__part bytes)
{
    return _mm_cmpgt_epi8(kl__all(' ' + 1), bytes);
}

/* Moves bit 0x20 of each byte to the top. */
static inline kl__part kl__brace(kl__part bytes)
{
    return _mm_slli_epi16(bytes, 2);
}

static inline uint64_t kl__bits(kl__part a, kl__part b, kl__part c, kl__part d)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(a) |
           (uint64_t)(unsigned)_mm_movemask_epi8(b) << 16 |
           (uint64_t)(unsigned)_mm_movemask_epi8(c) << 32 |
           (uint64_t)(unsigned)_mm_movemask_epi8(d) << 48;
}

#else

typedef uint8x16_t kl__part;

struct kl__parts {
    kl__part a, b, c, d;
};

static inline kl__part kl__one_part(const char *bytes)
{
    return vld1q_u8((const uint8_t *)bytes);
}

/* Part a has the bytes 0, 4, 8 ..., part b 1, 5, 9 ...: so the bits of four
 * bytes in a row are in the same place of the four parts. */
static inline kl__parts kl__four_parts(const char *bytes)
{
    uint8x16x4_t parts = vld4q_u8((const uint8_t *)bytes);

    return (kl__parts){parts.val[0], parts.val[1], parts.val[2], parts.val[3]};
}

static inline kl__part kl__all(char byte)
{
    return vdupq_n_u8((uint8_t)byte);
}

static inline kl__part kl__equal(kl__part bytes, char byte)
{
    return vceqq_u8(bytes, kl__all(byte));
}

static inline bool kl__is_any(kl__part found)
{
    return vmaxvq_u8(found) != 0;
}

static inline kl__part kl__up_to(kl__part bytes, char byte)
{
    return vcleq_u8(bytes, kl__all(byte));
}

/* As a signed number, a byte above ASCII is below 0. */
static inline kl__part kl__rare(kl__part bytes)
{
    return vcleq_s8(vreinterpretq_s8_u8(bytes), vdupq_n_s8(' '));
}

/* Moves bit 0x20 of each byte to the top. */
static inline kl__part kl__brace(kl__part bytes)
{
    return vshlq_n_u8(bytes, 2);
}

/* Each step shifts the top bits of one part in below those of another: after
 * the third, the upper half of byte i has the bits of bytes 4 * i to 4 * i + 3
 * of the block. */
static inline uint64_t kl__bits(kl__part a, kl__part b, kl__part c, kl__part d)
{
    kl__part two = vsriq_n_u8(b, a, 1);
    kl__part four = vsriq_n_u8(vsriq_n_u8(d, c, 1), two, 2);
    kl__part twice = vsriq_n_u8(four, four, 4);
    uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(twice), 4);

    return vget_lane_u64(vreinterpret_u64_u8(halves), 0);
}

#endif

static inline uint64_t kl__find(const kl__parts *in, char byte)
{
    return kl__bits(kl__equal(in->a, byte), kl__equal(in->b, byte),
                    kl__equal(in->c, byte), kl__equal(in->d, byte));
}

static inline void kl__look_16(kl__marks *all, const char *bytes)
{
    const kl__parts in = kl__four_parts(bytes);
    /* [ and {, ] and } differ in bit 0x20 only. */
    const kl__part fold = kl__all(0x20);
    const kl__parts folded = {in.a | fold, in.b | fold, in.c | fold,
                              in.d | fold};

    all->quotes = kl__find(&in, '"');
    all->slashes = kl__find(&in, '\\');
    all->opens = kl__find(&folded, '{');
    all->closes = kl__find(&folded, '}');
    all->braces = kl__bits(kl__brace(in.a), kl__brace(in.b), kl__brace(in.c),
                           kl__brace(in.d));
    all->colons = kl__find(&in, ':');
    all->commas = kl__find(&in, ',');
    all->rare = kl__bits(kl__rare(in.a), kl__rare(in.b), kl__rare(in.c),
                         kl__rare(in.d));
}

#endif

#ifdef KL__HAS_WIDE

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
