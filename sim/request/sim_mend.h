/*
 * sim_mend.h - JSON that Go reads and RFC 8259 does not allow.
 */
#ifndef KL_SIM_MEND_H
#define KL_SIM_MEND_H

#include "base/buf.h"

/* As encoding/json: a byte that is no UTF-8, and an escape of half a surrogate
 * pair, become U+FFFD. Appends the text so mended; false: it had neither (or
 * there is no memory: out->failed). */
bool kl__sim_mend(const char *json, size_t length, kl__buf *out);

#endif
