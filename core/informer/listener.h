/*
 * listener.h - what one handler has not been shown yet, in order and bounded:
 * between the informer thread, which pushes, and the handler's, which pulls.
 */
#ifndef KL_INFORMER_LISTENER_H
#define KL_INFORMER_LISTENER_H

#include "base/thread.h"
#include "cache/indexer.h"
#include "cache/sync_tracker.h"
#include "informer/notes.h"

typedef struct kl__listener_options {
    size_t backlog;    /* how many notes wait before they are merged */
    bool every_change; /* never merge */
    /* Called when an event waits after `next` said that none does; with the
     * mutex held, on any thread. */
    void (*wake)(void *context);
    void *context;
} kl__listener_options;

/*
 * With a backlog of B, of K objects at most B + 3K + 1 notes wait: the first B;
 * behind them of each object a delete and an add, but no delete of an object
 * that has a note among the first B; an initial add of each, from `open`;
 * synced and one error. Nothing is merged while fewer than B wait.
 */
typedef struct kl__listener {
    kl__listener_options options; /* constant */

    /* Guards what follows, up to spares; rank LISTENER. */
    kl__mutex mutex;
    kl__notes notes;
    size_t reserved; /* keys for which the last reserve has made room */
    kl__sync_tracker tracker;
    bool is_paused; /* until open: nothing is handed out */
    bool is_awake;  /* the owner knows that there is something */
    bool is_closed;
    bool has_merged; /* ever */

    /* Of the thread that distributes: notes to be filled. */
    kl__list spares;
    size_t spare_count;
} kl__listener;

/* It begins paused. */
void kl__listener_init(kl__listener *listener,
                       const kl__listener_options *options);
/* Drops what waits. */
void kl__listener_deinit(kl__listener *listener);

/*
 * The distributing thread's calls. Reserve makes sure that `count` changes, and
 * the end of the initial list, can be pushed without more memory; false: out of
 * memory. Settle frees what was reserved for nothing.
 */
bool kl__listener_reserve(kl__listener *listener, size_t count);
void kl__listener_free_spares(kl__listener *listener);

/* Pushes changes that were reserved for. `initial`: they are the initial list
 * as a whole. True: for the first time, some were merged. */
bool kl__listener_push(kl__listener *listener, const kl__change_list *changes,
                       bool initial);
/* Pushes objects as updates that change nothing, but for the keys of which
 * something waits: that will be news enough. KL_ENOMEM: nothing was pushed. */
kl_code kl__listener_resync(kl__listener *listener,
                            const kl_object_list *objects);
/* Pushes an error; beyond the backlog it takes the place of one that waits.
 * KL_ENOMEM. */
kl_code kl__listener_error(kl__listener *listener, const kl_error *error);

/* Ends the pause: the snapshot goes first, as initial adds, and where that is
 * complete, synced after it. KL_ENOMEM: it stays paused. */
kl_code kl__listener_open(kl__listener *listener,
                          const kl_object_list *snapshot, bool is_complete);

/* No further events, those that wait are dropped; does not wake. Any thread. */
void kl__listener_close(kl__listener *listener);

/*
 * The owner's calls. Next takes the next event; false: none waits, and wake
 * will be called for the next. `made_room`: it was full, and is not any more.
 * Done counts an initial add as handled, and drops what the event holds.
 */
bool kl__listener_next(kl__listener *listener, kl_event *event,
                       bool *made_room);
void kl__listener_done(kl__listener *listener, kl_event *event);
/* Blocks until awake, on a condition that wake signals, and whoever closes the
 * listener; false: closed. */
bool kl__listener_wait(kl__listener *listener, kl__cond *cond);

/* Any thread. Full: as many notes wait as the backlog says, or more. */
bool kl__listener_is_full(kl__listener *listener);
size_t kl__listener_count(kl__listener *listener);

#endif
