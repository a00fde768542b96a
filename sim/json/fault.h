/*
 * fault.h - what is wrong with a text that is no JSON, in the words of Go's
 * encoding/json: kube-apiserver answers them, and controllers' tests look for
 * them.
 */
#ifndef KL_JSON_FAULT_H
#define KL_JSON_FAULT_H

#include <stddef.h>

/* Room for any of the messages. */
enum { KL__JSON_FAULT_SIZE = 96 };

/* "invalid character 'x' looking for beginning of value"; `out`, which has
 * KL__JSON_FAULT_SIZE bytes. NULL: Go takes the text. */
const char *kl__json_fault(const char *json, size_t length, char *out);

#endif
