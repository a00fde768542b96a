/*
 * schema_restore.h - what is wrong with a value that is not decoded from JSON:
 * a strategic merge patch makes a map of an object, which Go then converts, and
 * has other words for.
 */
#ifndef KL_SCHEMA_SCHEMA_RESTORE_H
#define KL_SCHEMA_SCHEMA_RESTORE_H

#include "base/buf.h"
#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* Whether the conversion takes a value that is of another type in JSON: 1.0 is
 * an integer there. */
bool kl__restore_fits(const kl__node *value, const kl__schema *schema);

/* "cannot restore slice from map"; what does not fit is of another type. */
void kl__restore_put_fault(kl__buf *out, const kl__node *value,
                           const kl__schema *schema);

#endif
