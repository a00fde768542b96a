/*
 * typed.h - objects walked by the schema of their kind: which fields they have,
 * how two differ, one merged into another, fields taken out. The rules are
 * those of structured merges: maps and structs are merged by name, lists that
 * are sets or maps by element, all else as a whole. A NULL schema, of what is
 * not known, takes maps as granular and lists as atomic.
 */
#ifndef KL_PATCH_TYPED_H
#define KL_PATCH_TYPED_H

#include "base/map.h"
#include "sim/patch/field_set.h"
#include "sim/schema/schema.h"

/* One walk; zeroed but for `edit`, where all is made. kl__typed_deinit it. */
typedef struct kl__typed {
    kl__edit *edit;
    kl__buf name;
    kl__node *empty; /* {} and null, made by kl__typed_compare */
    kl__node *null;
} kl__typed;

void kl__typed_deinit(kl__typed *typed);

typedef enum kl__shape {
    KL__SHAPE_LEAF, /* scalars, and what is atomic */
    KL__SHAPE_MAP,  /* members by name */
    KL__SHAPE_LIST  /* elements by value or by keys */
} kl__shape;

/* How a value of a schema is merged. */
kl__shape kl__shape_of(const kl__schema *schema, const kl__node *value);
/* The schema of a member or element, or NULL; whether it is a known field of a
 * struct. */
const kl__schema *kl__schema_below(const kl__schema *schema, const char *name,
                                   size_t length, bool *is_field);
/* "f:name" in typed->name. False: no memory. */
bool kl__typed_name(kl__typed *typed, const char *name, size_t length);

/* The elements of a list by their names; those without one are left out. */
typedef struct kl__element {
    const char *name; /* lives as the document */
    size_t length;
    kl__node *value;
    size_t first; /* index of the first of this name */
    size_t times; /* of the first one: how many of the name there are */
} kl__element;

typedef struct kl__elements {
    kl__element *items;
    size_t count;
    kl__map by_name; /* index + 1 of the first */
} kl__elements;

/* False: no memory; it is to be deinited all the same. */
bool kl__elements_init(kl__elements *elements, kl__typed *typed,
                       const kl__schema *schema, const kl__node *list);
void kl__elements_deinit(kl__elements *elements);
/* The first of a name, or NULL. */
const kl__element *kl__elements_find(const kl__elements *elements,
                                     const char *name, size_t length);

/* The fields of an object. NULL: no memory. */
kl__node *kl__typed_fields(kl__edit *edit, const kl__schema *schema,
                           const kl__node *object);

/* What differs between two objects; `old` may be NULL. */
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

/* Takes fields out of an object, with all below them, in place. */
bool kl__typed_remove(kl__edit *edit, const kl__schema *schema,
                      kl__node *object, const kl__node *fields);

/* Makes each known field of a struct that has fields below it one of the set
 * itself. */
bool kl__typed_mark(kl__edit *edit, const kl__schema *schema, kl__node *fields);

/* Whether a configuration can be applied: types, fields, keys, duplicates.
 * KL_EINVAL: the message says what is wrong in the words of structured merges;
 * KL_ENOMEM. */
kl_code kl__typed_check(kl__edit *edit, const kl__schema *schema,
                        const kl__node *config, kl_error *err);

#endif
