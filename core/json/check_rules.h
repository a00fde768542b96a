/*
 * check_rules.h - checks that 64 bytes are part of valid JSON. Without
 * whitespace, the grammar is rules about which byte may follow which: one shift
 * and one mask each. Only numbers, words and escapes are read one by one.
 * Whatever passes, yyjson accepts too; yyjson accepts more.
 */
#ifndef KL_JSON_CHECK_RULES_H
#define KL_JSON_CHECK_RULES_H

#include "json/block.h"
#include "json/check.h"

#include <string.h>

/* What skip_blocks.c knows about a block. */
typedef struct kl__check_block {
    const kl__block *marks;
    const char *bytes; /* the bytes before them are still in memory */
    uint64_t objects;  /* bytes whose innermost bracket is a brace */
    uint64_t live;     /* bytes that belong to the value */
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

static inline bool kl__is_scalar(const char *at, const char *end)
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

/* Checks numbers and words that end in this block, wherever they began. */
static inline bool kl__check_scalars(kl__check *check,
                                     const kl__check_block *block,
                                     uint64_t scalars)
{
    uint64_t follows = scalars << 1 | check->scalar;
    uint64_t starts = scalars & ~follows;
    bool is_open = check->scalar != 0;

    for (uint64_t left = follows & ~scalars & block->live; left != 0;
         left &= left - 1) {
        const char *end = block->bytes + __builtin_ctzll(left);
        const char *from = block->bytes - check->scalar_length;

        if (!is_open) {
            from = block->bytes + __builtin_ctzll(starts);
            starts &= starts - 1;
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

/* Refuses \uD..., too: only yyjson checks that surrogates are in pairs. */
static inline bool kl__check_hex(const kl__check_block *block, uint64_t hex,
                                 uint64_t first)
{
    for (uint64_t left = hex & block->live; left != 0; left &= left - 1) {
        int i = __builtin_ctzll(left);

        if (!kl__is_hex(block->bytes[i]) ||
            ((first >> i & 1) != 0 && (block->bytes[i] | 0x20) == 'd')) {
            return false;
        }
    }
    return true;
}

static inline bool kl__check_escapes(kl__check *check,
                                     const kl__check_block *block)
{
    uint64_t hex = check->hex;
    uint64_t first = check->first_hex;

    check->hex = 0;
    check->first_hex = 0;
    for (uint64_t left = block->marks->escaped & block->live; left != 0;
         left &= left - 1) {
        int i = __builtin_ctzll(left);

        switch (block->bytes[i]) {
        case 'u':
            hex |= UINT64_C(30) << i;
            first |= UINT64_C(2) << i;
            check->hex = i > 59 ? UINT64_C(15) >> (63 - i) : 0;
            check->first_hex = i == 63 ? 1 : 0;
            break;
        case '"':
        case '\\':
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

/* ---- what may follow what ---- */

/* Shifts by one byte; `carry` is the bit that moves over the border between two
 * blocks. */
static inline uint64_t kl__after(uint64_t bytes, uint64_t *carry)
{
    uint64_t shifted = bytes << 1 | *carry;

    *carry = bytes >> (KL__BLOCK_SIZE - 1);
    return shifted;
}

/* The closing quotes of the strings that open at `keys`. A string is a run of
 * ones in `strings`; adding 1 at its start carries to the bit behind its
 * end. */
static inline uint64_t kl__ends_of(kl__check *check, const kl__block *marks,
                                   uint64_t keys)
{
    uint64_t sum;
    bool over = __builtin_add_overflow(marks->strings, keys, &sum);

    over |= __builtin_add_overflow(sum, check->in_key, &sum);
    check->in_key = over ? 1 : 0;
    return sum & marks->quotes & ~marks->strings;
}

/* Checks what follows each byte outside of strings. `wrong` collects the bytes
 * that must not stand where they are, such as a second colon. */
static inline bool kl__check_order(kl__check *check,
                                   const kl__check_block *block,
                                   uint64_t scalars, uint64_t *keys)
{
    const kl__block *marks = block->marks;
    uint64_t opening = marks->quotes & marks->strings;
    uint64_t closing = marks->quotes & ~marks->strings;
    uint64_t values = opening | marks->opens | scalars;
    uint64_t ends = marks->closes | marks->commas;
    uint64_t list = kl__after(marks->opens & ~marks->braces, &check->list);
    uint64_t brace = kl__after(marks->opens & marks->braces, &check->brace);
    uint64_t member = kl__after(marks->commas & block->objects, &check->member);
    uint64_t value = kl__after(
        marks->colons | (marks->commas & ~block->objects), &check->value);
    uint64_t key_ends, wrong;

    *keys = opening & (brace | member);
    key_ends = kl__ends_of(check, marks, *keys);
    wrong = brace & ~(opening | (marks->closes & marks->braces));
    wrong |= member & ~opening;
    wrong |= list & ~(values | (marks->closes & ~marks->braces));
    wrong |= value & ~values;
    wrong |= kl__after(key_ends, &check->key) & ~marks->colons;
    wrong |=
        kl__after((closing & ~key_ends) | marks->closes, &check->done) & ~ends;
    wrong |= (scalars << 1 | check->scalar) & ~(scalars | ends);
    return (wrong & block->live) == 0;
}

/* Checks one block; `keys` gets the opening quotes of the members' names in it.
 * False: not JSON, or the check cannot decide; do not call it again then. */
static inline bool kl__check_run(kl__check *check, const kl__check_block *block,
                                 uint64_t *keys)
{
    const kl__block *marks = block->marks;
    uint64_t scalars = ~(marks->strings | marks->quotes | marks->opens |
                         marks->closes | marks->colons | marks->commas);

    if (((marks->spaces | marks->controls | marks->high) & block->live) != 0) {
        return false;
    }
    if (((marks->escaped & block->live) | check->hex) != 0 &&
        !kl__check_escapes(check, block)) {
        return false;
    }
    return kl__check_order(check, block, scalars, keys) &&
           kl__check_scalars(check, block, scalars);
}

#endif
