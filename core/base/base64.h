/*
 * base64.h - base64 of RFC 4648, strict. Kubeconfig files and Secrets hold
 * certificates, keys and tokens in it.
 */
#ifndef KL_BASE_BASE64_H
#define KL_BASE_BASE64_H

#include "base/for_sim.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the decoded bytes of `text`; skips line breaks, as Go's
 * encoding/base64 does. False: not base64, or out of memory (out->failed). */
KL__FOR_SIM bool kl__base64_decode(kl__buf *out, const char *text,
                                   size_t length);

/* The position of the first byte that is not valid base64, the number that Go's
 * CorruptInputError reports; -1: the whole text is base64. */
KL__FOR_SIM long kl__base64_wrong(const char *text, size_t length);

/* Appends the bytes in base64, without line breaks. */
KL__FOR_SIM void kl__base64_encode(kl__buf *out, const void *bytes,
                                   size_t length);

/* The same in base64url without padding (RFC 7515, appendix C). */
KL__FOR_SIM void kl__base64url_encode(kl__buf *out, const void *bytes,
                                      size_t length);

#endif
