/*
 * queue.h - a workqueue for controllers: keys that want a run, each of them
 * once, now, later, or again after a failure.
 *
 * An event names a key, not a change: many events of a key are one run. A key
 * is in one of three places: it waits in a lane, it is delayed, or it is in
 * progress; a key of which nothing is known is in none. From kl_queue_next to
 * kl_queue_done a key is in progress, and is not handed out a second time; what
 * is added meanwhile makes it wait again when it is done. (client-go's
 * workqueue, k8s.io/client-go/util/workqueue, keeps the same promises; the
 * lanes are those of controller-runtime's priority queue.)
 *
 * A key has one timer: what asks for a later run replaces it, and a run that
 * begins takes it away. Times are milliseconds of a clock that never goes back.
 *
 * The queue has no thread. One thread, or several, pull keys; any thread may
 * add. A loop pulls until kl_queue_next says false, sleeps for as long as
 * kl_queue_due_in says, and is woken earlier by `wake`; a thread of its own
 * may block in kl_queue_wait instead.
 *
 * Keys are strings that end with NUL, such as "namespace/name"; the queue
 * copies them. Memory grows with the number of keys in the queue and not with
 * that of events. All calls but kl_queue_free are thread-safe. In a child of
 * fork() they fail with KL_EFORKED or do nothing.
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

/* Keys of the front lane go before all of the rear lane; within a lane the
 * first that came is the first that goes. */
typedef enum kl_lane {
    KL_LANE_FRONT, /* news, timers that were asked for */
    KL_LANE_REAR,  /* the initial list, resyncs */
    KL_LANES
} kl_lane;

/*
 * The backoff of failures: uniform in [d, 2d), where d doubles from 0.1 s for
 * the first failure in a row to 150 s; so never longer than 300 s, unless the
 * server asked for it.
 */
#define KL_QUEUE_BACKOFF_FIRST_MS 100
#define KL_QUEUE_BACKOFF_CAP_MS 150000

/* Zeroed fields are the defaults. */
typedef struct kl_queue_options {
    /* Events of a key within so many ms of the first become one run, which
     * begins when they have passed; 0: at once. */
    int64_t gather_ms;
    /* For tests: time moves by kl_queue_advance only. */
    bool clock_stands;
    /*
     * Called once when there is something to pull, or to sleep shorter for,
     * after kl_queue_next said false, and when the queue is finished. On the
     * thread that made it so, without a lock held. It must not block; a good
     * body is kl_event_queue_wake. May be NULL.
     */
    void (*wake)(void *context);
    void *context;
} kl_queue_options;

/* An empty queue; `options` may be NULL. Owned by the caller: kl_queue_free.
 * NULL: KL_ENOMEM, KL_EINVAL (a negative time). */
KL_API kl_queue *kl_queue_new(const kl_queue_options *options, kl_error *err);

/* Frees it with all keys, in progress or not. Every other call has returned,
 * and none comes later. NULL is fine. */
KL_API void kl_queue_free(kl_queue *queue);

/*
 * An event of what the key stands for: it waits at the end of the lane. A key
 * that waits already stays where it is, but from the rear lane it goes to the
 * end of the front lane if it is added there. One in progress waits again once
 * it is done. Ends a backoff; failures stay counted. KL_ECLOSED: the queue was
 * drained or shut down. KL_ENOMEM, KL_EINVAL (no such lane), KL_EFORKED;
 * nothing has changed then.
 */
KL_API kl_code kl_queue_add(kl_queue *queue, const char *key, kl_lane lane,
                            kl_error *err);

/*
 * The same for an event of something else, such as what the key's object owns:
 * a backoff goes on, and the run at its end is this event's run too. So a
 * failing key is not run again for each of its children. Errors as above.
 */
KL_API kl_code kl_queue_add_related(kl_queue *queue, const char *key,
                                    kl_lane lane, kl_error *err);

/*
 * Sets the key's timer: it waits in the front lane `delay_ms` from now, or
 * earlier if it is added. Replaces the timer that it had, but does not make a
 * backoff longer. 0 or less: as kl_queue_add to the front lane. Errors as
 * above.
 */
KL_API kl_code kl_queue_add_after(kl_queue *queue, const char *key,
                                  int64_t delay_ms, kl_error *err);

