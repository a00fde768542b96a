/*
 * informer.h - an informer: a local copy (the cache) of one collection of a
 * cluster, such as the pods of a namespace, kept up to date by LIST and WATCH
 * requests. handler.h delivers its changes as events.
 *
 * What a user can rely on:
 *
 * - Sharing. Handles of one client for the same resource, namespace, selectors
 *   and kept fields share one watch and one cache. All informers of a process
 *   share some threads; one that waits for its server has none.
 * - Start. kl_informer_open does not wait for the network. The cache is empty
 *   until the first list is complete (has_synced). From then on it always
 *   holds a complete state, however old: it is never emptied or half filled.
 * - Consistency. Reads take no network round trip. A read sees the cache before
 *   or after a change, never between; a relist is one change. The cache changes
 *   before handlers are told, so it may be newer than the event at hand, and is
 *   never older.
 * - Identity. An object is its key ("namespace/name") and its UID. A new UID
 *   under a known key is a delete and an add, never an update.
 * - Recovery. No failure ends an informer. It tries again after 0.8 to 1.6 s,
 *   then twice as long each time, up to 30 to 60 s, or as long as a Retry-After
 *   says (up to 300 s). A broken watch is resumed from the last version. A 410
 *   (that version has expired) causes a relist, of which handlers see the
 *   differences only. A 401 makes it read the credentials again. For a
 *   resource that the server does not know, it asks again every 5 to 10 s.
 *   Handlers (`error`), else the log, are told the reason, once for each new
 *   reason.
 * - Silence. A watch without a byte for 90 s is closed and resumed: a dead
 *   connection cannot go unnoticed.
 * - Threads. All calls are thread-safe, and may be made inside a callback (a
 *   handler or an index function), at any moment, also while the call that
 *   caused it has not returned. No lock is held while a callback runs. A
 *   callback must not wait for itself: kl_informer_wait_synced inside an index
 *   function of the same informer never ends by itself.
 * - References. A thread needs a reference (kl_informer_ref) to call while
 *   another thread may call kl_informer_close. A call that had begun
 *   before the close ends in good order also without one.
 * - Fork. The child of a fork() has no threads, so its copy of an informer
 *   cannot work: calls fail with KL_EFORKED or find nothing, and close does
 *   nothing. Objects that were read before stay readable.
 * - Stop. The last kl_informer_close stops the threads, in at most 50 ms plus
 *   the callbacks that are running. From the start of a close on, calls on the
 *   handle return KL_ECLOSED, those that are under way too. Calls without a
 * code (kl_informer_get, kl_informer_count ...) read the cache until the last
 *   handler of the handle has returned, and find nothing after that.
 *   kl_client_close ends the informer as well, but its cache stays readable
 *   until the handles are closed.
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

typedef struct kl_informer kl_informer;

/* What decides if an object is of a shard. Only a shard by UID is known to
 * servers; of the others all objects are sent, and dropped as they come,
 * except as KL_SHARD_BY_NAMESPACE says. */
typedef enum kl_shard_by {
    /* kl_shard_hash of the object's UID decides. */
    KL_SHARD_BY_UID,
    /* kl_shard_mixed_hash of the object's key decides. */
    KL_SHARD_BY_KEY,
    /* kl_shard_mixed_hash of the object's namespace decides; "" if it has none.
     * If an informer watches one namespace, and its shard does not have that
     * namespace, the cache is empty, and the informer sends no request until
     * the shard changes. */
    KL_SHARD_BY_NAMESPACE,
    /* An object is in the shard if one of its owners (ownerReferences) is:
     * kl_shard_hash of the owner's UID decides. */
    KL_SHARD_BY_OWNER_UID,
    /* The same by kl_shard_mixed_hash of the owner's key: the object's
     * namespace and the owner's name. */
    KL_SHARD_BY_OWNER_KEY,
    /* The same by kl_shard_mixed_hash of the owner's name, for owners of a kind
     * without namespaces. */
    KL_SHARD_BY_OWNER_NAME
} kl_shard_by;

