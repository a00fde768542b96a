/*
 * handler.h - registrations: an informer's changes as events, delivered to
 * callbacks on a thread (kl_informer_add_handler), or pulled by the user's own
 * thread (kl_informer_subscribe).
 *
 * What a user can rely on, for each registration by itself:
 *
 * - Order. Events come in the order in which the cache changed, across all
 *   objects: in the order of the server's watch. After a relist come the
 *   deletes, sorted by key, then adds and updates in the order of the list.
 *   An error comes after the changes before it and before the changes after
 *   it.
 * - Completeness. What the cache holds when the registration joins comes first,
 *   as adds with `initial` set; then `synced`, once; then every change. Reading
 *   the cache and joining are one step: no change is missed or comes twice.
 * - History. Each object's events make sense by themselves: an add, any number
 *   of updates, a delete, and then perhaps another add. `old` of an update is
 *   the state that this registration was given last. A relist, or a watch that
 *   is resumed, gives no event for an object that has not changed.
 * - Identity. A key whose UID changed (the object was deleted and created again
 *   while the informer was disconnected) is a delete, with `unknown` set, and
 *   an add. An update never mixes two objects.
 * - Deletes. Each delete is delivered, unless the add was never delivered. With
 *   `unknown` set, the server's delete event was missed, and `object` is the
 *   last state that was known, not the final one. An object that leaves the
 *   informer's shard (kl_informer_set_shard) is a delete with `left_shard` set:
 *   it may still exist.
 * - Sync. kl_registration_has_synced is true after the handler has returned
 *   from every initial add (or kl_registration_done was called for it), not
 *   when these were queued. `synced` is delivered at that moment.
 * - Resync. Every resync_ms each object in the cache comes as an update whose
 *   `old` and `object` are the same, unless an event of that object waits
 *   already. A resync sends no request, and finds no missed change.
 * - Backlog. A slow handler delays no other handler, and not the cache: its
 *   events wait. Up to KL_BACKLOG events, none is merged. Beyond that, further
 *   changes are merged per object: the oldest `old`, the newest `object`. A
 *   merged delete stays a delete, and an object that was added and deleted
 *   while its add waited is not shown. So memory is bounded by the number of
 *   objects, not by time. The log says so when merging begins.
 * - Every change. With `every_change` nothing is merged. The informer waits for
 *   a full registration instead, and so do its cache and its other handlers;
 *   the log names that handler. When the informer's own queue (2,000 changes)
 *   is full for 15 s too, it closes the watch, and resumes it once there is
 *   room.
 * - Threads. Callbacks of one registration run one at a time, without a lock
 *   held. They may block, and may call this library: kl_registration_remove of
 *   their own registration and kl_informer_close too. The first callback may
 *   run before kl_informer_add_handler has returned.
 * - Life. A registration lives until kl_registration_remove. No other call on
 * it may run beside that or come after it, except kl_registration_wait_synced.
 *   One that kl_informer_close has ended lives as long as its handle: a thread
 *   that has a reference to the handle (kl_informer_ref) may make every call on
 *   it beside the close and after it; nothing comes then.
 * - Fork. No callback runs in the child of a fork(), and no event is found
 *   there; calls fail with KL_EFORKED, return nothing or do nothing.
 * - Stop. After kl_registration_remove or kl_informer_close returns, no
 *   callback runs or starts (see there for calls inside a handler). Events that
 *   wait are dropped.
 */
#ifndef KUBELUA_HANDLER_H
#define KUBELUA_HANDLER_H

#include "kubelua/event_queue.h"
#include "kubelua/informer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_registration kl_registration;

/*
 * Callbacks; each may be NULL. Objects are borrowed for the call: take a
 * reference (kl_object_ref) to keep one.
 */
typedef struct kl_handler {
    /* `initial`: the object is from the first list, or was in the cache when
     * the handler joined. */
    void (*add)(void *context, kl_object *object, bool initial);
    void (*update)(void *context, kl_object *old, kl_object *object);
    /* `unknown`: the delete event was missed; `object` is the last known state.
     */
    void (*remove)(void *context, kl_object *object, bool unknown);
    void (*synced)(void *context);
    /* Says why a list or watch failed. The informer recovers by itself. */
    void (*error)(void *context, const kl_error *error);
    void *context;
    void (*drop_context)(void *context); /* after the last callback */
    /* The object is not of the informer's new shard (kl_informer_set_shard),
     * and not in the cache any more. NULL: `remove` is called, with `unknown`.
     */
    void (*left_shard)(void *context, kl_object *object);
} kl_handler;

/*
 * The number of events that may wait for a handler before changes are merged.
 * With a backlog of B and K objects, at most B + 3 * K + 2 events wait, errors
 * and synced included. Beyond B, an object has at most three events: the add or
 * update that was there before, a delete and an add.
 */
#define KL_BACKLOG 10000

/* Zeroed fields are the defaults. */
typedef struct kl_handler_options {
    const char *name;    /* in logs; copied; NULL: a number */
    int64_t resync_ms;   /* 0: the informer's default; <0: none */
    size_t backlog;      /* 0: KL_BACKLOG */
    bool every_change;   /* merge nothing: the informer waits instead */
    bool ignores_errors; /* no KL_EVENT_ERROR: errors go to the log */
    bool takes_over;     /* with a queue: marks a registration of the same queue
                            on the same informer, in the step that takes the
                            snapshot: the first one that has the same name (or
                            none, as this one), and no mark yet. See
                            kl_registration_marked */
} kl_handler_options;

