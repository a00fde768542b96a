/*
 * schema.h - what the fields of a kind are: types, list kinds, merge keys,
 * defaults. Built-in kinds' come from a table that was read off a real API
 * server, a custom resource's from its definition; who checks, defaults, prunes
 * or merges an object does not see which.
 */
#ifndef KL_SCHEMA_SCHEMA_H
#define KL_SCHEMA_SCHEMA_H

#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum kl__schema_type {
    KL__SCHEMA_ANY,    /* anything: RawExtension, JSON, no type given; with
                        * `items` (itself): what Go makes maps and lists of */
    KL__SCHEMA_OBJECT, /* a struct: its fields are known */
    KL__SCHEMA_MAP,    /* any names, values of one schema: `items` */
    KL__SCHEMA_ARRAY,  /* elements of one schema: `items` */
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
    KL__FORMAT_QUANTITY,  /* resource.Quantity: also reads numbers */
    KL__FORMAT_DURATION   /* metav1.Duration: "1h5m" */
} kl__schema_format;

/* x-kubernetes-list-type, and -map-type: granular is NONE there. */
typedef enum kl__schema_list {
    KL__LIST_NONE, /* not given: atomic for arrays, granular for maps */
    KL__LIST_ATOMIC,
    KL__LIST_SET,
    KL__LIST_MAP
} kl__schema_list;

enum { /* x-kubernetes-patch-strategy, and other claims */
       KL__SCHEMA_MERGE = 1 << 0,
       KL__SCHEMA_RETAIN_KEYS = 1 << 1,
       KL__SCHEMA_NULLABLE = 1 << 2,
       KL__SCHEMA_PRESERVE = 1 << 3, /* x-kubernetes-preserve-unknown-fields */
       KL__SCHEMA_EMBEDDED = 1 << 4, /* x-kubernetes-embedded-resource */
       KL__SCHEMA_CUSTOM = 1 << 5,   /* of a custom resource */
       /* What Go's structs make of a member: */
       KL__SCHEMA_POINTER = 1 << 6,    /* null and absent are the same */
       KL__SCHEMA_OMIT_EMPTY = 1 << 7, /* left out when empty, "", 0, false */
       KL__SCHEMA_OMIT_ZERO = 1 << 8,  /* left out when all in it is zero */
       /* An array that is a message of its own in protobuf, its elements in
        * field 1 (ExtraValue). */
       KL__SCHEMA_WRAPPED = 1 << 9,
       /* One of two things, in JSON as it is, in protobuf a message that has a
        * field for either: a schema, or schemas, a boolean, names. */
       KL__SCHEMA_OR_ARRAY = 1 << 10,
       KL__SCHEMA_OR_BOOL = 1 << 11,
       KL__SCHEMA_OR_NAMES = 1 << 12
};

typedef struct kl__schema kl__schema;

/* A field of an OBJECT. What one reference to a type says beyond the type
 * itself (list type, strategy, default) is in the field's own schema. */
typedef struct kl__schema_field {
    const char *name;
    const kl__schema *schema;
    bool required;
    int number;         /* of protobuf; 0: none. See kl__schema_step */
    const char *within; /* the inlined struct it is in: "VolumeSource", NULL */
} kl__schema_field;

/* A struct that Go inlines (VolumeSource in Volume) is a message of its own in
 * protobuf: then a field's number is a path, whose last digit, to this base, is
 * the number in that message, and whose first ones are the path to it. */
enum { KL__SCHEMA_BASE = 1024 };

/* The next message or field on the way from the message of a path to the field
 * of another: what is left of `path` one digit below `within` (0: the struct's
 * own message). 0: the field is not in it. */
static inline int kl__schema_step(int path, int within)
{
    while (path != 0 && path / KL__SCHEMA_BASE != within) {
        path /= KL__SCHEMA_BASE;
    }
    return path;
}

/* The keywords of a structural schema that constrain a value; all values
 * borrowed from the definition, NULL where not given. */
typedef struct kl__schema_rules {
    const kl_value *source; /* the schema itself: enum, minimum, pattern, ... */
} kl__schema_rules;

/* Immutable while it lives. Where it does not apply, a pointer is NULL. */
struct kl__schema {
    const char *name; /* "io.k8s.api.core.v1.PodSpec"; NULL: none of its own */
    const char *go; /* in messages: "v1.PodSpec", "int32"; NULL: of its items */
    kl__schema_type type;
    kl__schema_format format;
    kl__schema_list list;
    unsigned flags;
    const kl__schema_field *fields; /* OBJECT: sorted by name */
    size_t field_count;
    /* Of fields that have numbers, which is the next in the order of protobuf;
     * NULL of a custom one's. */
    const unsigned char *numbered;
    size_t numbered_count;
    const kl__schema *items;       /* ARRAY, MAP */
    const char *const *map_keys;   /* list MAP: names, the last NULL */
    const char *merge_key;         /* of a strategic merge; NULL: none */
    const kl_value *initial;       /* the default; NULL: none */
    const kl__schema_rules *rules; /* NULL: none */
};

/* The field of that name of an OBJECT, or NULL. */
const kl__schema_field *kl__schema_get(const kl__schema *schema,
                                       const char *name, size_t length);

/* The schema of a built-in kind as one group and version serve it ("apps",
 * "v1", "Deployment"); also of what is no resource ("", "v1", "DeleteOptions").
 * Shared by threads; lives until the last kl__schema_release (for ever, if
 * there is none). NULL: there is none, or KL_ENOMEM. Read from the table when
 * it is asked for first. */
const kl__schema *kl__schema_builtin(const char *group, const char *version,
                                     const char *kind, kl_error *err);

/* The same of a type, by name ("io.k8s.api.core.v1.PodSpec"). */
const kl__schema *kl__schema_type_named(const char *name, kl_error *err);

/* The name of the type at `index` of the table, from 0; NULL beyond the end. */
const char *kl__schema_name_at(size_t index);

/* Keeps the built-in schemas that were read; the last release frees them. */
void kl__schema_hold(void);
void kl__schema_release(void);

/* The schema of metadata of every object (metav1.ObjectMeta). */
const kl__schema *kl__schema_metadata(kl_error *err);

/* The schema that a CustomResourceDefinition's openAPIV3Schema says (NULL: any
 * fields), with apiVersion, kind and metadata; `value` is borrowed while it
 * lives. The caller owns it: kl__schema_free. NULL: KL_ENOMEM. */
kl__schema *kl__schema_custom(const kl_value *value, kl_error *err);
void kl__schema_free(kl__schema *schema); /* of a custom one; NULL is fine */

#endif
