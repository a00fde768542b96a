/*
 * sim_kinds.h - a kind of objects: its names, its scope and its traits.
 * Built-in kinds come from a table (sim_kinds_table.c), custom kinds are made
 * from CustomResourceDefinitions (CRDs).
 */
#ifndef KL_SIM_KINDS_H
#define KL_SIM_KINDS_H

#include "kubelua/error.h"
#include "kubelua/value.h"
#include "sim/core/schema/schema.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    KL__SIM_NAMESPACED = 1 << 0,
    KL__SIM_STATUS = 1 << 1, /* has the subresource /status */
    /* metadata.generation counts changes of the spec */
    KL__SIM_GENERATION = 1 << 2,
    /* a delete answers with the object, not a Status */
    KL__SIM_RETURNED = 1 << 3,
    /* has its own message for unknown field selectors */
    KL__SIM_OWN_FIELDS = 1 << 4,
    KL__SIM_NO_COLLECTION = 1 << 5, /* has no deletecollection */
    KL__SIM_CUSTOM = 1 << 6,        /* made of a CRD */
    KL__SIM_VIRTUAL = 1 << 7, /* a create is answered, but nothing is stored */
    /* its CRD is being deleted: creates are refused */
    KL__SIM_ENDING = 1 << 8
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
    const char *fields; /* for field selectors: name[@path][:value if absent] */
    unsigned flags;
} kl__sim_builtin;

extern const kl__sim_builtin kl__sim_builtins[];

/* A subresource of a built-in kind, other than status: "pods/eviction". */
typedef struct kl__sim_subresource {
    const char *group;
    const char *plural;
    const char *name; /* NULL: the end of the table */
    /* the kind of the body; group and version "": those of the resource */
    const char *of_group;
    const char *of_version;
    const char *of_kind;
    const char *verbs; /* separated by commas */
} kl__sim_subresource;

/* Sorted by kind, then by name. */
extern const kl__sim_subresource kl__sim_subresources[];

/* A field for field selectors, besides metadata.name and namespace. */
typedef struct kl__sim_field {
    char *name;   /* "spec.nodeName" */
    char *absent; /* the value of objects without it */
    kl_path *path;
} kl__sim_field;

/* A column of a custom resource in a table, besides its name. */
typedef struct kl__sim_column {
    char *name;
    char *type;
    char *format;
    char *description;
    char *path; /* a JSON path */
    int priority;
} kl__sim_column;

/* A served version of a kind. The members after `has_status` are for custom
 * kinds; each kl_value is borrowed from the kind's definition; NULL: the
 * definition has none. */
typedef struct kl__sim_version {
    char *name;
    bool has_status;
    bool has_rules;         /* x-kubernetes-validations (CEL): not evaluated */
    bool differs;           /* its schema is not the storage version's */
    char *warning;          /* deprecation warning; NULL: not deprecated */
    const kl_value *source; /* openAPIV3Schema */
    kl__sim_column *columns;
    size_t column_count;
    const kl_value *scale; /* subresources.scale */
    kl__schema *schema;
} kl__sim_version;

/* A kind. It never changes (a changed CRD makes a new kind), and references are
 * counted. No string is NULL; NULL ends each list of strings. */
typedef struct kl__sim_kind {
    atomic_int refs; /* acquire-release: the last unref frees */
    unsigned flags;
    char *group;
    char *plural;
    char *singular;
    char *kind;
    char *list_kind;
    char *qualified; /* for messages: "foos.example.com", "configmaps" */
    char *storage;   /* the version in which objects are stored */
    char **short_names;
    char **categories;
    kl__sim_version *versions; /* served versions, the preferred one first */
    size_t version_count;
    kl__sim_field *fields;
    size_t field_count;
    kl_doc *definition;     /* the CRD; NULL for a built-in kind */
    kl__sim_version stored; /* of a custom kind: the version of `storage` */
} kl__sim_kind;

/* One reference for the caller; NULL when out of memory. */
kl__sim_kind *kl__sim_kind_builtin(const kl__sim_builtin *row);

/* Makes a kind from a valid CustomResourceDefinition, and keeps a reference to
 * it. One reference for the caller; NULL when out of memory. */
kl__sim_kind *kl__sim_kind_custom(kl_doc *definition);

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

/* True for the kind CustomResourceDefinition itself. */
static inline bool kl__sim_is_crd(const kl__sim_kind *kind)
{
    return (kind->flags & KL__SIM_CUSTOM) == 0 &&
           strcmp(kind->plural, "customresourcedefinitions") == 0;
}

static inline bool kl__sim_is_namespace(const kl__sim_kind *kind)
{
    return *kind->group == '\0' && strcmp(kind->plural, "namespaces") == 0;
}

#endif
