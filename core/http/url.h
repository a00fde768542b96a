/*
 * url.h - percent-encoding, and queries out of names and values.
 */
#ifndef KL_HTTP_URL_H
#define KL_HTTP_URL_H

#include "base/for_sim.h"
#include "base/buf.h"

#include <stddef.h>

/* Appends `text` with everything but RFC 3986's unreserved encoded. */
KL__FOR_SIM void kl__url_encode(kl__buf *out, const char *text);

/* Appends "?name=value" or "&name=value" (whether `out` has a '?' decides).
 * A NULL value appends nothing. */
void kl__url_query(kl__buf *out, const char *name, const char *value);

/* Decodes %XX in place ('+' stays as it is); the new length. */
KL__FOR_SIM size_t kl__url_decode(char *text);

#endif