/*
 * Registers callbacks, and starts a thread that runs them. The caller owns the
 * registration: kl_registration_remove, or the close of `informer`, ends it. If
 * a callback closes `informer` before this call returns, the result is a
 * registration that has ended (see Life).
 * NULL: KL_ENOMEM, KL_EIO (no thread), KL_ECLOSED; then drop_context is not
 * called. Thread-safe; may be called inside a callback.
 */
KL_API kl_registration *
kl_informer_add_handler(kl_informer *informer, const kl_handler *handler,
                        const kl_handler_options *options, kl_error *err);

/*
 * Registers a consumer that pulls events: they wait in the registration, and
 * kl_event_queue_next(queue) returns `tag`. Errors and threads as above.
 */
KL_API kl_registration *kl_informer_subscribe(kl_informer *informer,
                                              kl_event_queue *queue, void *tag,
                                              const kl_handler_options *options,
                                              kl_error *err);

/*
 * Removes a registration and drops the events that wait. It waits for a
 * callback that is running, so that none runs or starts after it returns.
 * Inside any callback it does not wait, as two handlers that remove each other
 * would wait for ever: a callback that is running ends later, and drop_context
 * is called after it. If kl_informer_close has removed the registration, this
 * does nothing: its own handler may call it then, and a thread that has a
 * reference to the handle. NULL is fine. Thread-safe.
 */
KL_API void kl_registration_remove(kl_registration *registration);

/* KL_OK; KL_EFORKED with a message if this process is a child that was forked
 * after the registration was made. Thread-safe. */
KL_API kl_code kl_registration_check(const kl_registration *registration,
                                     kl_error *err);

/* True once the handler has returned from every initial add that is delivered
 * to it. Thread-safe. */
KL_API bool kl_registration_has_synced(const kl_registration *registration);

/*
 * Blocks until has_synced: KL_OK; KL_ETIMEOUT after `timeout_ms` (< 0: no
 * limit); KL_ECLOSED: the registration was removed, or its handle or client was
 * closed, perhaps meanwhile (see Life). KL_EINVAL inside a callback of this
 * registration, which would wait for itself; KL_EFORKED. The thread that pulls
 * the events of a subscribed registration must not wait for them. Thread-safe.
 */
KL_API kl_code kl_registration_wait_synced(kl_registration *registration,
                                           int64_t timeout_ms, kl_error *err);

/*
 * A mark says where another registration took over: it was made with
 * `takes_over`, so its snapshot has what waits before the mark, and it is
 * pushed what comes after the mark. False: there is no mark; else `count` gets
 * how many events still wait before it. A second one leaves the first mark
 * where it is, until unmark. A change that comes after the mark is not merged
 * into an event before it. Thread-safe.
 */
KL_API bool kl_registration_marked(kl_registration *registration,
                                   size_t *count);
KL_API void kl_registration_unmark(kl_registration *registration);

/* The number of events that wait. Thread-safe. */
KL_API size_t kl_registration_backlog(const kl_registration *registration);

typedef enum kl_event_type {
    KL_EVENT_ADD,
    KL_EVENT_UPDATE,
    KL_EVENT_DELETE,
    KL_EVENT_SYNCED,
    KL_EVENT_ERROR
} kl_event_type;

/* One event. The caller of kl_registration_next owns it, and ends it with
 * kl_registration_done. */
typedef struct kl_event {
    kl_event_type type;
    bool initial;      /* of an add: see kl_handler */
    bool unknown;      /* of a delete: see kl_handler */
    bool left_shard;   /* of a delete: see kl_handler */
    bool resync;       /* of an update: a resync, not a change */
    kl_object *old;    /* of an update */
    kl_object *object; /* of an add, update, delete */
    kl_error *error;   /* of an error */
} kl_event;

/* Takes the next event of a subscribed registration: true; false when none
 * waits. One thread at a time; does not block. */
KL_API bool kl_registration_next(kl_registration *registration,
                                 kl_event *event);

/* Counts the event as handled (for has_synced), drops its references and zeroes
 * it. An event that was pulled before its registration was removed needs this
 * too. */
KL_API void kl_registration_done(kl_registration *registration,
                                 kl_event *event);

/* Makes the informer call kl_event_queue_wake(queue) once, when it has synced
 * or has ended. So a loop can wait for has_synced without blocking. The call
 * comes at once if the informer has synced or ended already, and never after
 * the handle is closed. KL_ECLOSED: the handle was closed; KL_ENOMEM.
 * Thread-safe. */
KL_API kl_code kl_informer_wake_synced(kl_informer *informer,
                                       kl_event_queue *queue, kl_error *err);

/* The same for the next change of the cache; a bookmark's new version counts as
 * a change. A loop that waits for something in the cache calls this, reads the
 * cache, then waits. KL_ECLOSED: the informer has ended, nothing will change,
 * or the handle was closed; KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_informer_wake_changed(kl_informer *informer,
                                        kl_event_queue *queue, kl_error *err);

/*
 * Puts a registration back at the end of its queue. kl_event_queue_next returns
 * a registration's tag once when its first event comes in: so pull events until
 * kl_registration_next returns false, or put the registration back.
 * Thread-safe.
 */
KL_API void kl_event_queue_again(kl_event_queue *queue,
                                 kl_registration *registration);

#ifdef __cplusplus
}
#endif
#endif
