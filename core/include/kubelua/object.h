/*
 * object.h - a Kubernetes object: immutable, reference-counted JSON text with
 * its identity taken out once. Store, queue and handlers share one object.
 */
#ifndef KUBELUA_OBJECT_H
#define KUBELUA_OBJECT_H

#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_object kl_object;

/* How an object is made of bytes. Zeroed: the defaults. */
typedef struct kl_object_options {
    const char *kind;         /* put in where the text has none: items of */
    const char *api_version;  /* a built-in kind's list carry neither     */
    bool keep_managed_fields; /* else metadata.managedFields is cut out   */
    bool metadata_only; /* apiVersion, kind and metadata are kept, and all else
                           is dropped; the kind of a PartialObjectMetadata is
                           the one above */
} kl_object_options;

/*
 * Makes an object of one JSON object's text, which is copied (compact, without
 * managedFields); all else stays as it is spelled. `options` may be NULL. One
 * reference for the caller. NULL: KL_EPARSE (not JSON, not UTF-8, too deep; no
 * metadata.name, or one with a slash; wrong types, or a member of the identity
 * twice), KL_ETOO_LARGE (over 2 GB), KL_ENOMEM. Thread-safe.
 */
KL_API kl_object *kl_object_parse(const char *json, size_t length,
                                  const kl_object_options *options,
                                  kl_error *err);

/* One reference more; returns `object`. Thread-safe. */
KL_API kl_object *kl_object_ref(const kl_object *object);

/* One reference less; the last one frees it. NULL is fine. Thread-safe. */
KL_API void kl_object_unref(kl_object *object);

/*
 * Identity, borrowed from the object, never NULL; "" where the object has
 * none. The key is "namespace/name", or "name" for a cluster-scoped object.
 */
KL_API const char *kl_object_key(const kl_object *object);
KL_API const char *kl_object_name(const kl_object *object);
KL_API const char *kl_object_namespace(const kl_object *object);
KL_API const char *kl_object_uid(const kl_object *object);
KL_API const char *kl_object_resource_version(const kl_object *object);
KL_API const char *kl_object_kind(const kl_object *object);
KL_API const char *kl_object_api_version(const kl_object *object);

/* True if it was made with metadata_only: that it has no spec does not say that
 * the object in the cluster has none. Thread-safe. */
KL_API bool kl_object_is_metadata_only(const kl_object *object);

/*
 * The object's JSON text, NUL terminated. An object of a cache may rest
 * compressed: then it is unpacked, and stays so until as many calls of
 * kl_object_close_json as there were of this one, or the last unref. Borrowed
 * until then. `length` may be NULL. NULL: KL_ENOMEM. Thread-safe.
 */
KL_API const char *kl_object_json(const kl_object *object, size_t *length,
                                  kl_error *err);

/* The caller does not read the text of one successful kl_object_json any more.
 * Thread-safe. */
KL_API void kl_object_close_json(const kl_object *object);

/* Bytes of that text, unpacked or not. */
KL_API size_t kl_object_json_length(const kl_object *object);

/*
 * Parses the text, or shares the tree that somebody else holds open; the root
 * is borrowed until the matching kl_object_close. NULL: KL_ENOMEM.
 * Opens nest; an open object also needs a reference. Thread-safe.
 */
KL_API const kl_value *kl_object_open(kl_object *object, kl_error *err);

/* Ends one open; the last one frees the tree. Thread-safe. */
KL_API void kl_object_close(kl_object *object);

/* Bytes of memory that the object itself takes: without an open tree, or a text
 * that was unpacked. */
KL_API size_t kl_object_bytes(const kl_object *object);

/*
 * Compares two resourceVersions as decimal integers of any length (KEP-5504:
 * comparable): <0, 0, >0. Where one is no number: 0 if the same text, else
 * INT_MIN. Thread-safe.
 */
KL_API int kl_version_compare(const char *a, const char *b);

/* A label selector: "app=shop,tier!=db,env in (a,b),!gone". */
typedef struct kl_selector kl_selector;

/* Compiles a selector, in the grammar of an API server's ?labelSelector=; NULL
 * text or "" selects everything. The caller owns it. NULL: KL_EINVAL with the
 * position, KL_ENOMEM. Thread-safe. */
KL_API kl_selector *kl_selector_parse(const char *text, kl_error *err);
/* Frees a selector; NULL is fine. */
KL_API void kl_selector_free(kl_selector *selector);
/* Whether it selects everything. Thread-safe. */
KL_API bool kl_selector_is_empty(const kl_selector *selector);
/* Whether an object with that metadata.labels value (NULL: none) is selected.
 * Thread-safe. */
KL_API bool kl_selector_matches(const kl_selector *selector,
                                const kl_value *labels);

#ifdef __cplusplus
}
#endif
#endif