/* Zeroed fields are the defaults. Strings are copied. */
typedef struct kl_informer_options {
    const char *resource;    /* "pods", "Pod", "po", "deployments.apps";
                                required */
    const char *name_space;  /* NULL or "*": all namespaces */
    const char *labels;      /* label selector, applied by the server */
    const char *fields;      /* field selector, applied by the server */
    const char *shard;       /* "0/4": the first of four shards, by the hash of
                                UIDs; or several, "0/4,3/4", at most 128 ranges;
                                a server from 1.36 on with KEP-5866 sends no
                                others, else they are dropped as they come.
                                NULL or "": all */
    kl_shard_by shard_by;    /* what `shard` is of */
    const char *ring;        /* a name of your choice: the shard can be changed
                                (kl_informer_set_shard). Handles with the same
                                ring share one watch, whatever their `shard`
                                is: the first one's counts. NULL or "": the
                                shard is fixed */
    int64_t resync_ms;       /* for handlers that set none; 0: no resync */
    int64_t idle_timeout_ms; /* a watch without an event or bookmark for this
                                long, or up to a tenth longer, is closed and
                                resumed; 0: 90 s; < 0: never */
    int page_size; /* objects in a page of a list; 0: 500, as in client-go, but
                      no pages for a relist that names a version: then the
                      server answers from its cache. If that takes over 30 s,
                      the next relist has pages */
    bool keep_managed_fields; /* else metadata.managedFields is removed */
    bool metadata_only;       /* only apiVersion, kind and metadata are sent and
                                 kept: see kl_object_is_metadata_only */
    int compress;             /* >= 0: objects are kept compressed, if they are
                                 many and get smaller by that; it takes a few
                                 microseconds when an object comes and when it
                                 is opened. < 0: never, for a cache that is read
                                 as a whole all the time */
    const char *const *drop;  /* NULL-terminated paths (kl_path_parse); their
                                 values are removed before an object is cached.
                                 A path that informers or controllers need, such
                                 as metadata.name, is refused, and so is an
                                 index other than [*]. NULL: none */
    const char *const *keep;  /* only values at these paths are kept, besides
                                 apiVersion, kind and metadata; NULL: all is
                                 kept */
    bool no_streaming_list;   /* use paged lists only */
    bool namespace_if_any;    /* a kind without namespaces is watched in the
                                 whole cluster; else KL_EINVAL if `name_space`
                                 is given */
    bool apart; /* shares no watch that is open, such as one whose indexes do
                   not fit; those that come later share this one */
} kl_informer_options;

/*
 * Checks options without a client and without the network: what is refused here
 * no server can serve. KL_EINVAL: no resource, a negative number, a selector or
 * path that does not parse, a path that cannot be dropped, or a wrong
 * namespace; KL_ENOMEM. Thread-safe.
 */
KL_API kl_code kl_informer_options_check(const kl_informer_options *options,
                                         kl_error *err);

/*
 * Opens a handle on the shared informer of these options. The first handle
 * starts that informer, and sets its page size, idle timeout, compression and
 * streaming. The caller gets a reference: kl_informer_close. NULL: KL_EINVAL
 * (no resource, a selector or path that does not parse, a path that cannot be
 * dropped, a wrong namespace, or a namespace for a built-in kind that has none;
 * for other kinds that is an error of the informer later), KL_ENOMEM, KL_EIO,
 * KL_ECLOSED. Thread-safe.
 */
KL_API kl_informer *kl_informer_open(kl_client *client,
                                     const kl_informer_options *options,
                                     kl_error *err);

/* Adds a reference; returns `informer`. A reference keeps the handle's memory,
 * not its threads or its cache: a close ends these. Thread-safe. */
KL_API kl_informer *kl_informer_ref(kl_informer *informer);

/* Drops a reference. If it is the last one and the handle is open, closes it,
 * as kl_informer_close does. NULL is fine. Thread-safe. */
KL_API void kl_informer_unref(kl_informer *informer);

/*
 * Closes the handle, removes the registrations that were made through it, and
 * drops a reference of the caller, such as that of kl_informer_open. It waits
 * for the handlers of the handle and for calls on it that are under way; the
 * last handle on a shared informer then stops the threads and waits for them.
 * Takes at most 50 ms plus the callbacks that are running. Inside a callback it
 * does not wait: the last callback or call that returns does the rest.
 *
 * May be called beside every other call on the handle, also another close, if
 * each thread has a reference: the first close ends the handle, a later one
 * waits for its end. NULL is fine. Thread-safe.
 */
KL_API void kl_informer_close(kl_informer *informer);

/* KL_OK; KL_ECLOSED once a close has begun; KL_EFORKED with a message if this
 * process is a child that was forked after the informer was opened.
 * Thread-safe. */
