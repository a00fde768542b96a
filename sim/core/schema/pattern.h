/*
 * pattern.h - regular expressions in Go's syntax (RE2), as schemas of custom
 * resources have them: tells if a pattern matches somewhere in a text. PCRE2
 * runs them, in bounded time. docs/DIFFERENCES.md lists where Go differs.
 */
#ifndef KL_SCHEMA_PATTERN_H
#define KL_SCHEMA_PATTERN_H

#include "base/buf.h"

typedef enum kl__pattern_result {
    KL__PATTERN_FITS,
    KL__PATTERN_FAILS,
    KL__PATTERN_INVALID,  /* not a regular expression */
    KL__PATTERN_TOO_MUCH, /* too large, or takes too many steps */
    KL__PATTERN_ENOMEM
} kl__pattern_result;

/* KL__PATTERN_FITS if the pattern matches somewhere in the text. */
kl__pattern_result kl__pattern_match(const char *pattern, const char *text);

/* Checks a pattern only. KL__PATTERN_FITS: it is valid; KL__PATTERN_INVALID:
 * `why` gets "error parsing regexp: ..."; KL__PATTERN_TOO_MUCH: that it is too
 * large. */
kl__pattern_result kl__pattern_check(const char *pattern, kl__buf *why);

#endif
