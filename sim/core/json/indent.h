/*
 * indent.h - JSON with a line for each member and element, for people to read
 * (?pretty).
 */
#ifndef KL_JSON_INDENT_H
#define KL_JSON_INDENT_H

#include "base/buf.h"

#include <stddef.h>

/* Appends a compact JSON text, indented by two blanks for each level. When
 * memory runs out, `out` keeps the failure. */
void kl__indent(kl__buf *out, const char *json, size_t length);

#endif