KL_API kl_code kl_informer_check(const kl_informer *informer, kl_error *err);

/* True once the cache holds the first list; it stays true until the handle is
 * closed. Thread-safe. */
KL_API bool kl_informer_has_synced(const kl_informer *informer);

/* Blocks until has_synced. KL_ETIMEOUT: the message says what the informer
 * waits for; KL_ECLOSED: another thread closed the client or this handle.
 * timeout_ms < 0: no timeout. Thread-safe. */
KL_API kl_code kl_informer_wait_synced(kl_informer *informer,
                                       int64_t timeout_ms, kl_error *err);

/* The object of that key ("web/shop-1"), with a reference for the caller, or
 * NULL. Thread-safe. */
KL_API kl_object *kl_informer_get(const kl_informer *informer, const char *key);

/* Fills `list` with a consistent snapshot, sorted by key: the objects of a
 * namespace (NULL or "*": all) that the selector (NULL: all) matches.
 * KL_EINVAL: a wrong namespace; KL_ECLOSED; KL_ENOMEM; then the list is empty.
 * Thread-safe. */
KL_API kl_code kl_informer_list(const kl_informer *informer,
                                const char *name_space,
                                const kl_selector *labels, kl_object_list *list,
                                kl_error *err);

/* Fills `list` with the objects that index `index` has under `value`, sorted by
 * key. KL_ENOT_FOUND: the message names the indexes that exist; KL_ECLOSED;
 * KL_ENOMEM; then the list is empty. Thread-safe. */
KL_API kl_code kl_informer_by_index(const kl_informer *informer,
                                    const char *index, const char *value,
                                    kl_object_list *list, kl_error *err);

/* The distinct values of an index, sorted. Errors as above. Thread-safe. */
KL_API kl_code kl_informer_index_values(const kl_informer *informer,
                                        const char *index, kl_string_list *list,
                                        kl_error *err);

/*
 * Changes the shard (kl_informer_options.shard) of an informer that was opened
 * with `ring`, for all handles that share it. It does not wait: the watch ends,
 * and the new shard is listed. The cache keeps what it has until that list is
 * there, and then changes in one step. So no change is missed or told twice:
 * objects that are new in the cache come as adds, those that are not of the new
 * shard leave as deletes with `left_shard`, the rest as after any relist. While
 * the informer waits after a failure (KL_STATE_BACKOFF), the list waits too.
 * The same shard again does nothing. KL_EINVAL: `shard` is none, or the
 * informer has no ring; KL_ECLOSED. Thread-safe.
 */
KL_API kl_code kl_informer_set_shard(kl_informer *informer, const char *shard,
                                     kl_error *err);

/* True once the cache has the list of the shard that was set last.
 * kl_informer_wake_changed wakes when that happens. Thread-safe. */
KL_API bool kl_informer_holds_shard(const kl_informer *informer);

/* The number of objects in the cache. Thread-safe. */
KL_API size_t kl_informer_count(const kl_informer *informer);

/* The resourceVersion that the cache has reached, by events or bookmarks; ""
 * before the first list. Copied into `buffer` (cut at `size`). Thread-safe. */
KL_API void kl_informer_resource_version(const kl_informer *informer,
                                         char *buffer, size_t size);

/* The resourceVersion that the handlers' queues have reached: every event up to
 * it was queued. Waits while events are being queued. Thread-safe. */
KL_API void kl_informer_told_version(const kl_informer *informer, char *buffer,
                                     size_t size);

/*
 * Adds an index by path (strings, numbers and booleans are its values) or by
 * function, before or after the cache is filled. `drop_context` (may be NULL)
 * runs after the last call of `fn`. KL_EINVAL (a wrong path; with
 * metadata_only, a path outside of the metadata), KL_ECONFLICT (the name
 * belongs to another path or function; the same path again is KL_OK),
 * KL_ECLOSED, KL_ENOMEM; then `drop_context` is not called. A handle that is
 * closed while it adds the index is KL_OK. Thread-safe.
 */
KL_API kl_code kl_informer_add_path_index(kl_informer *informer,
                                          const char *name, const char *path,
                                          kl_error *err);
KL_API kl_code kl_informer_add_index(kl_informer *informer, const char *name,
                                     kl_index_fn fn, void *context,
                                     void (*drop_context)(void *context),
                                     kl_error *err);

