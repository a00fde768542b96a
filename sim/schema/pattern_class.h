/*
 * pattern_class.h - the parser's state of a regular expression, and its classes
 * of characters. pattern.c uses both.
 */
#ifndef KL_SCHEMA_PATTERN_CLASS_H
#define KL_SCHEMA_PATTERN_CLASS_H

#include "sim/schema/pattern.h"

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

/* Ends the parsing: "error parsing regexp: WHAT: `TEXT`". */
void kl__pattern_refuse(kl__pattern_source *self, const char *what,
                        const char *text, size_t length);

/* Adds a range of characters; ignoring case, also in the other case. */
void kl__pattern_add(kl__pattern_source *self, uint32_t low, uint32_t high);

/* Reads "\d" and similar; false: there is none. */
bool kl__pattern_class(kl__pattern_source *self, bool *negated);
/* Reads an escaped character, such as "\x41" or "\."; false: an error. */
bool kl__pattern_escape(kl__pattern_source *self, uint32_t *rune);
/* Reads "[a-z]"; false: an error. */
bool kl__pattern_bracket(kl__pattern_source *self, bool *negated);

#endif