/* A key that was handed out. */
typedef struct kl_queue_item {
    const char *key;   /* the queue's, until kl_queue_done of this key */
    kl_lane lane;      /* in which it waited */
    uint64_t attempt;  /* 1, and 1 more for each failure in a row before */
    int64_t waited_ms; /* in its lane; gathering and delays do not count */
    bool has_timer;    /* a later run had been asked for, a backoff not */
    int64_t timer_ms;  /* in how many ms that was due; negative: overdue */
} kl_queue_item;

/*
 * Hands out the next key: true, and it is in progress until kl_queue_done;
 * false when no key waits. Moves what is due to its lane first, the earliest
 * first. Never blocks for long.
 */
KL_API bool kl_queue_next(kl_queue *queue, kl_queue_item *item);

/* What came of a run. */
typedef enum kl_queue_result {
    KL_RESULT_DONE,  /* no run but for what is added */
    KL_RESULT_AFTER, /* again after so many ms, in the front lane */
    KL_RESULT_PACED, /* again after a backoff, but it is no failure */
    KL_RESULT_FAILED /* again after a backoff, of at least so many ms */
} kl_queue_result;

/*
 * Ends the run of a key that was handed out. `ms` is the delay of
 * KL_RESULT_AFTER (0 or less: at once), or the server's Retry-After for
 * KL_RESULT_PACED and KL_RESULT_FAILED (< 0: none; at most 300,000 count, and
 * jitter comes on top).
 *
 * What was added during the run makes the key wait at once, or when it is
 * gathered; after a backoff result only if it came by kl_queue_add. A timer
 * that was set during the run stays if it is the earlier one. A retry waits in
 * the lane of the run that failed, so that the failures of an initial list stay
 * behind all else.
 *
 * All results but KL_RESULT_FAILED forget the key's failures; only
 * KL_RESULT_DONE and KL_RESULT_AFTER end the growth of its backoff. `again_ms`
 * (may be NULL): in how many ms the key waits again; -1: not by itself. Cannot
 * run out of memory. KL_EINVAL: the key is not in progress; KL_EFORKED.
 */
KL_API kl_code kl_queue_done(kl_queue *queue, const char *key,
                             kl_queue_result result, int64_t ms,
                             int64_t *again_ms);

/* Forgets the key's failures: the next one is a first one. A backoff that it is
 * in goes on. */
KL_API void kl_queue_forget(kl_queue *queue, const char *key);

/* In how many ms kl_queue_next has a key: 0: now; -1: not until one is added or
 * done. */
KL_API int64_t kl_queue_due_in(kl_queue *queue);

/*
 * Blocks until there is a key to pull: KL_OK, though another thread may be
 * quicker; KL_ETIMEOUT after `timeout_ms` (< 0: never) of real time;
 * KL_ECLOSED: nothing comes any more, because the queue was shut down, or was
 * drained and is finished. KL_EFORKED.
 */
KL_API kl_code kl_queue_wait(kl_queue *queue, int64_t timeout_ms);

/*
 * From now on adding is refused. Keys that wait are still handed out, gathered
 * keys at once, and a key in progress once more if something was added during
 * its run; timers and backoffs are dropped.
 */
KL_API void kl_queue_drain(kl_queue *queue);

/* The same, but no key is handed out any more: what waits is dropped. Keys in
 * progress stay so until kl_queue_done. Also after kl_queue_drain. */
KL_API void kl_queue_shut_down(kl_queue *queue);

/* True once the queue was drained or shut down, nothing waits and nothing is in
 * progress. */
KL_API bool kl_queue_is_finished(kl_queue *queue);

/* What is in the queue at one moment, and what has gone through it. */
typedef struct kl_queue_status {
    size_t waiting;         /* keys in the lanes */
    size_t waiting_rear;    /* of these, in the rear lane */
    size_t in_progress;     /* keys */
    size_t delayed;         /* keys with a timer, in backoff or gathering */
    size_t failing;         /* keys whose last run failed */
    uint64_t adds;          /* accepted calls of kl_queue_add... */
    uint64_t retries;       /* results that asked for a backoff */
    int64_t oldest_wait_ms; /* of the key that waits longest; 0: none does */
} kl_queue_status;

/* Fills `status`; all of it is of one moment. */
KL_API void kl_queue_get_status(kl_queue *queue, kl_queue_status *status);

/* For tests: as if `ms` (> 0) had passed. Delays, backoffs and gathering move;
 * the timeout of kl_queue_wait does not. */
KL_API void kl_queue_advance(kl_queue *queue, int64_t ms);

#ifdef __cplusplus
}
#endif
#endif
