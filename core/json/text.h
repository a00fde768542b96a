/*
 * text.h - JSON as bytes, before or without a tree: how deep it nests, the same
 * without whitespace, what can be shown of it.
 */
#ifndef KL_JSON_TEXT_H
#define KL_JSON_TEXT_H

#include "kubelua/error.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a byte means outside of strings. */
enum {
    KL__BYTE_PLAIN, /* of a number or word, a comma, a colon, or rubbish */
    KL__BYTE_SPACE,
    KL__BYTE_QUOTE,
    KL__BYTE_OPEN, /* a bracket or brace */
    KL__BYTE_CLOSE
};
extern const unsigned char kl__byte_class[256];

/*
 * Within a string: the first quote or backslash from `at` on, or `end`. Eight
 * bytes at a time: most bytes of a Kubernetes object are inside strings, and
 * those of a ConfigMap or Secret in long ones.
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
        /* A byte that is zero, a match, sets its top bit; so may one above a
         * match, but none below the lowest. */
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
    size_t depth;  /* of nesting; counting stops beyond KL_MAX_DEPTH */
    size_t spaces; /* bytes of whitespace outside of strings */
    const struct kl__outline *outline; /* NULL: not known; see check.h */
} kl__text_shape;

/* Looks at any bytes; those that are no JSON get a shape that means nothing. */
kl__text_shape kl__text_measure(const char *json, size_t length);

/* The text without whitespace outside of strings into `out`, which has room
 * for as much; returns its length. Any bytes. `out` may be `json`. */
size_t kl__text_compact(char *out, const char *json, size_t length);

/* What can be shown of some bytes, NUL terminated, at most `size`: whitespace
 * as single blanks, "?" for what is not printable ASCII, "..." where cut. */
void kl__text_excerpt(char *out, size_t size, const char *bytes, size_t length);

#endif
