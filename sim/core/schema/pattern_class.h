/*
 * pattern_class.h - for pattern.c: the state of the parser of regular
 * expressions, and the parser of classes of characters.
 */
#ifndef KL_SCHEMA_PATTERN_CLASS_H
#define KL_SCHEMA_PATTERN_CLASS_H

#include "sim/core/schema/pattern.h"

enum {
    KL__PATTERN_FOLD = 1 << 0,   /* (?i) */
    KL__PATTERN_LINES = 1 << 1,  /* (?m) */
    KL__PATTERN_DOT_ALL = 1 << 2 /* (?s) */
};

typedef struct kl__pattern_source {
    kl__pattern *to;
    const char *whole;
    const char *at;
    unsigned flags;
    int depth;
    kl__pattern_result result; /* the first error */
    kl__buf *why;              /* may be NULL */
} kl__pattern_source;

/* Ends the parsing with "error parsing regexp: WHAT: `TEXT`". */
void kl__pattern_refuse(kl__pattern_source *self, const char *what,
                        const char *text, size_t length);

/* Adds a range of characters. With KL__PATTERN_FOLD, adds the same letters in
 * the other case too. */
void kl__pattern_add(kl__pattern_source *self, uint32_t low, uint32_t high);

/* Reads a class such as "\d"; false: there is none here. */
bool kl__pattern_class(kl__pattern_source *self, bool *negated);
/* Reads an escaped character, such as "\x41" or "\."; false: an error. */
bool kl__pattern_escape(kl__pattern_source *self, uint32_t *rune);
/* Reads "[a-z]"; false: an error. */
bool kl__pattern_bracket(kl__pattern_source *self, bool *negated);

#endif
