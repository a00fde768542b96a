/*
 * check_tokens.h - checks the numbers, words and escapes of 64 bytes of JSON.
 * They are read one by one; check_rules.h checks all else with masks.
 */
#ifndef KL_JSON_CHECK_TOKENS_H
#define KL_JSON_CHECK_TOKENS_H

#include "json/block.h"
#include "json/check.h"

#include <string.h>

/* What skip.c knows about a block. */
typedef struct kl__check_block {
    const kl__block *marks;
    const char *bytes; /* the bytes before them are still in memory */
    uint64_t objects;  /* bytes whose innermost bracket is a brace */
    int end;           /* so many of the bytes belong to the value */
} kl__check_block;

/* ---- numbers and words ---- */

static inline bool kl__is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* The end of the digits that start at `at`; NULL: there is no digit. */
static inline const char *kl__digits(const char *at, const char *end)
{
    const char *first = at;

    while (at < end && kl__is_digit(*at)) {
        at++;
    }
    return at != first ? at : NULL;
}

static inline bool kl__is_number(const char *at, const char *end)
{
    at += *at == '-' ? 1 : 0;
    if (at < end && *at == '0') {
        at++;
    } else {
        at = kl__digits(at, end);
    }
    if (at != NULL && at < end && *at == '.') {
        at = kl__digits(at + 1, end);
    }
    if (at != NULL && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-') ? 1 : 0;
        at = kl__digits(at, end);
    }
    return at == end;
}

static inline bool kl__is_word(const char *at, const char *end,
                               const char *word)
{
    size_t length = strlen(word);

    return (size_t)(end - at) == length && memcmp(at, word, length) == 0;
}

static __attribute__((noinline)) bool kl__is_scalar(const char *at,
                                                    const char *end)
{
    switch (*at) {
    case 't':
        return kl__is_word(at, end, "true");
    case 'f':
        return kl__is_word(at, end, "false");
    case 'n':
        return kl__is_word(at, end, "null");
    default:
        return kl__is_number(at, end);
    }
}

/* True if `length` bytes are the digits of an integer. Reads 8 bytes. */
static inline bool kl__is_short_integer(const char *at, size_t length)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t other = 8 * (8 - length);
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    /* The shift drops the bytes behind the integer. The XOR turns each digit
     * into its value, 0 to 9. Adding 0x76 sets the top bit of every byte that
     * is above 9. */
    word = (word << other) ^ (ones * '0' << other);
    return (((word + ones * 0x76) | word) & ones * 0x80) == 0 &&
           (length == 1 || *at != '0');
}

/* Checks numbers and words that end in this block, wherever they began. */
static inline bool kl__check_scalars(kl__check *check,
                                     const kl__check_block *block,
                                     uint64_t scalars)
{
    uint64_t follows = scalars << 1 | check->scalar;
    uint64_t starts = scalars & ~follows;
    bool is_open = check->scalar != 0;

    for (uint64_t left = follows & ~scalars; left != 0; left &= left - 1) {
        const char *end = block->bytes + __builtin_ctzll(left);
        const char *from = block->bytes - check->scalar_length;

        if (!is_open) {
            int first = __builtin_ctzll(starts);

            from = block->bytes + first;
            starts &= starts - 1;
            if (first + 8 <= block->end && end - from <= 8 &&
                kl__is_short_integer(from, (size_t)(end - from))) {
                continue;
            }
        }
        is_open = false;
        if (!kl__is_scalar(from, end)) {
            return false;
        }
    }
    check->scalar = scalars >> (KL__BLOCK_SIZE - 1);
    if (check->scalar != 0) {
        check->scalar_length =
            is_open ? check->scalar_length + KL__BLOCK_SIZE
                    : (size_t)(KL__BLOCK_SIZE - __builtin_ctzll(starts));
    }
    return true;
}

/* ---- escapes ---- */

static inline bool kl__is_hex(char byte)
{
    char lower = (char)(byte | 0x20);

    return kl__is_digit(byte) || (lower >= 'a' && lower <= 'f');
}

/* Refuses \uD..., too: only yyjson checks that surrogates are in pairs. It
 * never reads behind the value: a quote comes first, which is no digit. */
static inline bool kl__check_hex(const kl__check_block *block, uint64_t hex,
                                 uint64_t first)
{
    for (uint64_t left = hex; left != 0; left &= left - 1) {
        int i = __builtin_ctzll(left);

        if (!kl__is_hex(block->bytes[i]) ||
            ((first >> i & 1) != 0 && (block->bytes[i] | 0x20) == 'd')) {
            return false;
        }
    }
    return true;
}

static __attribute__((noinline)) bool
kl__check_escapes(kl__check *check, const kl__check_block *block)
{
    uint64_t hex = check->hex;
    uint64_t first = check->first_hex;

    check->hex = 0;
    check->first_hex = 0;
    for (uint64_t left = block->marks->escaped; left != 0; left &= left - 1) {
        int i = __builtin_ctzll(left);

        switch (block->bytes[i]) {
        case 'u':
            hex |= UINT64_C(30) << i;
            first |= UINT64_C(2) << i;
            check->hex = i > 59 ? UINT64_C(15) >> (63 - i) : 0;
            check->first_hex = i == 63 ? 1 : 0;
            break;
        case '/':
        case 'b':
        case 'f':
        case 'n':
        case 'r':
        case 't':
            break;
        default:
            return false;
        }
    }
    return kl__check_hex(block, hex, first);
}

#endif
