/*
 * object.h - a Kubernetes object: immutable, reference-counted JSON text, with
 * its name, namespace, UID and versions read once. The cache, event queues and
 * handlers share one copy.
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

/* Zeroed fields are the defaults. */
typedef struct kl_object_options {
    const char *kind;         /* for a text without kind and apiVersion, as */
    const char *api_version;  /* items of lists of built-in kinds are       */
    bool keep_managed_fields; /* else metadata.managedFields is removed     */
    bool metadata_only; /* keep only apiVersion, kind and metadata; the kind of
                           a PartialObjectMetadata becomes `kind` */
    bool is_pruned; /* parts of the text were removed: kl_object_is_pruned */
} kl_object_options;

/*
 * Makes an object of a JSON text. The object has a copy, without white space
 * and managedFields, and otherwise byte for byte the same; but if a name is
 * twice among the outermost members or in the metadata, only the members that
 * count (kubelua/cursor.h), at any depth. `options` may be NULL. One reference
 * for the caller. NULL: KL_EPARSE (not JSON, not UTF-8, nested too deep, no
 * metadata.name, a slash in it, or a wrong type), KL_ETOO_LARGE (over 2 GB, or
 * over 64 KB of name, namespace, UID, version and kind together), KL_ENOMEM.
 * Thread-safe.
 */
KL_API kl_object *kl_object_parse(const char *json, size_t length,
                                  const kl_object_options *options,
                                  kl_error *err);

/* Adds a reference; returns `object`. Thread-safe. */
KL_API kl_object *kl_object_ref(const kl_object *object);

/* Drops a reference; the last drop frees the object. A thread needs a reference
 * to read the object while another thread drops one. NULL is fine. Thread-safe.
 */
KL_API void kl_object_unref(kl_object *object);

/*
 * Fields of the object, borrowed, never NULL; "" if the object has no such
 * field. The key is "namespace/name", or "name" for a cluster-scoped object.
 */
KL_API const char *kl_object_key(const kl_object *object);
KL_API const char *kl_object_name(const kl_object *object);
KL_API const char *kl_object_namespace(const kl_object *object);
KL_API const char *kl_object_uid(const kl_object *object);
KL_API const char *kl_object_resource_version(const kl_object *object);
KL_API const char *kl_object_kind(const kl_object *object);
KL_API const char *kl_object_api_version(const kl_object *object);

/* True if it was made with metadata_only: then it has no spec, although the
 * object in the cluster may have one. Thread-safe. */
KL_API bool kl_object_is_metadata_only(const kl_object *object);

/* True if an informer's `drop` or `keep` has removed parts of it, so that it
 * must not be written back as a whole. Thread-safe. */
KL_API bool kl_object_is_pruned(const kl_object *object);

/*
 * The object's JSON text, NUL terminated: all of it, also members below the
 * head that do not count (kl_object_json_distinct). A cache may keep its
 * objects compressed; this call unpacks the text. The text is borrowed until
 * each call has been followed by a kl_object_close_json, or until the last
 * unref. `length` may be NULL. NULL: KL_ENOMEM. Thread-safe.
 */
KL_API const char *kl_object_json(const kl_object *object, size_t *length,
                                  kl_error *err);

/* Ends the use of the text of one successful kl_object_json. Thread-safe. */
KL_API void kl_object_close_json(const kl_object *object);

/*
 * Copies that text, which is open, without the members that do not count
 * (kubelua/cursor.h). The caller frees *copy with kl_free; NULL: there are
 * none, so the text is its own copy. That is remembered: a later call takes no
 * time. KL_ENOMEM. Thread-safe.
 */
KL_API kl_code kl_object_json_distinct(const kl_object *object,
                                       const char *json, char **copy,
                                       size_t *length, kl_error *err);

/* The length of that text in bytes, whether it is unpacked or not. */
KL_API size_t kl_object_json_length(const kl_object *object);

/*
 * Parses the text into a tree of values and returns its root, which is valid
 * until the matching kl_object_close. Callers share one tree; opens nest, and
 * need a reference to the object. NULL: KL_ENOMEM. Thread-safe.
 */
KL_API const kl_value *kl_object_open(kl_object *object, kl_error *err);

/* Undoes one kl_object_open; the last kl_object_close frees the tree.
 * Thread-safe. */
KL_API void kl_object_close(kl_object *object);

/* The memory that the object takes, in bytes, without an open tree and without
 * a text that was unpacked. */
KL_API size_t kl_object_bytes(const kl_object *object);

/*
 * Compares two resourceVersions as decimal integers of any length, which
 * KEP-5504 allows: <0, 0, >0. If one is not a number: 0 if the texts are equal,
 * else INT_MIN. Thread-safe.
 */
KL_API int kl_version_compare(const char *a, const char *b);

/* A label selector: "app=shop,tier!=db,env in (a,b),!gone". */
typedef struct kl_selector kl_selector;

/* Compiles a selector, in the grammar of an API server's ?labelSelector=; a
 * text of NULL or "" selects everything. The caller owns it. NULL: KL_EINVAL
 * with the position, KL_ENOMEM. Thread-safe. */
KL_API kl_selector *kl_selector_parse(const char *text, kl_error *err);
/* Frees a selector; NULL is fine. No other call on it may run then, or come
 * later; calls that were given it and have returned need it no more. */
KL_API void kl_selector_free(kl_selector *selector);
/* True if it selects everything. Thread-safe. */
KL_API bool kl_selector_is_empty(const kl_selector *selector);
/* True if an object with these metadata.labels (NULL: none) is selected.
 * Thread-safe. */
KL_API bool kl_selector_matches(const kl_selector *selector,
                                const kl_value *labels);

/* Objects, with a reference to each; the caller clears the list. */
typedef struct kl_object_list {
    kl_object **items;
    size_t count;
} kl_object_list;

/* Drops the references, frees the array, zeroes the list. */
KL_API void kl_object_list_clear(kl_object_list *list);

typedef struct kl_string_list {
    char **items;
    size_t count;
} kl_string_list;

/* Frees the strings and the array, zeroes the list. */
KL_API void kl_string_list_clear(kl_string_list *list);

/* Collects the index values of one object, while its index function runs. */
typedef struct kl_index_sink kl_index_sink;

/* Adds one value; duplicates are harmless. KL_ENOMEM; KL_EINVAL for a value
 * with a NUL byte, as kl_informer_by_index could not name it. */
KL_API kl_code kl_index_emit(kl_index_sink *sink, const char *value,
                             size_t length);

/* Emits the index values of `object`, parsed as `root`. Runs on one of the
 * informer's threads at a time, and for the objects in the cache on the thread
 * that calls kl_informer_add_index; no lock is held. It may call this library;
 * kl_informer_close too, of this handle or another. If it fails, the object is
 * left out of the index, and the error is logged. */
typedef kl_code (*kl_index_fn)(void *context, const kl_object *object,
                               const kl_value *root, kl_index_sink *sink);

#ifdef __cplusplus
}
#endif
#endif
