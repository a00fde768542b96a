/*
 * schema.h - the schema of a kind: types, list types, merge keys and defaults
 * of its fields. The schemas of built-in kinds come from a table that was read
 * from a real API server; the schema of a custom resource comes from its
 * definition. Code that checks, defaults, prunes or merges objects does not
 * distinguish them.
 */
#ifndef KL_SCHEMA_SCHEMA_H
#define KL_SCHEMA_SCHEMA_H

#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum kl__schema_type {
    /* any value: RawExtension, JSON, no type. `items` is NULL, or the schema
     * itself if Go decodes the value into maps and lists. */
    KL__SCHEMA_ANY,
    KL__SCHEMA_OBJECT, /* a struct with known fields */
    KL__SCHEMA_MAP,    /* any names; values have the schema `items` */
    KL__SCHEMA_ARRAY,  /* elements have the schema `items` */
    KL__SCHEMA_STRING,
    KL__SCHEMA_INTEGER,
    KL__SCHEMA_NUMBER,
    KL__SCHEMA_BOOLEAN,
    KL__SCHEMA_INT_OR_STRING
} kl__schema_type;

typedef enum kl__schema_format {
    KL__FORMAT_NONE,
    KL__FORMAT_INT32,
    KL__FORMAT_INT64,
    KL__FORMAT_BYTE,      /* base64 */
    KL__FORMAT_TIME,      /* RFC 3339, seconds: metav1.Time */
    KL__FORMAT_MICROTIME, /* with microseconds: metav1.MicroTime */
    KL__FORMAT_QUANTITY,  /* resource.Quantity; a JSON number is valid too */
    KL__FORMAT_DURATION   /* metav1.Duration: "1h5m" */
} kl__schema_format;

/* x-kubernetes-list-type and x-kubernetes-map-type. */
typedef enum kl__schema_list {
    KL__LIST_NONE, /* not set: atomic for arrays, granular for maps */
    KL__LIST_ATOMIC,
    KL__LIST_SET,
    KL__LIST_MAP
} kl__schema_list;

enum { /* x-kubernetes-patch-strategy, and other marks */
       KL__SCHEMA_MERGE = 1 << 0,
       KL__SCHEMA_RETAIN_KEYS = 1 << 1,
       KL__SCHEMA_NULLABLE = 1 << 2,
       KL__SCHEMA_PRESERVE = 1 << 3, /* x-kubernetes-preserve-unknown-fields */
       KL__SCHEMA_EMBEDDED = 1 << 4, /* x-kubernetes-embedded-resource */
       KL__SCHEMA_CUSTOM = 1 << 5,   /* part of a custom resource */
       /* How Go's structs write a member: */
       KL__SCHEMA_POINTER = 1 << 6,    /* null and absent are the same */
       KL__SCHEMA_OMIT_EMPTY = 1 << 7, /* left out if empty, "", 0 or false */
       /* left out if everything in it is zero */
       KL__SCHEMA_OMIT_ZERO = 1 << 8,
       /* An array that is a message of its own in protobuf, with the elements
        * in field 1 (ExtraValue). */
       KL__SCHEMA_WRAPPED = 1 << 9,
       /* A value that is a schema; or a list of schemas, a boolean, or a list
        * of names. In protobuf, a message with a field for each of the two. */
       KL__SCHEMA_OR_ARRAY = 1 << 10,
       KL__SCHEMA_OR_BOOL = 1 << 11,
       KL__SCHEMA_OR_NAMES = 1 << 12
};

typedef struct kl__schema kl__schema;

/* A field of an OBJECT. Its schema has the members of the field's type, and
 * what only this field has: list type, strategy, default. */
typedef struct kl__schema_field {
    const char *name;
    const kl__schema *schema;
    bool required;
    int number; /* in protobuf; 0: none. See KL__SCHEMA_BASE */
    /* the struct that Go inlines and that has the field: "VolumeSource"; or
     * NULL */
    const char *within;
} kl__schema_field;

/* A struct that Go inlines (VolumeSource in Volume) is a separate message in
 * protobuf. The number of a field in it is then a path, written as the digits
 * of a number with this base: the last digit is the field's number in its
 * message, and the digits before it lead to that message. */
enum { KL__SCHEMA_BASE = 1024 };

/* The first step from the message at path `within` (0: that of the outer
 * struct) to the field at `path`: a path with one digit more than `within`. 0:
 * the field is not inside that message. */
static inline int kl__schema_step(int path, int within)
{
    while (path != 0 && path / KL__SCHEMA_BASE != within) {
        path /= KL__SCHEMA_BASE;
    }
    return path;
}

/* The keywords of a structural schema that limit a value. */
typedef struct kl__schema_rules {
    /* the schema in the definition, borrowed: enum, minimum, pattern, ... */
    const kl_value *source;
} kl__schema_rules;

/* Immutable. Pointers that do not apply to its type are NULL. */
struct kl__schema {
    const char *name; /* "io.k8s.api.core.v1.PodSpec"; NULL: no name */
    /* Go's name of the type, for messages: "v1.PodSpec", "int32"; NULL: the
     * name is made from that of `items` */
    const char *go;
    kl__schema_type type;
    kl__schema_format format;
    kl__schema_list list;
    unsigned flags;
    const kl__schema_field *fields; /* OBJECT: sorted by name */
    size_t field_count;
    const kl__schema *items;       /* ARRAY, MAP */
    const char *const *map_keys;   /* list MAP: names, the last NULL */
    const char *merge_key;         /* for strategic merges; NULL: none */
    const kl_value *initial;       /* the default value; NULL: none */
    const kl__schema_rules *rules; /* NULL: none */
};

/* The field of that name of an OBJECT, or NULL. */
const kl__schema_field *kl__schema_get(const kl__schema *schema,
                                       const char *name, size_t length);

/* The schema of a built-in kind in a group and version ("apps", "v1",
 * "Deployment"), or of a type that is no resource ("", "v1", "DeleteOptions").
 * It is read from the table at first use, shared by all threads, and freed by
 * the last kl__schema_release. NULL: KL_EUNKNOWN_KIND, KL_ENOMEM.
 * Thread-safe. */
const kl__schema *kl__schema_builtin(const char *group, const char *version,
                                     const char *kind, kl_error *err);

/* The schema of a type, by name ("io.k8s.api.core.v1.PodSpec"). */
const kl__schema *kl__schema_type_named(const char *name, kl_error *err);

/* The name of the type in row `index` of the table, from 0; NULL after the
 * end. */
const char *kl__schema_name_at(size_t index);

/* Each hold keeps the built-in schemas until its release. The last release
 * frees them; without a hold they are never freed. Thread-safe. */
void kl__schema_hold(void);
void kl__schema_release(void);

/* The schema of every object's metadata (metav1.ObjectMeta). */
const kl__schema *kl__schema_metadata(kl_error *err);

/* Makes the schema of a custom resource from openAPIV3Schema (NULL: any fields)
 * and adds apiVersion, kind and metadata. The schema borrows `value` until
 * kl__schema_free, which the caller calls. NULL: KL_ENOMEM. */
kl__schema *kl__schema_custom(const kl_value *value, kl_error *err);
/* Frees the schema of a custom resource; NULL is fine. */
void kl__schema_free(kl__schema *schema);

#endif
