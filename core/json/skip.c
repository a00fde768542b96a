/*
 * skip.c - see skip.h. Each byte is looked at once; sixty-four at a time where
 * the machine can, else eight inside of strings, where most bytes are. With an
 * outline, check_rules.h is asked about the same sixty-four.
 */
#include "json/skip.h"

#include "json/block.h"
#include "json/skip_blocks.h"
#include "json/text.h"

#include <string.h>

bool kl__skip_begin(kl__skip *skip, char first)
{
    skip->depth = 0;
    skip->spaces = 0;
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
    skip->taken = 1; /* the brace, which is taken by itself */
    skip->check = (kl__check){.brace = 1}; /* it */
}

static unsigned char class_of(char byte)
{
    return kl__byte_class[(unsigned char)byte];
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
            result = kl__skip_blocks(skip, at, end);
            if (skip->outline != NULL) {
                return result; /* the rest must come with more behind it */
            }
        }
        if (result == KL__SKIP_MORE) {
            result = run_bytes(skip, at, stop_of(skip, *at, end));
        }
    }
    return result;
}
