/*
 * schema_normal.h - what becomes of an object that kube-apiserver decodes into
 * Go's structs, completes and encodes again. Pure functions.
 */
#ifndef KL_SCHEMA_SCHEMA_NORMAL_H
#define KL_SCHEMA_SCHEMA_NORMAL_H

#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* Makes an object that was checked (schema_check.h) what decoding and encoding
 * make of it: unknown members go, of duplicate ones all but the last; what is
 * empty goes where Go leaves it out and comes where it does not
 * ("resources": {}); quantities, times and bytes are in canonical form. The
 * same again changes nothing. False: out of memory. */
bool kl__schema_normalize(kl__edit *edit, kl__node *object,
                          const kl__schema *schema);

/* The same but for lists that are always written: one with nothing in it is no
 * null yet, as kube-apiserver tells the two apart until it stores the object.
 */
bool kl__schema_decode(kl__edit *edit, kl__node *object,
                       const kl__schema *schema);

/* Gives a normalized object of a kind what is absent in it: constants of the
 * table, then what hangs on other fields (schema_default_*.c). It is to be
 * normalized again. False: out of memory. */
bool kl__schema_complete(kl__edit *edit, kl__node *object,
                         const kl__schema *schema);

#endif
