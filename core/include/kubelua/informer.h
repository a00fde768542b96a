/*
 * informer.h - a shared informer: one reflector and one indexed cache for all
 * who ask for the same resource, scope and selectors on one client.
 */
#ifndef KUBELUA_INFORMER_H
#define KUBELUA_INFORMER_H

#include "kubelua/client.h"
#include "kubelua/error.h"
#include "kubelua/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* After a fork(), the child's copy is of no use: calls fail with KL_EFORKED, or
 * say that there is nothing; kl_informer_close leaves it as it is. Objects that
 * were read before can still be read. */
typedef struct kl_informer kl_informer;

/* Zeroed fields are the defaults. Strings are copied. */
typedef struct kl_informer_options {
    const char *resource;    /* as lenient as kubectl; required */
    const char *name_space;  /* NULL or "*": all namespaces */
    const char *labels;      /* label selector, applied by the server */
    const char *fields;      /* field selector, applied by the server */
    int64_t resync_ms;       /* default of its handlers; 0: none */
    int64_t idle_timeout_ms; /* the watch is made again after so long without
                                a byte, or up to a tenth longer; 0: 90 s;
                                < 0: never */
    int page_size; /* of a paged list; 0: 500 (client-go's), and none for a
                      relist, which servers then answer from their cache,
                      unless that took them more than 30 s */
    bool keep_managed_fields;
    bool metadata_only;     /* the server sends apiVersion, kind and metadata of
                               each object, and nothing else of it is kept: see
                               kl_object_is_metadata_only */
    bool no_streaming_list; /* paged lists from the start, and always */
    bool namespace_if_any;  /* `name_space` is a default: a kind that has no
                               namespaces is watched as a whole, and is not
                               refused */
} kl_informer_options;

/*
 * Joins the shared informer of that resource, scope and selectors, or starts
 * it; page size, idle timeout and streaming are then those of the first. Does
 * not wait for the network and does not fail for what may come later. The
 * handle is the caller's: kl_informer_close. NULL: KL_EINVAL (no resource, a
 * selector that does not parse, what cannot be a namespace, a namespace for a
 * built-in kind that has none; of another kind, the informer's error tells),
 * KL_ENOMEM, KL_EIO, KL_ECLOSED. Thread-safe.
 */
KL_API kl_informer *kl_informer_open(kl_client *client,
                                     const kl_informer_options *options,
                                     kl_error *err);

/*
 * Gives the handle back, with the registrations that were made through it; the
 * last handle stops the threads and waits for them, unless it is closed on one
 * of them (inside a handler), which marks and leaves: handlers that run then
 * may go on reading until they return, and the last of them stops the threads.
 * Takes at most 50 ms plus the handler that is running. NULL is fine.
 * Thread-safe.
 */
KL_API void kl_informer_close(kl_informer *informer);

/* KL_OK; KL_EFORKED with a message where it was opened before a fork(), and
 * this is the child. Thread-safe. */
KL_API kl_code kl_informer_check(const kl_informer *informer, kl_error *err);

/* Whether the cache holds the first list. Thread-safe. */
KL_API bool kl_informer_has_synced(const kl_informer *informer);

/* Blocks until has_synced. KL_ETIMEOUT with the reason why not yet, KL_ECLOSED
 * when the client, or on another thread this handle, is closed meanwhile.
 * timeout_ms < 0: for ever. Thread-safe. */
KL_API kl_code kl_informer_wait_synced(kl_informer *informer,
                                       int64_t timeout_ms, kl_error *err);

/* The object of that key ("web/shop-1"), with a reference for the caller, or
 * NULL. Thread-safe. */
KL_API kl_object *kl_informer_get(const kl_informer *informer, const char *key);

/* Objects with a reference each, owned by whoever clears the list. */
typedef struct kl_object_list {
    kl_object **items;
    size_t count;
} kl_object_list;

/* Drops the references, frees the array, zeroes the list. */
KL_API void kl_object_list_clear(kl_object_list *list);

