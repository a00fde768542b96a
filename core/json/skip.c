/*
 * skip.c - see skip.h. Each byte is looked at once; sixty-four at a time where
 * the machine can, else eight inside of strings, where most bytes are.
 */
#include "json/skip.h"

#include "json/block.h"
#include "json/text.h"

#include <string.h>

bool kl__skip_begin(kl__skip *skip, char first)
{
    skip->depth = 0;
    skip->spaces = 0;
    skip->in_string = false;
    skip->is_escaped = false;
    skip->is_scalar = false;
    if (first == '"' || first == '{' || first == '[') {
        return true;
    }
    skip->is_scalar = true;
    return first != '\0' && strchr("-0123456789tfn", first) != NULL;
}

static unsigned char class_of(char byte)
{
    return kl__byte_class[(unsigned char)byte];
}

static bool opens(kl__skip *skip, char bracket)
{
    uint64_t bit;
    uint64_t *word;

    if (skip->depth == KL_MAX_DEPTH) {
        return false;
    }
    word = &skip->braces[skip->depth / 64];
    bit = UINT64_C(1) << (skip->depth % 64);
    *word = bracket == '{' ? *word | bit : *word & ~bit;
    skip->depth++;
    return true;
}

static bool closes(kl__skip *skip, char bracket)
{
    size_t last = skip->depth - 1;
    bool is_brace = ((skip->braces[last / 64] >> (last % 64)) & 1) != 0;

    if (is_brace != (bracket == '}')) {
        return false;
    }
    skip->depth = last;
    return true;
}

/* True: the string is over. */
static bool run_string(kl__skip *skip, const char **at, const char *end)
{
    const char *byte = *at;

    while (byte < end) {
        if (skip->is_escaped) {
            skip->is_escaped = false;
            byte++;
            continue;
        }
        byte = kl__string_stop(byte, end);
        if (byte == end) {
            break;
        }
        if (*byte++ == '"') {
            skip->in_string = false;
            break;
        }
        skip->is_escaped = true;
    }
    *at = byte;
    return !skip->in_string;
}

static kl__skip_result run_scalar(const char **at, const char *end)
{
    while (*at < end) {
        if (class_of(**at) != KL__BYTE_PLAIN || **at == ',') {
            return KL__SKIP_DONE;
        }
        (*at)++;
    }
    return KL__SKIP_MORE;
}

/* A bracket outside of strings; KL__SKIP_DONE is for it to be taken. */
static kl__skip_result take_bracket(kl__skip *skip, char bracket)
{
    if (class_of(bracket) == KL__BYTE_OPEN) {
        return opens(skip, bracket) ? KL__SKIP_MORE : KL__SKIP_TOO_DEEP;
    }
    if (!closes(skip, bracket)) {
        return KL__SKIP_MISMATCH;
    }
    return skip->depth == 0 ? KL__SKIP_DONE : KL__SKIP_MORE;
}

/* How many bits are set: mostly none, and counting them is a call on a machine
 * that may lack the instruction. */
static size_t count(uint64_t bits)
{
    return bits != 0 ? (size_t)__builtin_popcountll(bits) : 0;
}

/* Takes the brackets of a block up to the last one that belongs to the value;
 * `*end` is behind that, or at the one that is wrong. */
static kl__skip_result take_block(kl__skip *skip, const kl__block *block,
                                  const char *bytes, int *end)
{
    for (uint64_t left = block->brackets; left != 0; left &= left - 1) {
        int i = __builtin_ctzll(left);
        kl__skip_result result = take_bracket(skip, bytes[i]);

        if (result != KL__SKIP_MORE) {
            uint64_t before = (UINT64_C(1) << i) - 1;

            skip->spaces += count(block->spaces & before);
            *end = result == KL__SKIP_DONE ? i + 1 : i;
            return result;
        }
    }
    skip->spaces += count(block->spaces);
    skip->in_string = block->ends_in_string;
    skip->is_escaped = block->ends_escaped;
    *end = KL__BLOCK_SIZE;
    return KL__SKIP_MORE;
}

/* Whole blocks, as long as they hold nothing out of the ordinary. */
static kl__skip_result run_blocks(kl__skip *skip, const char **at,
                                  const char *end)
{
    kl__skip_result result = KL__SKIP_MORE;
    kl__block block;

    while (result == KL__SKIP_MORE && end - *at >= KL__BLOCK_SIZE &&
           kl__block_read(&block, *at, skip->in_string, skip->is_escaped)) {
        int taken;

        result = take_block(skip, &block, *at, &taken);
        *at += taken;
    }
    return result;
}

/* Byte by byte, strings by words. */
static kl__skip_result run_bytes(kl__skip *skip, const char **at,
                                 const char *end)
{
    kl__skip_result result = KL__SKIP_MORE;

    while (*at < end && result == KL__SKIP_MORE) {
        if (skip->in_string) {
            if (run_string(skip, at, end) && skip->depth == 0) {
                return KL__SKIP_DONE;
            }
            continue;
        }
        switch (class_of(**at)) {
        case KL__BYTE_QUOTE:
            skip->in_string = true;
            break;
        case KL__BYTE_SPACE:
            skip->spaces++;
            break;
        case KL__BYTE_OPEN:
        case KL__BYTE_CLOSE:
            result = take_bracket(skip, **at);
            break;
        default:
            break;
        }
        *at += result == KL__SKIP_MORE || result == KL__SKIP_DONE ? 1 : 0;
    }
    return result;
}

/* How far to go byte by byte: until blocks may be worth a try again. They are
 * for what is inside of brackets; a string by itself has none. */
static const char *stop_of(const kl__skip *skip, const char *at,
                           const char *end)
{
    int bytes = skip->depth > 0 ? KL__BLOCK_SIZE : 1;

    return (skip->depth == 0 && skip->in_string) || end - at <= bytes
               ? end
               : at + bytes;
}

kl__skip_result kl__skip_run(kl__skip *skip, const char **at, const char *end)
{
    kl__skip_result result = KL__SKIP_MORE;

    if (skip->is_scalar) {
        return run_scalar(at, end);
    }
    while (*at < end && result == KL__SKIP_MORE) {
        if (skip->depth > 0) {
            result = run_blocks(skip, at, end);
        }
        if (result == KL__SKIP_MORE) {
            result = run_bytes(skip, at, stop_of(skip, *at, end));
        }
    }
    return result;
}
