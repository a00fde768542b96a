/*
 * handler.h - registrations: how an informer's events reach their user, either
 * on a thread of the registration's own or pulled by the user's thread.
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
 * Callbacks, any subset; run one at a time, in order, without a lock held, on
 * the registration's thread. Objects are borrowed for the call. `initial`: part
 * of the first list or replayed to a late handler. `unknown`: the delete itself
 * was missed, this is the last known state.
 */
typedef struct kl_handler {
    void (*add)(void *context, kl_object *object, bool initial);
    void (*update)(void *context, kl_object *old, kl_object *object);
    void (*remove)(void *context, kl_object *object, bool unknown);
    void (*synced)(void *context);
    void (*error)(void *context, const kl_error *error);
    void *context;
    void (*drop_context)(void *context); /* after the last callback */
} kl_handler;

/*
 * So many events may wait for a handler before changes are merged per object;
 * while fewer wait, none are. Merged, of one object at most an add or update
 * that it was shown, a delete and an add wait: of K objects never more than
 * backlog + 3 * K + 1 events, errors and synced included.
 */
#define KL_BACKLOG 10000

/* Zeroed fields are the defaults. */
typedef struct kl_handler_options {
    const char *name;    /* in logs; copied */
    int64_t resync_ms;   /* 0: the informer's default; <0: none */
    size_t backlog;      /* 0: KL_BACKLOG */
    bool every_change;   /* merge nothing: the informer waits instead */
    bool ignores_errors; /* no KL_EVENT_ERROR: the log tells instead */
} kl_handler_options;

/*
 * Registers callbacks with a thread of their own. What the cache holds is
 * replayed first, with initial = true, as one step with joining the stream.
 * The registration is the caller's: kl_registration_remove. NULL: KL_ENOMEM,
 * KL_EIO (no thread), KL_ECLOSED; then drop_context is not called. Thread-safe;
 * may be called inside a handler.
 */
KL_API kl_registration *
kl_informer_add_handler(kl_informer *informer, const kl_handler *handler,
                        const kl_handler_options *options, kl_error *err);

/*
 * Registers a consumer that pulls: its events wait in the registration, and
 * `queue` becomes readable. `tag` comes back from kl_event_queue_next. Errors
 * and thread-safety as above.
 */
KL_API kl_registration *kl_informer_subscribe(kl_informer *informer,
                                              kl_event_queue *queue, void *tag,
                                              const kl_handler_options *options,
                                              kl_error *err);

/*
 * Ends a registration and gives it back: no callback starts after it returns;
 * one that runs on another thread has returned. On the thread of any handler it
 * marks and leaves instead, as two handlers that remove each other would wait
 * for ever: a callback that runs then ends by itself; drop_context comes after
 * it. Undelivered events are dropped. NULL is fine. Thread-safe; but who closes
 * the informer gives its registrations back, and while that goes on only a
 * handler may remove itself.
 */
KL_API void kl_registration_remove(kl_registration *registration);

/* KL_OK; KL_EFORKED with a message where it was made before a fork(), and this
 * is the child. Thread-safe. */
KL_API kl_code kl_registration_check(const kl_registration *registration,
                                     kl_error *err);

/* Whether its handler has returned from, or will never be shown, every object
 * of the initial list. Thread-safe. */
KL_API bool kl_registration_has_synced(const kl_registration *registration);

/* How many events wait. Thread-safe. */
KL_API size_t kl_registration_backlog(const kl_registration *registration);

typedef enum kl_event_type {
    KL_EVENT_ADD,
    KL_EVENT_UPDATE,
    KL_EVENT_DELETE,
    KL_EVENT_SYNCED,
    KL_EVENT_ERROR
} kl_event_type;

/* One event; owned by whoever pulled it, until kl_registration_done. */
typedef struct kl_event {
    kl_event_type type;
    bool initial;      /* of an add */
    bool unknown;      /* of a delete */
    bool resync;       /* of an update: replayed from the cache */
    kl_object *old;    /* of an update */
    kl_object *object; /* of an add, update, delete */
    kl_error *error;   /* of an error */
} kl_event;

/* Takes the next event of a subscribed registration: true, or false when none
 * waits. For one thread at a time; never blocks for long. */
KL_API bool kl_registration_next(kl_registration *registration,
                                 kl_event *event);

/* Says that the event was handled (has_synced counts that), drops what it
 * holds and zeroes it. Also after the registration was removed, for an event
 * that was pulled before. */
KL_API void kl_registration_done(kl_registration *registration,
                                 kl_event *event);

/* Wakes the queue once, as above, when the informer has synced or will never:
 * how a loop waits for has_synced without blocking. At once if that is so
 * already; not at all once the handle is closed. KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_informer_wake_synced(kl_informer *informer,
                                       kl_event_queue *queue, kl_error *err);

/* The same, when the cache changes next, a version by a bookmark included. A
 * loop that waits for more of the cache calls it, looks at the cache, then
 * waits. KL_ECLOSED: the informer has ended, and nothing will change;
 * KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_informer_wake_changed(kl_informer *informer,
                                        kl_event_queue *queue, kl_error *err);

/*
 * Puts a registration that kl_event_queue_next returned back at the end of its
 * queue, with or without events. kl_event_queue_next returns a registration
 * once each time that its first event comes in: so pull events until
 * kl_registration_next returns false, or put the registration back.
 * Thread-safe.
 */
KL_API void kl_event_queue_again(kl_event_queue *queue,
                                 kl_registration *registration);

#ifdef __cplusplus
}
#endif
#endif
