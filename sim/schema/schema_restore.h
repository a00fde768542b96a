/*
 * schema_restore.h - errors of values that are not decoded from JSON: a
 * strategic merge patch makes a map, which Go converts to a struct, with
 * messages of its own.
 */
#ifndef KL_SCHEMA_SCHEMA_RESTORE_H
#define KL_SCHEMA_SCHEMA_RESTORE_H

#include "base/buf.h"
#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* True if the conversion accepts a value whose JSON type differs: 1.0 is an
 * integer there. */
bool kl__restore_fits(const kl__node *value, const kl__schema *schema);

/* Appends "cannot restore slice from map", for a value of the wrong type. */
void kl__restore_put_fault(kl__buf *out, const kl__node *value,
                           const kl__schema *schema);

#endif
