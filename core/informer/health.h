/*
 * health.h - how an informer is: has it synced or ended, and which error
 * stands. The one place that knows: the shared informer owns it; the reflector
 * and the processor borrow it, say what happened, and ask.
 */
#ifndef KL_INFORMER_HEALTH_H
#define KL_INFORMER_HEALTH_H

#include "base/clock.h"
#include "informer/sync_wakers.h"

#include <stdatomic.h>

typedef struct kl__health {
    kl__clock *clock;

    /* Rank HEALTH; guards all below. Held while the first list is applied and
     * told, so that the cache, the handlers and has_synced change as one. */
    kl__mutex mutex;
    kl__cond cond; /* synced, ended, is_cancelled, or a waiter has left */
    bool has_synced;
    bool has_ended;      /* nothing more will be applied */
    uint64_t lists_held; /* lists that the cache has held */
    kl__sync_wakers wakers;
    kl__sync_wakers changes; /* woken by the next change of the cache */
    /* True while `changes` has a queue; written with the mutex held. Relaxed:
     * a queue is added before its user looks at the cache, and the cache
     * changes before this is looked at; the cache's lock orders the two. */
    atomic_bool is_watched;

    kl_error error;  /* of the last failure; KL_OK: none, or it is over */
    kl_error told;   /* what handlers are told; KL_OK: all is well */
    uint64_t number; /* of `told`: how often handlers were told a reason */
    bool was_over; /* since `told` was: a handler that joined then missed it */
} kl__health;

/* `clock` is borrowed; timeouts are on it. */
void kl__health_init(kl__health *health, kl__clock *clock);
void kl__health_deinit(kl__health *health);

/* From here on: any thread. True from the moment that the cache holds the first
 * list; before any handler is told of it. */
bool kl__health_has_synced(kl__health *health);

/* Around the first list being applied and told, by the informer thread: ends
 * with `has_synced` false where it could not be applied. In between, all calls
 * on `health` wait. */
void kl__health_begin_sync(kl__health *health);
void kl__health_end_sync(kl__health *health, bool has_synced);

/* The cache has changed, by a list or else: wakes the queues that wait for
 * that. The informer thread's call, after each change but the first list. */
void kl__health_changed(kl__health *health, bool is_list);

/* The same as has_synced, and how many lists the cache has held. */
bool kl__health_count_lists(kl__health *health, uint64_t *lists_held);

/* Ends all waits. */
void kl__health_end(kl__health *health);

/* The callers of one handle that are in wait_synced; guarded by the mutex of
 * the health that they wait for. Zeroed: there are none. */
typedef struct kl__sync_waiters {
    int count;
    bool is_cancelled;
} kl__sync_waiters;

/* Blocks until has_synced: KL_OK; KL_ETIMEOUT; KL_ECLOSED once it has ended or
 * the waiters are is_cancelled. The caller is one of `waiters` until it calls
 * leave; after that a close may free the handle and the health. */
kl_code kl__health_wait_synced(kl__health *health, kl__sync_waiters *waiters,
                               int64_t timeout_ms);
void kl__health_end_wait(kl__health *health, kl__sync_waiters *waiters);

/* Wakes the queue once, when it has synced or ended; the queues of `waiters`
 * are forgotten when they are is_cancelled. KL_ENOMEM. */
kl_code kl__health_wake_synced(kl__health *health,
                               const kl__sync_waiters *waiters,
                               kl_event_queue *queue);

/* The same for the next change of the cache. KL_ECLOSED: it has ended, nothing
 * will change; KL_ENOMEM. */
kl_code kl__health_wake_changed(kl__health *health,
                                const kl__sync_waiters *waiters,
                                kl_event_queue *queue);

/* Ends the waits of `waiters`; returns once the last of them has left. */
void kl__health_cancel_waits(kl__health *health, kl__sync_waiters *waiters);

/*
 * The reflector's calls. Fail makes an error the one that stands. It returns
 * the number by which handlers are to be told of it, in line with the events:
 * a new one for another reason than they were told before, the former one where
 * that reason was over for a while; 0: nothing is to be told, as they know it,
 * or as `is_quiet`.
 */
uint64_t kl__health_fail(kl__health *health, const kl_error *error,
                         bool is_quiet);
/* They could not be told: the next failure is another reason. */
void kl__health_untell(kl__health *health);
/* The last failure is over, though it may come again before all is well. */
void kl__health_forget(kl__health *health);
/* All is well: whatever fails next is another reason. True: handlers had been
 * told `reason` (may be NULL). */
bool kl__health_recover(kl__health *health, kl_error *reason);

/* The error that stands, for a status; KL_OK: none. */
void kl__health_error(kl__health *health, kl_error *error);

/* The number of the reason that handlers are told while an error stands, and
 * that reason; 0: there is none. */
uint64_t kl__health_told(kl__health *health, kl_error *reason);

#endif
