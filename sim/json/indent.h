/*
 * indent.h - JSON for people: a line for each member and element.
 */
#ifndef KL_JSON_INDENT_H
#define KL_JSON_INDENT_H

#include "base/buf.h"

#include <stddef.h>

/* Appends a JSON text of no white space, indented by two blanks a level. Out of
 * memory sticks in `out`. */
void kl__indent(kl__buf *out, const char *json, size_t length);

#endif
