/*
 * sim_kinds.h - what the simulator knows of a kind: its names, its scope, and
 * how it behaves. Built-in ones come from a table, others from CRD objects.
 */
#ifndef KL_SIM_KINDS_H
#define KL_SIM_KINDS_H

#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    KL__SIM_NAMESPACED = 1 << 0,
    KL__SIM_STATUS = 1 << 1,     /* has the subresource status */
    KL__SIM_GENERATION = 1 << 2, /* counts changes of the spec */
    KL__SIM_RETURNED = 1 << 3,   /* a delete answers with the object */
    KL__SIM_OWN_FIELDS = 1 << 4, /* how an unknown field selector is refused */
    KL__SIM_NO_COLLECTION = 1 << 5, /* cannot be deleted by collection */
    KL__SIM_CUSTOM = 1 << 6         /* made by a CRD */
};

/* A row of the table of built-in kinds; lists are separated by commas. */
typedef struct kl__sim_builtin {
    const char *group;
    const char *version;
    const char *plural;
    const char *singular;
    const char *kind; /* NULL: the end of the table */
    const char *short_names;
    const char *categories;
    const char *fields; /* to select by: name[@path][:value where absent] */
    unsigned flags;
} kl__sim_builtin;

extern const kl__sim_builtin kl__sim_builtins[];

/* A field that objects can be selected by, beyond name and namespace. */
typedef struct kl__sim_field {
    char *name;   /* "spec.nodeName" */
    char *absent; /* what an object without it is taken to have */
    kl_path *path;
} kl__sim_field;

/* A served version of a kind. */
typedef struct kl__sim_version {
    char *name;
    bool has_status;
} kl__sim_version;

/* Immutable once it is made, and reference-counted: a CRD that changes makes a
 * new one. No string is NULL; lists end with NULL. */
typedef struct kl__sim_kind {
    atomic_int refs; /* acquire-release: the last one frees */
    unsigned flags;
    char *group;
    char *plural;
    char *singular;
    char *kind;
    char *list_kind;
    char *qualified; /* "foos.example.com", "configmaps": in messages */
    char *storage;   /* the version that objects are kept in */
    char **short_names;
    char **categories;
    kl__sim_version *versions; /* served ones, the preferred one first */
    size_t version_count;
    kl__sim_field *fields;
    size_t field_count;
} kl__sim_kind;

/* One reference for the caller; NULL when out of memory. */
kl__sim_kind *kl__sim_kind_builtin(const kl__sim_builtin *row);

/* A kind out of a CustomResourceDefinition that was found valid. One reference
 * for the caller; NULL when out of memory. */
kl__sim_kind *kl__sim_kind_custom(const kl_value *definition);

kl__sim_kind *kl__sim_kind_ref(kl__sim_kind *kind);
void kl__sim_kind_unref(kl__sim_kind *kind); /* NULL is fine */

static inline bool kl__sim_kind_is(const kl__sim_kind *kind, unsigned flag)
{
    return (kind->flags & flag) != 0;
}

/* The served version of that name (`length` bytes), or NULL. */
const kl__sim_version *kl__sim_kind_version(const kl__sim_kind *kind,
                                            const char *name, size_t length);

/* The field of that name, or NULL. */
const kl__sim_field *kl__sim_kind_field(const kl__sim_kind *kind,
                                        const char *name);

#endif
