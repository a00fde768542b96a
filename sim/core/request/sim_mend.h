/*
 * sim_mend.h - repairs JSON texts that Go accepts although RFC 8259 does not.
 */
#ifndef KL_SIM_MEND_H
#define KL_SIM_MEND_H

#include "base/buf.h"

/* Appends the repaired text to `out`. As in Go's encoding/json, a byte that is
 * not UTF-8 becomes U+FFFD, and so does an escaped half of a surrogate pair.
 * False: the text needs no repair, or out of memory (out->failed). */
bool kl__sim_mend(const char *json, size_t length, kl__buf *out);

#endif
