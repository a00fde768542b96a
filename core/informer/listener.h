/*
 * listener.h - the events that wait for one handler, in order and bounded. The
 * thread that changes the cache pushes changes; the handler's thread, or the
 * user's, pulls events.
 */
#ifndef KL_INFORMER_LISTENER_H
#define KL_INFORMER_LISTENER_H

#include "base/clock.h"
#include "base/thread.h"
#include "cache/indexer.h"
#include "cache/sync_tracker.h"
#include "informer/notes.h"

typedef struct kl__listener_options {
    size_t backlog;    /* the number of notes that may wait before new ones are
                          merged */
    bool every_change; /* never merge */
    /* Called when an event can be pulled again after `next` returned false; on
     * any thread. The listener is not closed meanwhile: the thread holds the
     * distribute lock (`push`) or the mutex. */
    void (*wake)(void *context);
    void *context;
} kl__listener_options;

/*
 * With a backlog of B and K objects at most B + 3K + 2 notes wait: the first B;
 * behind them a delete and an add of each object, but no delete of an object
 * that has a note among the first B; an initial add of each object, from
 * `open`; synced and two errors. Nothing is merged while fewer than B wait. A
 * mark adds a delete and an add of each object and two errors: what comes after
 * it is not merged into what waits before it.
 */
typedef struct kl__listener {
    kl__listener_options options; /* constant */

    /* Guards the fields down to `spares`; rank LISTENER. */
    kl__mutex mutex;
    kl__cond settled; /* has_synced, or closed */
    kl__notes notes;
    size_t reserved; /* keys that the last reserve made room for */
    kl__sync_tracker tracker;
    bool is_paused; /* true until `open`: no event can be pulled */
    bool is_awake;  /* `wake` was or will be called, and `next` has not
                       returned false since */
    bool is_closed;
    bool has_merged; /* it has merged a change at least once */
    bool is_marked;  /* see kl__listener_mark */
    unsigned marks;  /* how often it was marked */
    size_t marked;   /* notes before the mark that still wait */

    /* Empty notes, reserved for the next push; the processor's distribute lock
     * guards them. */
    kl__list spares;
    size_t spare_count;
} kl__listener;

/* A listener begins paused: `open` ends that. */
void kl__listener_init(kl__listener *listener,
                       const kl__listener_options *options);
/* Drops the notes that wait. */
void kl__listener_deinit(kl__listener *listener);

/*
 * The thread that changes the cache calls these, with the processor's
 * distribute lock held. Reserve makes sure that `count` changes, and
 * synced, can be pushed without further memory; false: out of memory.
 * free_spares frees the notes that were not used.
 */
bool kl__listener_reserve(kl__listener *listener, size_t count);
void kl__listener_free_spares(kl__listener *listener);

/* Pushes changes; reserve came before. `initial`: they are the whole initial
 * list. True: some changes were merged, for the first time. */
bool kl__listener_push(kl__listener *listener, const kl__change_list *changes,
                       bool initial);
/* Pushes a resync: each object as an update of itself, except objects of which
 * an event waits. KL_ENOMEM: nothing was pushed. */
kl_code kl__listener_resync(kl__listener *listener,
                            const kl_object_list *objects);
/* Pushes an error; if the backlog is full, it replaces one of its sort that
 * waits: that an object cannot be read, or of the informer. KL_ENOMEM. */
kl_code kl__listener_error(kl__listener *listener, const kl_error *error);

/* Ends the pause. The snapshot goes before all that waits, as initial adds; if
 * it is the complete first list (`is_complete`), synced follows it. KL_ENOMEM:
 * it stays paused. */
kl_code kl__listener_open(kl__listener *listener,
                          const kl_object_list *snapshot, bool is_complete);

/* Drops the events that wait, and ends pushing and pulling; does not call
 * `wake`. Any thread. */
void kl__listener_close(kl__listener *listener);

/*
 * The owner calls these. Next pulls the next event; false: none waits, and
 * `wake` will be called for the next one. `made_room`: the backlog was full and
 * is not full any more. Done counts an initial add as handled, and drops the
 * event's references.
 */
bool kl__listener_next(kl__listener *listener, kl_event *event,
                       bool *made_room);
void kl__listener_done(kl__listener *listener, kl_event *event);
/* Blocks until an event waits: `cond` is signalled by `wake`, and by the thread
 * that closes the listener. False: closed. */
bool kl__listener_wait(kl__listener *listener, kl__cond *cond);

/* Blocks until the handler has synced: KL_OK; KL_ETIMEOUT, after `timeout_ms`
 * of `clock` (< 0: no limit); KL_ECLOSED: the listener was closed before. */
kl_code kl__listener_wait_synced(kl__listener *listener, kl__clock *clock,
                                 int64_t timeout_ms);

/* Marks the end of what waits now; false: there is a mark already. What is
 * pushed later comes after the mark, and is not merged into a note before it.
 * Unmark forgets the mark. Marked: false if there is none; else sets how many
 * notes before it still wait. Any thread. */
bool kl__listener_mark(kl__listener *listener);
void kl__listener_unmark(kl__listener *listener);
bool kl__listener_marked(kl__listener *listener, size_t *count);

/* Any thread. Full: the number of notes that wait has reached the backlog. */
bool kl__listener_is_full(kl__listener *listener);
size_t kl__listener_count(kl__listener *listener);

#endif
