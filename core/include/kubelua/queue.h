/*
 * queue.h - a workqueue for controllers: the keys ("namespace/name") that a
 * controller has to process, now, at a later time, or again after a failure.
 *
 * What a user can rely on:
 *
 * - Events of a key are merged: a key waits once, however often it is added,
 *   and one run handles all events before it.
 * - A key is never processed twice at the same time. From kl_queue_next to
 *   kl_queue_done it is in progress and is not handed out. If it is added
 *   meanwhile, it waits again after kl_queue_done. (client-go's workqueue,
 *   k8s.io/client-go/util/workqueue, promises the same; the lanes are those of
 *   controller-runtime's priority queue.)
 * - A key has at most one timer for a later run. A new timer replaces it, and a
 *   run that begins removes it. Times are in milliseconds of a clock that never
 *   goes back.
 * - Memory grows with the number of keys, not of events. The queue copies keys.
 * - The queue has no thread. All calls but kl_queue_free are thread-safe. An
 *   event loop calls kl_queue_next until it returns false, then sleeps for
 *   kl_queue_due_in ms or until `wake` is called; a worker thread blocks in
 *   kl_queue_take instead.
 * - In the child of a fork() calls fail with KL_EFORKED or do nothing.
 */
#ifndef KUBELUA_QUEUE_H
#define KUBELUA_QUEUE_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_queue kl_queue;

/* Keys of the front lane are handed out before all keys of the rear lane; each
 * lane is first in, first out. */
typedef enum kl_lane {
    KL_LANE_FRONT, /* changes, and timers of kl_queue_add_after */
    KL_LANE_REAR,  /* the initial list, resyncs */
    KL_LANES
} kl_lane;

/*
 * The backoff of failures is uniform in [d, 2d), where d doubles from 0.1 s for
 * the first failure in a row to 150 s: at most 300 s, or longer with the
 * server's Retry-After.
 */
#define KL_QUEUE_BACKOFF_FIRST_MS 100
#define KL_QUEUE_BACKOFF_CAP_MS 150000

/* Zeroed fields are the defaults. */
typedef struct kl_queue_options {
    /* A key waits this many ms from its first event on, so that one run handles
     * the events that follow; 0: no wait. */
    int64_t gather_ms;
    /* For tests: the queue's time moves only when kl_queue_advance moves it. */
    bool clock_stands;
    /*
     * After kl_queue_next has returned false: called once when a key waits or a
     * timer is due earlier than kl_queue_due_in said. Also called when the
     * queue is finished. It runs on the thread that caused it, without a lock
     * held, and must not block: kl_event_queue_wake is a good body. May be
     * NULL.
     */
    void (*wake)(void *context);
    void *context;
} kl_queue_options;

/* An empty queue; `options` may be NULL. The caller owns it: kl_queue_free.
 * NULL: KL_ENOMEM, KL_EINVAL (a negative time). */
KL_API kl_queue *kl_queue_new(const kl_queue_options *options, kl_error *err);

/* Frees the queue with all keys, in progress or not. No other call may run
 * then, or come later. NULL is fine. */
KL_API void kl_queue_free(kl_queue *queue);

/*
 * Adds a key for an event of its own object: it waits at the end of the lane. A
 * key that waits already stays in its place, except that one in the rear lane
 * moves to the end of the front lane if it is added there. A key in progress
 * waits again once it is done. A backoff of the key ends; its failures stay
 * counted. KL_ECLOSED: the queue was drained or shut down; KL_ENOMEM,
 * KL_EINVAL (a wrong lane), KL_EFORKED; then nothing has changed.
 */
KL_API kl_code kl_queue_add(kl_queue *queue, const char *key, kl_lane lane,
                            kl_error *err);

/*
 * The same for an event of another object, such as one that the key's object
 * owns. A backoff of the key does not end: the run at its end handles this
 * event too, so that a failing key is not run again for each of its children.
 * Errors as above.
 */
KL_API kl_code kl_queue_add_related(kl_queue *queue, const char *key,
                                    kl_lane lane, kl_error *err);

/*
 * Sets the key's timer: in `delay_ms`, or earlier if the key is added, it waits
 * in the front lane. Replaces the timer that it had; a backoff is not made
 * longer. 0 or less: as kl_queue_add to the front lane. Errors as above.
 */
KL_API kl_code kl_queue_add_after(kl_queue *queue, const char *key,
                                  int64_t delay_ms, kl_error *err);

/* A key that was handed out. */
typedef struct kl_queue_item {
    const char *key;   /* borrowed until kl_queue_done of this key */
    kl_lane lane;      /* the lane in which it waited */
    uint64_t attempt;  /* 1, and 1 more for each failure in a row before */
    int64_t waited_ms; /* time in the lane, without gathering and delays */
    bool has_timer;    /* this run removed a timer (not a backoff) */
    int64_t timer_ms;  /* ms until that timer was due; negative: overdue */
} kl_queue_item;

