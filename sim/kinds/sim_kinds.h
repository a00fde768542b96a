/*
 * sim_kinds.h - what the simulator knows of a kind: its names, its scope, and
 * how it behaves. Built-in ones come from a table, others from CRD objects.
 */
#ifndef KL_SIM_KINDS_H
#define KL_SIM_KINDS_H

#include "kubelua/error.h"
#include "kubelua/value.h"
#include "sim/schema/schema.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    KL__SIM_NAMESPACED = 1 << 0,
    KL__SIM_STATUS = 1 << 1,     /* has the subresource status */
    KL__SIM_GENERATION = 1 << 2, /* counts changes of the spec */
    KL__SIM_RETURNED = 1 << 3,   /* a delete answers with the object */
    KL__SIM_OWN_FIELDS = 1 << 4, /* how an unknown field selector is refused */
    KL__SIM_NO_COLLECTION = 1 << 5, /* cannot be deleted by collection */
    KL__SIM_CUSTOM = 1 << 6,        /* made by a CRD */
    KL__SIM_VIRTUAL = 1 << 7, /* answered when it is created, never kept */
    KL__SIM_ENDING = 1 << 8   /* whose CRD is being deleted: nothing new */
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

/* What can be asked of one object of a built-in kind beside itself and its
 * status: "pods/eviction". */
typedef struct kl__sim_subresource {
    const char *group;
    const char *plural;
    const char *name;     /* NULL: the end of the table */
    const char *of_group; /* the kind that it speaks; "", "": the resource's */
    const char *of_version;
    const char *of_kind;
    const char *verbs; /* separated by commas */
} kl__sim_subresource;

/* Those of a kind follow each other, by name. */
extern const kl__sim_subresource kl__sim_subresources[];

/* A field that objects can be selected by, beyond name and namespace. */
typedef struct kl__sim_field {
    char *name;   /* "spec.nodeName" */
    char *absent; /* what an object without it is taken to have */
    kl_path *path;
} kl__sim_field;

/* What a table shows of a custom resource, beside its name. */
typedef struct kl__sim_column {
    char *name;
    char *type;
    char *format;
    char *description;
    char *path; /* a JSON path */
    int priority;
} kl__sim_column;

/* A served version of a kind. What follows `has_status` is of custom kinds; the
 * values are borrowed from the kind's definition, and NULL where not given. */
typedef struct kl__sim_version {
    char *name;
    bool has_status;
    bool has_rules;         /* x-kubernetes-validations: not evaluated here */
    bool differs;           /* its schema, from that of what is stored */
    char *warning;          /* that it is deprecated; NULL: it is not */
    const kl_value *source; /* openAPIV3Schema */
    kl__sim_column *columns;
    size_t column_count;
    const kl_value *scale; /* subresources.scale */
    kl__schema *schema;
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
    kl_doc *definition;     /* the CRD; NULL: a built-in kind */
    kl__sim_version stored; /* of a custom kind: that of `storage` */
} kl__sim_kind;

/* One reference for the caller; NULL when out of memory. */
kl__sim_kind *kl__sim_kind_builtin(const kl__sim_builtin *row);

/* A kind out of a CustomResourceDefinition that was found valid; keeps a
 * reference of it. One reference for the caller; NULL when out of memory. */
kl__sim_kind *kl__sim_kind_custom(kl_doc *definition);

/* Kubernetes' order of versions, the preferred one first: below 0 where the
 * left one is. */
int kl__sim_compare_versions(const char *left, const char *right);

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

/* Whether a resource is that built-in one. */
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