/* What an informer is doing. */
typedef enum kl_informer_state {
    KL_STATE_RESOLVING, /* asks the server what the resource is (discovery) */
    KL_STATE_LISTING,   /* reads a paged list */
    KL_STATE_STREAMING, /* reads a streaming list, up to its end bookmark */
    KL_STATE_WATCHING,
    KL_STATE_BACKOFF, /* waits before the next try; `error` says why */
    KL_STATE_STOPPED
} kl_informer_state;

/* Why a watch ended. */
typedef enum kl_reconnect {
    KL_RECONNECT_ENDED,  /* the server ended it, as it does every few minutes */
    KL_RECONNECT_SILENT, /* nothing came for the idle timeout */
    KL_RECONNECT_SLOW,   /* its events were not taken in time */
    KL_RECONNECT_EXPIRED,   /* 410: the version is too old; a list follows */
    KL_RECONNECT_DOUBTED,   /* the versions that came are not to be trusted */
    KL_RECONNECT_REFUSED,   /* 401 or 403 */
    KL_RECONNECT_RESHARDED, /* kl_informer_set_shard */
    KL_RECONNECT_BROKEN,    /* the connection broke, or any other failure */
    KL_RECONNECT_REASONS
} kl_reconnect;

typedef struct kl_informer_status {
    kl_informer_state state;
    bool has_synced;
    int64_t last_message_age_ms; /* since the last byte came; -1: none came */
    int64_t retry_in_ms;         /* in KL_STATE_BACKOFF; else 0 */
    uint64_t lists;              /* lists that came in whole */
    uint64_t lists_held;         /* of these, lists applied to the cache */
    uint64_t watches;            /* watches that were established */
    uint64_t events;             /* watch events, bookmarks included */
    uint64_t failures;           /* attempts that failed */
    size_t objects;              /* in the cache */
    size_t queued;     /* changes read, and not yet applied to the cache */
    kl_error error;    /* the last failure; KL_OK once a later try succeeds */
    char plugin[256];  /* the exec credential plugin that it waits for (the
                          command, cut to fit); "": none */
    int64_t plugin_ms; /* for how long that plugin has been running; else 0 */
    size_t unreadable; /* objects of the server that cannot be read now: see
                          kl_informer_unreadable */
    uint64_t bytes;    /* of lists and watches that were read, unzipped */
    uint64_t reconnects[KL_RECONNECT_REASONS]; /* watches that ended */
    int64_t overdue_ms; /* how long ago the thread that reads should have gone
                           on, at the latest, or began to apply what it has
                           read; it does not count the wait for a handler that
                           asked for every change */
} kl_informer_status;

/* Fills `status` with the informer's state at this moment; of a closed handle:
 * KL_STATE_STOPPED, and the error KL_ECLOSED. Thread-safe. */
KL_API void kl_informer_status_get(const kl_informer *informer,
                                   kl_informer_status *status);

/* The most objects that kl_informer_unreadable names. */
#define KL_UNREADABLE_MAX 100

/* An object that cannot be read. */
typedef struct kl_unreadable {
    char *key;
    char *why;      /* "ConfigMap web/x cannot be read: ..." */
    bool is_cached; /* the cache has its former state */
} kl_unreadable;

typedef struct kl_unreadable_list {
    kl_unreadable *items;
    size_t count;
} kl_unreadable_list;

/* Frees the strings and the array, zeroes the list. */
KL_API void kl_unreadable_list_clear(kl_unreadable_list *list);

/*
 * Fills `list` with the objects of the server that cannot be read now, sorted
 * by key, KL_UNREADABLE_MAX at most: nested deeper than KL_MAX_DEPTH, over 64
 * MB, or with text that is no JSON (a lone surrogate, a raw control character,
 * bad UTF-8). Such an object costs itself only: the list or watch goes on, and
 * handlers get one error, KL_EUNREADABLE, that names it. The cache keeps its
 * former state, as it is not gone; it is replaced as soon as it can be read,
 * and removed (a delete with `unknown`) when the server deletes it or gives its
 * name to another. KL_ECLOSED; KL_ENOMEM. Thread-safe.
 */
KL_API kl_code kl_informer_unreadable(const kl_informer *informer,
                                      kl_unreadable_list *list, kl_error *err);

/* The state's name ("watching"), static. */
KL_API const char *kl_informer_state_name(kl_informer_state state);

/* The reason's name ("ended"), static. */
KL_API const char *kl_reconnect_name(kl_reconnect reason);

#ifdef __cplusplus
}
#endif
#endif
