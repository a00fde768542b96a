/*
 * pattern_syntax.h - a regular expression in Go's syntax is read, which refuses
 * what Go refuses, and written in PCRE2's at the same time.
 */
#ifndef KL_SCHEMA_PATTERN_SYNTAX_H
#define KL_SCHEMA_PATTERN_SYNTAX_H

#include "sim/core/schema/pattern.h"

/* Appends `pattern` to `to` as PCRE2 writes it; it has the same meaning there
 * with PCRE2_UTF and PCRE2_ALT_CIRCUMFLEX. KL__PATTERN_INVALID: `why` (may be
 * NULL) gets the reason. */
kl__pattern_result kl__pattern_translate(const char *pattern, kl__buf *to,
                                         kl__buf *why);

/* Appends "error parsing regexp: WHAT: `TEXT`" to `why`, unless it is NULL. */
void kl__pattern_refuse(kl__buf *why, const char *what, const char *text,
                        size_t length);

#endif
