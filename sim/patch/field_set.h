/*
 * field_set.h - sets of fields, as managedFields keep them: a tree in the form
 * FieldsV1. Each member is one element of a path: f:name, k:{"name":"a"} (by
 * merge keys), v:"x" (by value), i:0; below it are the elements that follow.
 * What has a member "." below it, or nothing, is in the set itself.
 *
 * An empty set is an empty object; no element in a set is without a field.
 * Elements are sorted, "." first, and their names canonical: kl__fields_adopt
 * makes a set of a client so.
 */
#ifndef KL_PATCH_FIELD_SET_H
#define KL_PATCH_FIELD_SET_H

#include "base/buf.h"
#include "sim/json/edit.h"

/* Whether an element, a member of a set or of another element, is in it. */
bool kl__fields_has(const kl__node *element);

/* Makes a set of a client canonical. KL_EPARSE: it is none; KL_ENOMEM. */
kl_code kl__fields_adopt(kl__edit *edit, kl__node *set, kl_error *err);

/* Begins an element, below which others may be put in any order. NULL: no
 * memory. */
kl__node *kl__fields_begin(kl__edit *edit, bool is_member);
/* Puts it into an element or set, if there is a field in it. False: no memory,
 * or it is NULL. */
bool kl__fields_end(kl__edit *edit, kl__node *parent, const char *name,
                    size_t length, kl__node *element);
/* Sorts the elements right below; kl__fields_end does so for what it ends. */
bool kl__fields_sort(kl__edit *edit, kl__node *set);

/* Takes the fields of another set out of one; with what is below them where it
 * is `deep`. */
void kl__fields_subtract(kl__node *set, const kl__node *other, bool deep);
/* Adds the fields of another set. False: no memory. */
bool kl__fields_unite(kl__edit *edit, kl__node *set, const kl__node *other);
/* The fields of both. NULL: no memory. */
kl__node *kl__fields_intersect(kl__edit *edit, const kl__node *a,
                               const kl__node *b);
/* Makes an element a field of its own, besides what is below it. */
bool kl__fields_mark(kl__edit *edit, kl__node *element);

/* Appends an element of a path in words: `.spec`, `[name="a"]`. */
void kl__fields_text(kl__buf *out, const char *name, size_t length);

#endif
