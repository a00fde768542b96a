/*
 * url.h - percent-encoding and decoding, and the query of a URL.
 */
#ifndef KL_HTTP_URL_H
#define KL_HTTP_URL_H

#include "base/for_sim.h"
#include "base/buf.h"

#include <stddef.h>

/* Appends `text`; all bytes but RFC 3986's unreserved ones are
 * percent-encoded. */
KL__FOR_SIM void kl__url_encode(kl__buf *out, const char *text);

/* Appends "?name=value", or "&name=value" if `out` has a '?' already. Appends
 * nothing if the value is NULL. */
void kl__url_query(kl__buf *out, const char *name, const char *value);

/* Decodes %XX in place ('+' stays as it is); returns the new length. */
KL__FOR_SIM size_t kl__url_decode(char *text);

/* Writes a URL for a message: with "***" for a user and password in it, cut to
 * `size`. Works on what is no URL too. */
void kl__url_show(char *out, size_t size, const char *url);

#endif