/* Fills `list` with a consistent snapshot, sorted by key: all objects, or those
 * of a namespace (NULL: all) that the selector (NULL: all) matches. KL_EINVAL:
 * what cannot be a namespace; KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_informer_list(const kl_informer *informer,
                                const char *name_space,
                                const kl_selector *labels, kl_object_list *list,
                                kl_error *err);

/* Fills `list` with what index `index` holds under `value`, sorted by key.
 * KL_ENOT_FOUND names the indexes that there are; KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_informer_by_index(const kl_informer *informer,
                                    const char *index, const char *value,
                                    kl_object_list *list, kl_error *err);

typedef struct kl_string_list {
    char **items;
    size_t count;
} kl_string_list;

/* Frees the strings and the array, zeroes the list. */
KL_API void kl_string_list_clear(kl_string_list *list);

/* The distinct values of an index, sorted. Errors as above. Thread-safe. */
KL_API kl_code kl_informer_index_values(const kl_informer *informer,
                                        const char *index, kl_string_list *list,
                                        kl_error *err);

/* How many objects the cache holds. Thread-safe. */
KL_API size_t kl_informer_count(const kl_informer *informer);

/* The version that the cache reflects, bookmarks included; "" before the first
 * list. Copied into `buffer` (cut at `size`). Thread-safe. */
KL_API void kl_informer_resource_version(const kl_informer *informer,
                                         char *buffer, size_t size);

/* The same, but behind the handlers: every event up to this version is in their
 * queues, or they were told of it. While events are put into the queues, this
 * takes as long as that. Thread-safe. */
KL_API void kl_informer_told_version(const kl_informer *informer, char *buffer,
                                     size_t size);

/* Collects the values of one object. Valid during the index function only. */
typedef struct kl_index_sink kl_index_sink;

/* Adds one value; duplicates are harmless. KL_ENOMEM; KL_EINVAL for a value
 * with a NUL byte, which nobody could ask for. */
KL_API kl_code kl_index_emit(kl_index_sink *sink, const char *value,
                             size_t length);

/* Computes the values of `object`, parsed as `root`; runs on the informer's
 * threads, without a lock held. An error leaves the object out of the index and
 * is logged. */
typedef kl_code (*kl_index_fn)(void *context, const kl_object *object,
                               const kl_value *root, kl_index_sink *sink);

/*
 * Adds an index by path (strings, numbers and booleans are its values) or by
 * function, before or after the cache is filled. `drop_context` (may be NULL)
 * runs once nothing calls `fn` any more. KL_EINVAL (the path; one outside of
 * the metadata of an informer that has nothing else), KL_ECONFLICT (a
 * name that is taken by another path or function; the same path is KL_OK),
 * KL_ECLOSED, KL_ENOMEM; then `drop_context` is not called. Thread-safe.
 */
KL_API kl_code kl_informer_add_path_index(kl_informer *informer,
                                          const char *name, const char *path,
                                          kl_error *err);
KL_API kl_code kl_informer_add_index(kl_informer *informer, const char *name,
                                     kl_index_fn fn, void *context,
                                     void (*drop_context)(void *context),
                                     kl_error *err);

/* What a reflector is at. */
typedef enum kl_informer_state {
    KL_STATE_RESOLVING, /* asks discovery for the resource */
    KL_STATE_LISTING,   /* a paged list */
    KL_STATE_STREAMING, /* a streaming list, before its end bookmark */
    KL_STATE_WATCHING,
    KL_STATE_BACKOFF, /* waits before the next try; `error` says why */
    KL_STATE_STOPPED
} kl_informer_state;

typedef struct kl_informer_status {
    kl_informer_state state;
    bool has_synced;
    int64_t last_message_age_ms; /* since the last byte; -1: none ever */
    int64_t retry_in_ms;         /* in KL_STATE_BACKOFF; else 0 */
    uint64_t lists;              /* complete lists, streamed or paged */
    uint64_t lists_held;         /* of these, such as the cache has held */
    uint64_t watches;            /* watches that were established */
    uint64_t events;             /* watch events, bookmarks included */
    uint64_t failures;           /* attempts that failed */
    size_t objects;
    size_t queued;     /* deltas that wait for the informer thread */
    kl_error error;    /* of the last failure, cleared by health */
    char plugin[256];  /* the exec credential plugin that it waits for (its
                          command, cut to fit); "": none */
    int64_t plugin_ms; /* for how long that has been running; else 0 */
} kl_informer_status;

/* A snapshot of how the informer is. Thread-safe. */
KL_API void kl_informer_status_get(const kl_informer *informer,
                                   kl_informer_status *status);

/* The state's name ("watching"), static. */
KL_API const char *kl_informer_state_name(kl_informer_state state);

#ifdef __cplusplus
}
#endif
#endif
