/*
 * text.c - see text.h. In a string only quotes and backslashes matter; outside
 * of strings a table gives the class of each byte.
 */
#include "json/text.h"

#include "kubelua/value.h"

#include <stdbool.h>

const unsigned char kl__byte_class[256] = {
    [' '] = KL__BYTE_SPACE,  ['\t'] = KL__BYTE_SPACE, ['\n'] = KL__BYTE_SPACE,
    ['\r'] = KL__BYTE_SPACE, ['"'] = KL__BYTE_QUOTE,  ['['] = KL__BYTE_OPEN,
    ['{'] = KL__BYTE_OPEN,   [']'] = KL__BYTE_CLOSE,  ['}'] = KL__BYTE_CLOSE,
};

static unsigned char class_of(const char *at)
{
    return kl__byte_class[(unsigned char)*at];
}

/* `at` is behind an opening quote. Returns the byte behind the closing one, or
 * `end`. */
static const char *string_end(const char *at, const char *end)
{
    while ((at = kl__string_stop(at, end)) < end) {
        if (*at == '"') {
            return at + 1;
        }
        at += end - at > 1 ? 2 : 1;
    }
    return end;
}

kl__text_shape kl__text_measure(const char *json, size_t length)
{
    kl__text_shape shape = {0};
    const char *end = json + length;
    size_t depth = 0;

    for (const char *at = json; at < end;) {
        unsigned char class = class_of(at++);

        if (class == KL__BYTE_PLAIN) {
            continue;
        }
        if (class == KL__BYTE_QUOTE) {
            at = string_end(at, end);
        } else if (class == KL__BYTE_OPEN) {
            depth++;
            shape.depth = depth > shape.depth ? depth : shape.depth;
            if (depth > KL_MAX_DEPTH) {
                break;
            }
        } else if (class == KL__BYTE_CLOSE) {
            depth -= depth > 0 ? 1 : 0;
        } else {
            shape.spaces++;
        }
    }
    return shape;
}

size_t kl__text_compact(char *out, const char *json, size_t length)
{
    const char *end = json + length;
    char *to = out;

    for (const char *at = json; at < end;) {
        const char *from = at;

        while (at < end && class_of(at) != KL__BYTE_SPACE) {
            bool quoted = class_of(at) == KL__BYTE_QUOTE;

            at++;
            at = quoted ? string_end(at, end) : at;
        }
        memmove(to, from, (size_t)(at - from));
        to += at - from;
        while (at < end && class_of(at) == KL__BYTE_SPACE) {
            at++;
        }
    }
    return (size_t)(to - out);
}

void kl__text_excerpt(char *out, size_t size, const char *bytes, size_t length)
{
    size_t used = 0, i = 0;

    if (size == 0) {
        return;
    }
    for (; i < length && used + 1 < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (kl__byte_class[byte] == KL__BYTE_SPACE) {
            if (used > 0 && out[used - 1] != ' ') {
                out[used++] = ' ';
            }
        } else {
            out[used++] = byte > ' ' && byte <= '~' ? (char)byte : '?';
        }
    }
    if (i < length && used > 3) {
        memset(out + used - 3, '.', 3);
    }
    while (used > 0 && out[used - 1] == ' ') {
        used--;
    }
    out[used] = '\0';
}
