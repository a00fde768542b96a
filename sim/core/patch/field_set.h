/*
 * field_set.h - the elements of a path in a set of fields (FieldsV1): how they
 * are written, sorted, and shown in messages; and sets of fields, as
 * managedFields store them.
 *
 * A set is a tree. Each member is one element of a path: f:name, k:{"name":"a"}
 * (by merge keys), v:"x" (by value), i:0 (by index); its own members are the
 * elements that follow in a path. A path is in the set if its last element has
 * a member "." or no members. The empty set is an empty object. Elements are
 * sorted ("." first), and their names are canonical; kl__fields_adopt brings a
 * client's set into this form.
 */
#ifndef KL_PATCH_FIELD_SET_H
#define KL_PATCH_FIELD_SET_H

#include "base/buf.h"
#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

/* Appends the name (v:, k:) of an element of a list that is a set or a map.
 * False: it has none; `why` (may be NULL) explains. */
bool kl__field_of_element(kl__buf *out, const kl__schema *list,
                          const kl__node *element, char *why, size_t size);

/* ---- sets ---- */

/* True if the path that ends at this element is in the set. */
bool kl__fields_has(const kl__node *element);

/* Makes a client's set canonical. KL_EPARSE: malformed; KL_ENOMEM. */
kl_code kl__fields_adopt(kl__edit *edit, kl__node *set, kl_error *err);

/* Begins an element; others may be put below it in any order. `is_member`: the
 * path of the element itself is in the set. NULL: out of memory. */
kl__node *kl__fields_begin(kl__edit *edit, bool is_member);
/* Sorts what is below the element, and appends the element to its parent; drops
 * it if neither it nor anything below it is in the set. False: out of memory,
 * or `element` is NULL. */
bool kl__fields_end(kl__edit *edit, kl__node *parent, const char *name,
                    size_t length, kl__node *element);
/* Sorts the elements directly below `set`, as kl__fields_end does. */
bool kl__fields_sort(kl__edit *edit, kl__node *set);

/* Removes the fields of `other` from `set`; `deep`: also all fields below
 * them. */
void kl__fields_subtract(kl__node *set, const kl__node *other, bool deep);
/* Adds the fields of another set. False: out of memory. */
bool kl__fields_unite(kl__edit *edit, kl__node *set, const kl__node *other);
/* The fields that are in both sets. NULL: out of memory. */
kl__node *kl__fields_intersect(kl__edit *edit, const kl__node *a,
                               const kl__node *b);
/* Adds the path of the element itself to the set; the paths below it stay.
 * False: out of memory. */
bool kl__fields_mark(kl__edit *edit, kl__node *element);

/* Appends an element of a path in words: `.spec`, `[name="a"]`. */
void kl__fields_text(kl__buf *out, const char *name, size_t length);

#endif
