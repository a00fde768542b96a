/*
 * skip.c - see skip.h. Each byte is looked at once; inside of strings, where
 * most bytes are, eight at a time.
 */
#include "json/skip.h"

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

kl__skip_result kl__skip_run(kl__skip *skip, const char **at, const char *end)
{
    if (skip->is_scalar) {
        return run_scalar(at, end);
    }
    while (*at < end) {
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
            if (!opens(skip, **at)) {
                return KL__SKIP_TOO_DEEP;
            }
            break;
        case KL__BYTE_CLOSE:
            if (!closes(skip, **at)) {
                return KL__SKIP_MISMATCH;
            }
            if (skip->depth == 0) {
                (*at)++;
                return KL__SKIP_DONE;
            }
            break;
        default:
            break;
        }
        (*at)++;
    }
    return KL__SKIP_MORE;
}
