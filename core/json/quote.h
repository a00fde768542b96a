/*
 * quote.h - writes text as a JSON string, and checks that text is UTF-8.
 */
#ifndef KL_JSON_QUOTE_H
#define KL_JSON_QUOTE_H

#include "base/for_sim.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* True if the bytes are UTF-8 (RFC 3629): no surrogates, no overlong forms. */
KL__FOR_SIM bool kl__utf8_is_valid(const char *text, size_t length);

/* Appends the text in quotes, escaped; it must be UTF-8. */
KL__FOR_SIM void kl__quote(kl__buf *out, const char *text, size_t length);

#endif
