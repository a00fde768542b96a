/*
 * schema_restore.h - errors of values after a strategic merge patch. Such an
 * object is not decoded from JSON: Go converts a map to a struct, and this
 * conversion has its own messages.
 */
#ifndef KL_SCHEMA_SCHEMA_RESTORE_H
#define KL_SCHEMA_SCHEMA_RESTORE_H

#include "base/buf.h"
#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

/* True if the conversion accepts a value for an integer: 1.0 is one there, and
 * no range is checked. */
bool kl__restore_fits(const kl__node *value, const kl__schema *schema);

/* Appends the message for a value of the wrong type, such as "cannot restore
 * slice from map". */
void kl__restore_put_fault(kl__buf *out, const kl__node *value,
                           const kl__schema *schema);

#endif
