/*
 * convert.h - for built-in kinds that are served in several groups: converts
 * the tree of an object from the stored version to another one and back, as
 * kube-apiserver does.
 */
#ifndef KL_SCHEMA_CONVERT_H
#define KL_SCHEMA_CONVERT_H

#include "sim/core/json/edit.h"

/* Converts a normalized object; apiVersion stays. False: out of memory. */
typedef bool (*kl__convert_fn)(kl__edit *edit, kl__node *object);

typedef struct kl__conversion {
    const char *group;
    const char *kind;
    const char *version;        /* the version that is not stored */
    const char *stored_group;   /* the group in which objects are stored */
    kl__convert_fn from_stored; /* to the other version; and back */
    kl__convert_fn to_stored;
    /* For field selectors: the stored name of a field. NULL: all names are the
     * same. */
    const char *(*label)(const char *name);
} kl__conversion;

/* The conversions of a kind, static; NULL: there are none. A `group` or
 * `version` that is NULL matches any. */
const kl__conversion *kl__convert_find(const char *group, const char *kind,
                                       const char *version);

#endif
