/*
 * text.h - works on JSON as bytes, without parsing it: measures the nesting,
 * removes whitespace, makes an excerpt for an error message.
 */
#ifndef KL_JSON_TEXT_H
#define KL_JSON_TEXT_H

#include "kubelua/error.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a byte means outside of strings. */
enum {
    KL__BYTE_PLAIN, /* part of a number or word, a comma, a colon, or invalid */
    KL__BYTE_SPACE,
    KL__BYTE_QUOTE,
    KL__BYTE_OPEN, /* a bracket or brace */
    KL__BYTE_CLOSE
};
extern const unsigned char kl__byte_class[256];

/*
 * `at` is in a string. Returns the first quote or backslash from `at` on, or
 * `end`. Reads eight bytes at a time: most bytes of a Kubernetes object are in
 * strings, and in a ConfigMap or Secret the strings are long.
 */
static inline const char *kl__string_stop(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t tops = UINT64_C(0x8080808080808080);

    while (end - at >= 8) {
        uint64_t word, quote, slash, found;

        memcpy(&word, at, 8);
        quote = word ^ (ones * '"');
        slash = word ^ (ones * '\\');
        /* A match is a zero byte here, and sets its top bit in `found`. A byte
         * above a match may set its top bit wrongly; no byte below the lowest
         * match does. */
        found = (((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops;
        if (found != 0) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            return at + __builtin_ctzll(found) / 8;
#else
            break;
#endif
        }
        at += 8;
    }
    while (at < end && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}

struct kl__outline;

typedef struct kl__text_shape {
    size_t depth;  /* levels of nesting; counting stops above KL_MAX_DEPTH */
    size_t spaces; /* bytes of whitespace outside of strings */
    const struct kl__outline *outline; /* NULL: unknown; see check.h */
} kl__text_shape;

/* Accepts any bytes; if they are not JSON, the result means nothing. */
kl__text_shape kl__text_measure(const char *json, size_t length);

/* Copies the text to `out` without the whitespace outside of strings; returns
 * the new length. `out` has room for `length` bytes and may be `json`. Accepts
 * any bytes. */
size_t kl__text_compact(char *out, const char *json, size_t length);

/* Writes a printable excerpt of the bytes to `out`, at most `size` bytes with
 * the NUL: runs of whitespace become one blank, other bytes that are not
 * printable ASCII become "?", and "..." stands at the end if the text was
 * cut. */
void kl__text_excerpt(char *out, size_t size, const char *bytes, size_t length);

#endif
