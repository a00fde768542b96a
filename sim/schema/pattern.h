/*
 * pattern.h - regular expressions in Go's syntax (RE2), asked for one thing:
 * whether a text matches somewhere. Time is in proportion to pattern times
 * text. Unicode classes (\pL) are not known, nor case folding beyond ASCII.
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
    KL__PATTERN_INVALID, /* no regular expression */
    KL__PATTERN_UNKNOWN, /* one that is not understood here */
    KL__PATTERN_ENOMEM
} kl__pattern_result;

/* Whether the pattern matches in the text. */
kl__pattern_result kl__pattern_match(const char *pattern, const char *text);

/* KL__PATTERN_FITS: a regular expression. KL__PATTERN_INVALID: `why` gets
 * "error parsing regexp: ...". */
kl__pattern_result kl__pattern_check(const char *pattern, kl__buf *why);

/* --- For its two files: a program of a machine that is in many states at once.
 * Jumps are relative, so that a piece can be copied. ----------------------- */

typedef enum kl__pattern_op {
    KL__OP_SET,   /* one character out of ranges [first, first + count) */
    KL__OP_SPLIT, /* goes on at both x and y */
    KL__OP_JUMP,  /* goes on at x */
    KL__OP_BEGIN, /* of the text; with `line`, of a line */
    KL__OP_END,
    KL__OP_EDGE, /* of a word; `negated`: none */
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

/* Compiles; the pattern is to be freed whatever the result. */
kl__pattern_result kl__pattern_compile(kl__pattern *pattern, const char *text,
                                       kl__buf *why);
void kl__pattern_deinit(kl__pattern *pattern);

/* The character at `text`, and its length in bytes; a stray byte counts as one
 * that no class has. */
uint32_t kl__pattern_rune(const char *text, size_t *length);

#endif