/*
 * Hands out the next key: true, and the key is in progress until kl_queue_done;
 * false: no key waits. Keys whose time has come enter their lanes first, in the
 * order of their times. Does not block.
 */
KL_API bool kl_queue_next(kl_queue *queue, kl_queue_item *item);

/*
 * The same for a worker thread: blocks until it has handed out a key (KL_OK),
 * as kl_queue_wait and kl_queue_next in turn would. KL_ETIMEOUT, KL_ECLOSED and
 * KL_EFORKED as kl_queue_wait: then no key was handed out.
 */
KL_API kl_code kl_queue_take(kl_queue *queue, kl_queue_item *item,
                             int64_t timeout_ms);

/* The result of a run. */
typedef enum kl_queue_result {
    KL_RESULT_DONE,  /* no further run until the key is added */
    KL_RESULT_AFTER, /* a run after `ms`, in the front lane */
    KL_RESULT_PACED, /* a run after a backoff; this was no failure */
    KL_RESULT_FAILED /* a run after a backoff, of at least `ms` */
} kl_queue_result;

/*
 * Ends the run of a key that was handed out. `ms` is the delay of
 * KL_RESULT_AFTER (0 or less: none), or the server's Retry-After for
 * KL_RESULT_PACED and KL_RESULT_FAILED (< 0: none; at most 300,000; jitter is
 * added).
 *
 * If the key was added during the run, it waits now (or after gather_ms);
 * with a backoff, only if kl_queue_add added it. A timer that was set during
 * the run stays if it is the earlier one. A retry waits in the lane of the run
 * that failed, so that failures of the initial list stay behind other keys.
 *
 * All results but KL_RESULT_FAILED reset the key's count of failures; only
 * KL_RESULT_DONE and KL_RESULT_AFTER reset its backoff. `again_ms` (may be
 * NULL) gets the ms until the key waits again; -1: only if it is added. Cannot
 * run out of memory. KL_EINVAL: the key is not in progress; KL_EFORKED.
 */
KL_API kl_code kl_queue_done(kl_queue *queue, const char *key,
                             kl_queue_result result, int64_t ms,
                             int64_t *again_ms);

/* Resets the key's count of failures, so that its next failure counts as the
 * first. A backoff that has begun goes on. */
KL_API void kl_queue_forget(kl_queue *queue, const char *key);

/* The ms until kl_queue_next has a key; 0: it has one now; -1: only after a key
 * is added or done. */
KL_API int64_t kl_queue_due_in(kl_queue *queue);

/*
 * Blocks until a key waits: KL_OK (another thread may take it first);
 * KL_ETIMEOUT after `timeout_ms` (< 0: no limit) of real time; KL_ECLOSED: no
 * key will come, as the queue was shut down, or was drained and is finished;
 * KL_EFORKED.
 */
KL_API kl_code kl_queue_wait(kl_queue *queue, int64_t timeout_ms);

/*
 * Refuses further adds. Keys that wait are still handed out, gathered keys at
 * once, and a key in progress once more if it was added during its run; timers
 * and backoffs are dropped.
 */
KL_API void kl_queue_drain(kl_queue *queue);

/* Refuses further adds and drops the keys that wait. Keys in progress stay so
 * until kl_queue_done. May follow kl_queue_drain. */
KL_API void kl_queue_shut_down(kl_queue *queue);

/* True once the queue was drained or shut down, nothing waits and nothing is in
 * progress. */
KL_API bool kl_queue_is_finished(kl_queue *queue);

/* The contents of a queue at one moment, and its counters. */
typedef struct kl_queue_status {
    size_t waiting;         /* keys in the lanes */
    size_t waiting_rear;    /* of these, in the rear lane */
    size_t in_progress;     /* keys */
    size_t delayed;         /* keys with a timer, in backoff or gathering */
    size_t failing;         /* keys whose last run failed */
    uint64_t adds;          /* accepted calls of kl_queue_add... */
    uint64_t retries;       /* results with a backoff */
    int64_t oldest_wait_ms; /* of the key that waits longest; 0: none waits */
    int64_t longest_run_ms; /* of the key that has been in progress longest */
    int64_t unfinished_ms;  /* the sum of that time of all keys in progress */
} kl_queue_status;

/* Fills `status`, all fields at the same moment. */
KL_API void kl_queue_get_status(kl_queue *queue, kl_queue_status *status);

/* For tests: moves the queue's time forward by `ms` (> 0). Delays, backoffs and
 * gathering follow; the timeout of kl_queue_wait does not. */
KL_API void kl_queue_advance(kl_queue *queue, int64_t ms);

#ifdef __cplusplus
}
#endif
#endif
