/*
 * check_rules.h - checks that 64 bytes are part of valid JSON. Without
 * whitespace, the grammar is rules about which byte may follow which: one shift
 * and one mask each. Only numbers, words and escapes are read one by one
 * (check_tokens.h). Whatever passes, yyjson accepts too; yyjson accepts more.
 */
#ifndef KL_JSON_CHECK_RULES_H
#define KL_JSON_CHECK_RULES_H

#include "json/check_tokens.h"

/* Shifts by one byte; `carry` is the bit that moves over the border between two
 * blocks. */
static inline uint64_t kl__after(uint64_t bytes, uint64_t *carry)
{
    uint64_t shifted = bytes << 1 | *carry;

    *carry = bytes >> (KL__BLOCK_SIZE - 1);
    return shifted;
}

/* The bytes right behind the strings that open at `keys`. A string with both
 * quotes is a run of ones; adding 1 at its start carries to the bit behind its
 * end, also over the border between two blocks. */
static inline uint64_t kl__behind_keys(kl__check *check, const kl__block *marks,
                                       uint64_t keys)
{
    uint64_t strings = marks->strings | marks->quotes;
    uint64_t sum;
    bool over = __builtin_add_overflow(strings, keys, &sum);

    over |= __builtin_add_overflow(sum, check->key, &sum);
    check->key = over ? 1 : 0;
    return sum & ~strings;
}

/* Checks the order of the bytes outside of strings. Where the byte before calls
 * for a name or value, one must start, except for an empty {} or []; and only
 * there. `wrong` collects the bytes that must not stand where they are. `keys`
 * gets the opening quotes of names, `scalars` the bytes of numbers and words.
 */
static inline bool kl__check_order(kl__check *check,
                                   const kl__check_block *block,
                                   uint64_t scalars, uint64_t *keys)
{
    const kl__block *marks = block->marks;
    uint64_t opening = marks->quotes & marks->strings;
    uint64_t other = marks->opens | (scalars & ~(scalars << 1 | check->scalar));
    uint64_t start =
        kl__after(marks->opens | marks->colons | marks->commas, &check->start);
    uint64_t open = kl__after(marks->opens, &check->open);
    uint64_t member = kl__after((marks->opens & marks->braces) |
                                    (marks->commas & block->objects),
                                &check->member);
    uint64_t wrong;

    *keys = opening & member;
    wrong = (start ^ (opening | other)) & ~(open & marks->closes);
    wrong |= member & other;
    wrong |= kl__behind_keys(check, marks, *keys) ^ marks->colons;
    return wrong == 0;
}

/* Checks one block; `keys` gets the opening quotes of the members' names in it.
 * False: not JSON, or the check cannot decide; do not call it again then. */
static inline bool kl__check_run(kl__check *check, const kl__check_block *block,
                                 uint64_t *keys)
{
    const kl__block *marks = block->marks;
    uint64_t scalars = ~(marks->strings | marks->quotes | marks->opens |
                         marks->closes | marks->colons | marks->commas);

    if (marks->rare != 0 &&
        (marks->spaces | marks->controls | marks->high) != 0) {
        return false;
    }
    if ((marks->escaped | check->hex) != 0 &&
        !kl__check_escapes(check, block)) {
        return false;
    }
    return kl__check_order(check, block, scalars, keys) &&
           ((scalars | check->scalar) == 0 ||
            kl__check_scalars(check, block, scalars));
}

#endif
