/*
 * pattern.h - regular expressions in Go's syntax (RE2): tells if a pattern
 * matches somewhere in a text. The time grows with the length of the pattern
 * times that of the text. Unicode classes (\pL) are not supported, and case is
 * ignored in ASCII only.
 */
#ifndef KL_SCHEMA_PATTERN_H
#define KL_SCHEMA_PATTERN_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kl__pattern_result {
    KL__PATTERN_FITS,
    KL__PATTERN_FAILS,
    KL__PATTERN_INVALID, /* not a regular expression */
    KL__PATTERN_UNKNOWN, /* not supported here */
    KL__PATTERN_ENOMEM
} kl__pattern_result;

/* KL__PATTERN_FITS if the pattern matches somewhere in the text. */
kl__pattern_result kl__pattern_match(const char *pattern, const char *text);

/* Checks a pattern only. KL__PATTERN_FITS: it is valid; KL__PATTERN_INVALID:
 * `why` gets "error parsing regexp: ...". */
kl__pattern_result kl__pattern_check(const char *pattern, kl__buf *why);

/* --- For pattern.c and pattern_run.c. A compiled pattern is a program of
 * steps. While it runs, it is at many steps at once. Jumps are relative, so
 * that a piece of the program can be copied. */

typedef enum kl__pattern_op {
    KL__OP_SET,   /* matches a character in ranges [first, first + count) */
    KL__OP_SPLIT, /* continues at both x and y */
    KL__OP_JUMP,  /* continues at x */
    KL__OP_BEGIN, /* at the start of the text, or with `line`, of a line */
    KL__OP_END,   /* at the end of it */
    KL__OP_EDGE,  /* at a word boundary; `negated`: not at one */
    KL__OP_MATCH
} kl__pattern_op;

typedef struct kl__pattern_step {
    kl__pattern_op op;
    bool negated;
    bool line;
    int x;
    int y;
    size_t first;
    size_t count;
} kl__pattern_step;

typedef struct kl__pattern_range {
    uint32_t low;
    uint32_t high;
} kl__pattern_range;

typedef struct kl__pattern {
    kl__pattern_step *steps;
    size_t step_count;
    size_t step_capacity;
    kl__pattern_range *ranges;
    size_t range_count;
    size_t range_capacity;
} kl__pattern;

/* Compiles a text to `pattern`. The caller calls kl__pattern_deinit, also after
 * an error. `why` (may be NULL) gets the message of KL__PATTERN_INVALID. */
kl__pattern_result kl__pattern_compile(kl__pattern *pattern, const char *text,
                                       kl__buf *why);
void kl__pattern_deinit(kl__pattern *pattern);

/* The character at `text`; *length gets its length in bytes. A byte that is not
 * UTF-8 counts as a character that is in no class. */
uint32_t kl__pattern_rune(const char *text, size_t *length);

#endif
