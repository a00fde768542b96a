/*
 * health.h - the state of an informer: has it synced, has it ended, which error
 * stands. The shared informer owns it; the reflector and the processor report
 * to it and read it.
 */
#ifndef KL_INFORMER_HEALTH_H
#define KL_INFORMER_HEALTH_H

#include "base/clock.h"
#include "informer/sync_wakers.h"

#include <stdatomic.h>

typedef struct kl__health {
    kl__clock *clock;

    /* Rank HEALTH; guards all below. It is held while the first list is applied
     * and pushed to the handlers, so that the cache, the handlers and
     * has_synced change in one step. */
    kl__mutex mutex;
    kl__cond cond; /* synced, ended, a wait was cancelled or is over */
    bool has_synced;
    bool has_ended;      /* the cache will not change any more */
    uint64_t lists_held; /* lists that were applied to the cache */
    /* kl__listed.shard of the last of them. Set after the cache has changed,
     * and before those that wait for a change are woken; any thread reads it.
     */
    atomic_uint_least64_t shard_held;
    kl__sync_wakers wakers;
    kl__sync_wakers changes; /* woken at the next change of the cache */
    /* True while `changes` has a queue; written with the mutex held. Relaxed: a
     * thread adds its queue before it reads the cache, and the informing task
     * changes the cache before it reads this; the cache's lock orders the two.
     */
    atomic_bool is_watched;

    kl_error error;  /* the last failure; KL_OK: none, or it is over */
    kl_error told;   /* the last error that handlers were told; KL_OK: none, or
                        all is well again */
    uint64_t number; /* counts the different errors in `told` */
    bool was_over;   /* the error was over since `told` was set: a handler that
                        joined then did not get it */
} kl__health;

/* `clock` is borrowed; timeouts are on it. */
void kl__health_init(kl__health *health, kl__clock *clock);
void kl__health_deinit(kl__health *health);

/* True once the cache holds the first list, and before any handler gets it.
 * This and all functions below: any thread. */
bool kl__health_has_synced(kl__health *health);

/* The informing task calls these before and after it applies the first list.
 * end_sync has `has_synced` false if the list could not be applied. In between,
 * all other calls on `health` wait. */
void kl__health_begin_sync(kl__health *health);
void kl__health_end_sync(kl__health *health, bool has_synced);

/* Wakes the queues that wait for a change of the cache, and counts a list
 * (`is_list`). Called after each change but the first list; for a list with the
 * distribute lock held, before its events are pushed. */
void kl__health_changed(kl__health *health, bool is_list);

/* Returns has_synced, and counts the lists that were applied to the cache. */
bool kl__health_count_lists(kl__health *health, uint64_t *lists_held);

/* Ends the informer's life: all waits end. */
void kl__health_end(kl__health *health);

/* The threads that wait in wait_synced with one handle. The mutex of the health
 * guards it. Zeroed: none. */
typedef struct kl__sync_waiters {
    int count;
    bool is_cancelled;
} kl__sync_waiters;

/* Blocks until has_synced: KL_OK; KL_ETIMEOUT; KL_ECLOSED: the informer has
 * ended, or the waits of `waiters` were cancelled. The caller must call
 * kl__health_end_wait afterwards; until then a close of the handle does not
 * free the health. */
kl_code kl__health_wait_synced(kl__health *health, kl__sync_waiters *waiters,
                               int64_t timeout_ms);
void kl__health_end_wait(kl__health *health, kl__sync_waiters *waiters);

/* Wakes the queue once, when the informer has synced or ended. Cancelling the
 * waits of `waiters` removes the queue. KL_ECLOSED: they were cancelled;
 * KL_ENOMEM. */
kl_code kl__health_wake_synced(kl__health *health,
                               const kl__sync_waiters *waiters,
                               kl_event_queue *queue);

/* The same for the next change of the cache. KL_ECLOSED: the informer has
 * ended, nothing will change, or the waits were cancelled; KL_ENOMEM. */
kl_code kl__health_wake_changed(kl__health *health,
                                const kl__sync_waiters *waiters,
                                kl_event_queue *queue);

/* Ends the waits of `waiters`, and returns when the last of these threads has
 * called kl__health_end_wait. */
void kl__health_cancel_waits(kl__health *health, kl__sync_waiters *waiters);

/*
 * The reflector calls these. Fail sets the standing error. It returns a number
 * if handlers have to be told, in the order of the events: a new number if the
 * error differs from the last one that they were told; the former number if
 * that error was over for a while and is back. 0: handlers need not be told, as
 * they know the error, or because of `is_quiet`.
 */
uint64_t kl__health_fail(kl__health *health, const kl_error *error,
                         bool is_quiet);
/* Handlers could not be told: the next failure counts as a new error. */
void kl__health_untell(kl__health *health);
/* The last failure is over for now; it may come back before all is well. */
void kl__health_forget(kl__health *health);
/* All is well: the next failure counts as a new error. True: handlers had been
 * told `reason` (may be NULL). */
bool kl__health_recover(kl__health *health, kl_error *reason);

/* The standing error, for a status; KL_OK: none. */
void kl__health_error(kl__health *health, kl_error *error);

/* While an error stands: its number and the error as handlers were told it. 0:
 * none stands. */
uint64_t kl__health_told(kl__health *health, kl_error *reason);

#endif
