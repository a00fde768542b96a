/*
 * schema_normal.h - changes the tree of an object as kube-apiserver does when
 * it decodes the object into Go's structs, sets defaults, and encodes it again.
 */
#ifndef KL_SCHEMA_SCHEMA_NORMAL_H
#define KL_SCHEMA_SCHEMA_NORMAL_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

/* Decodes and encodes an object that was checked (schema_check.h). Removes
 * unknown members. Removes empty values that Go does not write, and adds those
 * that it writes ("resources": {}). Makes
 * quantities, times and bytes canonical. A second call changes nothing. False:
 * out of memory. */
bool kl__schema_normalize(kl__edit *edit, kl__node *object,
                          const kl__schema *schema);

/* The same, but an empty list that Go always writes does not become null:
 * kube-apiserver distinguishes the two until it stores the object. */
bool kl__schema_decode(kl__edit *edit, kl__node *object,
                       const kl__schema *schema);

/* Sets the defaults of a normalized object: those of its kind, the constants of
 * the table, and those that depend on other fields (schema_default_*.c). The
 * caller normalizes it again later. False: out of memory. */
bool kl__schema_complete(kl__edit *edit, kl__node *object,
                         const kl__schema *schema);

#endif
