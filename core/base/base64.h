/*
 * base64.h - RFC 4648 base64, strict, and as kubeconfig and YAML hold it.
 */
#ifndef KL_BASE_BASE64_H
#define KL_BASE_BASE64_H

#include "base/for_sim.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends what `text` decodes to; line breaks are skipped, as Go does. False:
 * not base64 (look at out->failed for out of memory). */
KL__FOR_SIM bool kl__base64_decode(kl__buf *out, const char *text,
                                   size_t length);

/* The position of the first byte at which a text stops being base64, as Go
 * tells it; -1: it is base64. */
KL__FOR_SIM long kl__base64_wrong(const char *text, size_t length);

/* Appends the bytes in base64, without line breaks. */
KL__FOR_SIM void kl__base64_encode(kl__buf *out, const void *bytes,
                                   size_t length);

/* The same in base64url without padding (RFC 7515, appendix C). */
KL__FOR_SIM void kl__base64url_encode(kl__buf *out, const void *bytes,
                                      size_t length);

#endif
