/*
 * field_name.h - the elements of a path in a set of fields (FieldsV1): how they
 * are written, sorted, and shown in messages.
 */
#ifndef KL_PATCH_FIELD_NAME_H
#define KL_PATCH_FIELD_NAME_H

#include "base/buf.h"
#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

/* Compares by bytes, the order in which managedFields are stored; "." comes
 * first. <0, 0, >0. */
int kl__field_compare(const char *a, size_t a_length, const char *b,
                      size_t b_length);

/* Replaces a name by its canonical form, which lives as long as the document.
 * KL_EPARSE: malformed; KL_ENOMEM. */
kl_code kl__field_canonical(kl__edit *edit, const char **name, size_t *length,
                            kl_error *err);

/* Appends the name (v:, k:) of an element of a list that is a set or a map.
 * False: it has none; `why` (may be NULL) explains. */
bool kl__field_of_element(kl__buf *out, const kl__schema *list,
                          const kl__node *element, char *why, size_t size);

#endif
