/*
 * fault.h - the error message for a text that is not JSON, in the words of Go's
 * encoding/json: kube-apiserver answers with these words, and tests of
 * controllers look for them.
 */
#ifndef KL_JSON_FAULT_H
#define KL_JSON_FAULT_H

#include <stddef.h>

/* The size of a buffer that holds any of the messages. */
enum { KL__JSON_FAULT_SIZE = 96 };

/* "invalid character 'x' looking for beginning of value": returns `out`, which
 * has KL__JSON_FAULT_SIZE bytes. NULL: Go accepts the text. */
const char *kl__json_fault(const char *json, size_t length, char *out);

#endif
