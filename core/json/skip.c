/*
 * skip.c - see skip.h. Reads 64 bytes at a time with SSE2, AVX2 or
 * AVX-512 (skip_blocks.c), else eight at a time in strings, where most bytes
 * are, and one by one outside of them. With an outline, check_rules.h checks
 * the same 64 bytes.
 */
#include "json/skip.h"

#include "json/block.h"
#include "json/skip_blocks.h"
#include "json/text.h"

#include <string.h>

bool kl__skip_begin(kl__skip *skip, kl__skip_levels *below, char first)
{
    skip->below = below;
    skip->is_too_deep = false;
    skip->depth = 0;
    skip->spaces = 0;
    skip->top = 0;
    skip->way = KL__SKIP_BEST;
    skip->in_string = false;
    skip->is_escaped = false;
    skip->is_scalar = false;
    skip->in_metadata = false;
    skip->outline = NULL;
    if (first == '"' || first == '{' || first == '[') {
        return true;
    }
    skip->is_scalar = true;
    return first != '\0' && strchr("-0123456789tfn", first) != NULL;
}

void kl__skip_outline(kl__skip *skip, kl__outline *outline)
{
    outline->is_sure = false;
    outline->count = 0;
    skip->outline = outline;
    skip->taken = 1; /* the opening brace */
    /* The last byte was a brace. */
    skip->check = (kl__check){.start = 1, .open = 1, .member = 1};
}

static unsigned char class_of(char byte)
{
    return kl__byte_class[(unsigned char)byte];
}

/* True: the end of the string was found. */
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

/* Reads byte by byte, and in strings eight bytes at a time. */
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
            result = kl__skip_bracket(skip, class_of(**at) == KL__BYTE_OPEN,
                                      **at == '{' || **at == '}');
            break;
        default:
            break;
        }
        *at += result == KL__SKIP_MORE || result == KL__SKIP_DONE ? 1 : 0;
    }
    return result;
}

/* How far to go byte by byte before kl__skip_blocks is tried again. Blocks need
 * an open bracket, so a value that is a string is read to `end`. */
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
            result = kl__skip_blocks(skip, at, end);
            if (skip->outline != NULL) {
                return result; /* the rest must come again with more bytes */
            }
        }
        if (result == KL__SKIP_MORE) {
            result = run_bytes(skip, at, stop_of(skip, *at, end));
        }
    }
    return result;
}
