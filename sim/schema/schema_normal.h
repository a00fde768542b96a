/*
 * schema_normal.h - what happens to an object that kube-apiserver decodes into
 * Go's structs, defaults and encodes again. Functions of trees.
 */
#ifndef KL_SCHEMA_SCHEMA_NORMAL_H
#define KL_SCHEMA_SCHEMA_NORMAL_H

#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* Decodes and encodes an object that was checked (schema_check.h): unknown
 * members are removed, and all but the last of repeated ones; empty values go
 * where Go leaves them out and come where it does not ("resources": {});
 * quantities, times and bytes become canonical. A second call changes nothing.
 * False: out of memory. */
bool kl__schema_normalize(kl__edit *edit, kl__node *object,
                          const kl__schema *schema);

/* The same, except that an empty list that is always written does not become
 * null: kube-apiserver distinguishes the two until it stores the object. */
bool kl__schema_decode(kl__edit *edit, kl__node *object,
                       const kl__schema *schema);

/* Sets the defaults of a normalized object of a kind: constants of the table,
 * then those that depend on other fields (schema_default_*.c). Normalize it
 * again afterwards. False: out of memory. */
bool kl__schema_complete(kl__edit *edit, kl__node *object,
                         const kl__schema *schema);

#endif
