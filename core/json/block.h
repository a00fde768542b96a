/*
 * block.h - classifies 64 bytes of JSON at once, as bit masks: which bytes are
 * in strings, which are brackets, colons, commas. All of it is inline, as is
 * check_rules.h: skip.c compiles both into one loop for each set of
 * instructions.
 */
#ifndef KL_JSON_BLOCK_H
#define KL_JSON_BLOCK_H

#include "json/marks.h"

#include <stdbool.h>
#include <stdint.h>

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
    /* Bytes up to ' ', and bytes above ASCII. 0: the three below are not set.
     */
    uint64_t rare;
    uint64_t spaces;   /* all whitespace, outside of strings */
    uint64_t controls; /* anywhere, below 0x20: legal as whitespace only */
    uint64_t high;     /* anywhere, not ASCII */
} kl__block;

/* What a block leaves to the next one. Words, as bools would be packed into one
 * register, so that each would wait for the other. */
typedef struct kl__border {
    uint64_t string; /* all bits: the next byte is in a string, else 0 */
    uint64_t escape; /* 1: the next byte is escaped, else 0 */
} kl__border;

#ifdef KL__HAS_16

/* JSON's whitespace. */
static inline kl__part kl__blank(kl__part bytes)
{
    return kl__equal(bytes, ' ') | kl__equal(bytes, '\n') |
           kl__equal(bytes, '\t') | kl__equal(bytes, '\r');
}

/* Fills the masks of the rare bytes. */
static inline void kl__tell_rare(kl__block *block, const char *bytes)
{
    const kl__parts in = kl__four_parts(bytes);

    block->spaces = kl__bits(kl__blank(in.a), kl__blank(in.b), kl__blank(in.c),
                             kl__blank(in.d));
    block->controls = kl__bits(kl__up_to(in.a, 0x1f), kl__up_to(in.b, 0x1f),
                               kl__up_to(in.c, 0x1f), kl__up_to(in.d, 0x1f));
    block->high = kl__bits(in.a, in.b, in.c, in.d);
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

#ifdef KL__HAS_WIDE
static inline __attribute__((target("pclmul"))) uint64_t
kl__between_clmul(uint64_t quotes)
{
    __m128i sums = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)quotes),
                                        _mm_set1_epi8((char)0xff), 0);

    return (uint64_t)_mm_cvtsi128_si64(sums);
}
#endif

/* Makes a block end at `end`: the bytes behind it become part of a string,
 * which no rule refuses. */
static inline void kl__block_cut(kl__block *block, int end)
{
    uint64_t behind = end < KL__BLOCK_SIZE ? ~UINT64_C(0) << end : 0;

    block->strings |= behind;
    block->quotes &= ~behind;
    block->escaped &= ~behind;
    block->opens &= ~behind;
    block->closes &= ~behind;
    block->colons &= ~behind;
    block->commas &= ~behind;
    if (block->rare != 0) {
        block->spaces &= ~behind;
        block->controls &= ~behind;
        block->high &= ~behind;
    }
}

typedef uint64_t (*kl__between_fn)(uint64_t quotes);

/* Fills `block` from the marks, and moves `border` behind it. False: a
 * backslash is outside of strings, so the caller must read these bytes one by
 * one. */
static inline bool kl__block_read(kl__block *block, const kl__marks *all,
                                  const char *bytes, kl__border *border,
                                  kl__between_fn between)
{
    uint64_t plain, escaped = 0;

    if ((all->slashes | border->escape) != 0) {
        escaped = kl__escaped_by(all->slashes, &border->escape);
    }
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
    block->rare = all->rare;
    if (all->rare != 0) {
        kl__tell_rare(block, bytes);
        block->spaces &= plain;
    }
    return (all->slashes & plain) == 0;
}

#endif

#endif
