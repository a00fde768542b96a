/*
 * typed.h - walks through objects by the schema of their kind: finds their
 * fields, compares two objects, merges one into another, removes fields. The
 * rules are those of sigs.k8s.io/structured-merge-diff: maps and structs are
 * merged by name, lists of type set or map by element, everything else as a
 * whole. A NULL schema (unknown) merges maps by name and replaces lists.
 */
#ifndef KL_PATCH_TYPED_H
#define KL_PATCH_TYPED_H

#include "base/map.h"
#include "sim/core/patch/field_set.h"
#include "sim/core/schema/schema.h"

/* One walk. The caller sets `edit`, which makes all nodes, and zeroes the rest.
 * kl__typed_deinit frees it. */
typedef struct kl__typed {
    kl__edit *edit;
    kl__buf name;
    kl__node *empty; /* {} and null, made for kl__typed_compare */
    kl__node *null;
} kl__typed;

void kl__typed_deinit(kl__typed *typed);

typedef enum kl__shape {
    KL__SHAPE_LEAF, /* scalars and atomic values */
    KL__SHAPE_MAP,  /* merged by names of members */
    KL__SHAPE_LIST  /* merged by values or keys of elements */
} kl__shape;

/* How a value of a schema is merged. */
kl__shape kl__shape_of(const kl__schema *schema, const kl__node *value);
/* The schema of a member or element, or NULL; *is_field: it is a known field of
 * a struct. */
const kl__schema *kl__schema_below(const kl__schema *schema, const char *name,
                                   size_t length, bool *is_field);
/* Writes "f:name" to typed->name. False: out of memory. */
bool kl__typed_name(kl__typed *typed, const char *name, size_t length);

/* The elements of a list by name; elements without a name are left out. */
typedef struct kl__element {
    const char *name; /* lives as long as the document */
    size_t length;
    kl__node *value;
    size_t first; /* index of the first element of this name */
    size_t times; /* how many have this name; set in the first */
} kl__element;

typedef struct kl__elements {
    kl__element *items;
    size_t count;
    kl__map by_name; /* index of the first of a name, + 1 */
} kl__elements;

/* False: out of memory. The caller deinits `elements` also then. */
bool kl__elements_init(kl__elements *elements, kl__typed *typed,
                       const kl__schema *schema, const kl__node *list);
void kl__elements_deinit(kl__elements *elements);
/* The first element of a name, or NULL. */
const kl__element *kl__elements_find(const kl__elements *elements,
                                     const char *name, size_t length);

/* The fields of an object. NULL: out of memory. */
kl__node *kl__typed_fields(kl__edit *edit, const kl__schema *schema,
                           const kl__node *object);

/* How two objects differ; `old` may be NULL. */
typedef struct kl__difference {
    kl__node *changed; /* added or changed */
    kl__node *removed;
} kl__difference;

bool kl__typed_compare(kl__edit *edit, const kl__schema *schema,
                       const kl__node *old, const kl__node *new,
                       kl__difference *difference);

/* Merges a configuration into an object of the same document, in place. */
bool kl__typed_merge(kl__edit *edit, const kl__schema *schema, kl__node *object,
                     const kl__node *config);

/* Removes fields from an object, with all below them, in place. */
bool kl__typed_remove(kl__edit *edit, const kl__schema *schema,
                      kl__node *object, const kl__node *fields);

/* Adds to a set each known struct field that has fields below it. */
bool kl__typed_mark(kl__edit *edit, const kl__schema *schema, kl__node *fields);

/* Checks that a configuration can be applied: types, fields, keys, duplicates.
 * KL_EINVAL: the message uses the words of structured-merge-diff; KL_ENOMEM. */
kl_code kl__typed_check(kl__edit *edit, const kl__schema *schema,
                        const kl__node *config, kl_error *err);

#endif
