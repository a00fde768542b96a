/*
 * delta_fifo.h - the ordered, bounded queue from the reflecting task, which
 * reads the stream, to the thread that applies the deltas to the indexer: the
 * informer thread, or the thread that has read them. Deltas keep the order of
 * the stream, also across keys. A whole relist is one Replaced delta, a resync
 * is one Sync delta, and bookmarks and errors keep their place. Objects are
 * never merged. client-go's queues: docs/KUBERNETES.md#delta-queue.
 */
#ifndef KL_CACHE_DELTA_FIFO_H
#define KL_CACHE_DELTA_FIFO_H

#include "base/cancel.h"
#include "base/clock.h"
#include "object/in_shard.h"
#include "kubelua/object.h"
#include "object/unreadable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kl__delta_type {
    KL__DELTA_ADDED,
    KL__DELTA_UPDATED,
    KL__DELTA_DELETED,
    KL__DELTA_LEFT,      /* it is of another shard now: as a missed delete */
    KL__DELTA_REPLACED,  /* listed, version */
    KL__DELTA_SYNC,      /* check which registrations are due for a resync */
    KL__DELTA_BOOKMARK,  /* version */
    KL__DELTA_ERROR,     /* error, number: the stream failed */
    KL__DELTA_UNREADABLE /* unreadable, is_gone */
} kl__delta_type;

/* What a list has. Zeroed: nothing. */
typedef struct kl__listed {
    kl_object_list objects;
    kl__unreadables unreadable; /* objects that are there, and cannot be read */
    kl__shard shards;           /* it has the objects of these only */
    uint64_t shard; /* how often the shard was changed: kl__reflector_shard */
} kl__listed;

void kl__listed_clear(kl__listed *listed);

/* The holder of a delta owns all that it points to. */
typedef struct kl__delta {
    kl__delta_type type;
    bool is_gone;      /* UNREADABLE: it was deleted; else added or updated */
    kl_object *object; /* ADDED, UPDATED, DELETED, LEFT */
    kl__unreadable *unreadable; /* UNREADABLE */
    kl__listed *listed;         /* REPLACED */
    char *version;              /* REPLACED, BOOKMARK */
    kl_error *error;            /* ERROR */
    uint64_t number; /* ERROR: number of the error report for handlers */
} kl__delta;

void kl__delta_clear(kl__delta *delta);

typedef struct kl__delta_fifo kl__delta_fifo;

typedef struct kl__delta_batch {
    kl__delta *items;
    size_t count;
    size_t capacity;
    kl__delta_fifo *turn; /* the queue that it was popped from; NULL: none */
} kl__delta_batch;

/* Drops the deltas. If the batch was popped, its turn ends: another one can be
 * popped. */
void kl__delta_batch_clear(kl__delta_batch *batch);

/* `bound`: the maximum number of waiting deltas (0: 2,000, which is twice
 * client-go's batch size); a Replaced counts as one. Timeouts are on `clock`
 * (NULL: the real clock; borrowed until the queue is freed). Owned by the
 * caller; NULL when out of memory. */
kl__delta_fifo *kl__delta_fifo_new(size_t bound, kl__clock *clock);
/* Call when no thread waits in the queue. NULL is fine. */
void kl__delta_fifo_free(kl__delta_fifo *fifo);

/*
 * The producer's calls; thread-safe. push queues an object that was added,
 * updated or deleted; unreadable one that cannot be read; replace queues a
 * whole list. They take the object or list, even if they fail, and block while
 * the queue is full. KL_ETIMEOUT: it was full for timeout_ms (< 0: no limit)
 * and nothing was queued; KL_ECANCELED; KL_ECLOSED after close; KL_ENOMEM.
 * resync, bookmark and error never block and do not count towards the bound. A
 * bookmark or Sync replaces the delta directly before it if that has the same
 * type. So does an error with the same code and message.
 */
kl_code kl__delta_fifo_push(kl__delta_fifo *fifo, kl__delta_type type,
                            kl_object *object, int64_t timeout_ms,
                            kl__cancel *cancel);
kl_code kl__delta_fifo_unreadable(kl__delta_fifo *fifo,
                                  kl__unreadable *unreadable, bool is_gone,
                                  int64_t timeout_ms, kl__cancel *cancel);
kl_code kl__delta_fifo_replace(kl__delta_fifo *fifo, kl__listed *listed,
                               const char *version, int64_t timeout_ms,
                               kl__cancel *cancel);
kl_code kl__delta_fifo_resync(kl__delta_fifo *fifo);
kl_code kl__delta_fifo_bookmark(kl__delta_fifo *fifo, const char *version);
kl_code kl__delta_fifo_error(kl__delta_fifo *fifo, const kl_error *error,
                             uint64_t number);

/* For a consumer that must not block: `call` is called when there may be
 * something to pop, and at close, where a consumer that blocks would be woken:
 * on the thread that did it, perhaps with the queue's mutex held (rank FIFO).
 * Set it before the queue is used by two threads. */
void kl__delta_fifo_on_news(kl__delta_fifo *fifo, void (*call)(void *arg),
                            void *arg);

/*
 * Coalesces wake-ups. While `gathers` is true, objects do not wake a sleeping
 * consumer before 64 deltas are queued; all other deltas do, and so does the
 * end of gathering. The producer turns it on for a burst, and off before it
 * waits for more bytes: waking the consumer for each object costs more than
 * applying the object. Thread-safe.
 */
void kl__delta_fifo_gather(kl__delta_fifo *fifo, bool gathers);

/* Blocks until there is room. False: timed out, cancelled or closed. */
bool kl__delta_fifo_wait_room(kl__delta_fifo *fifo, int64_t timeout_ms,
                              kl__cancel *cancel);

/* How many objects can be pushed without a wait, if the queue is idle: it is
 * empty, and no batch has the turn. Else 0. */
size_t kl__delta_fifo_idle_room(kl__delta_fifo *fifo);

/*
 * The consumers' calls. They take turns: a turn begins with a pop and ends when
 * the batch is cleared or given back, and there is one turn at a time. So
 * batches are applied one after the other, in the order of the queue, by
 * whichever thread popped them, without the queue's lock.
 *
 * Pop moves up to `max` deltas from the front to `batch`, which is empty
 * before. A Replaced, an Unreadable, a Sync or an error is always a batch of
 * one. Blocks while
 * the queue is empty or another batch has the turn. KL_ETIMEOUT; KL_ECLOSED
 * once the queue is closed and empty; KL_ENOMEM, and nothing was moved.
 */
kl_code kl__delta_fifo_pop(kl__delta_fifo *fifo, kl__delta_batch *batch,
                           size_t max, int64_t timeout_ms);
/* Blocks until there is something to pop, and pops nothing. KL_OK, or as
 * pop. */
kl_code kl__delta_fifo_wait(kl__delta_fifo *fifo, int64_t timeout_ms);
/* Pops only objects and bookmarks, and never blocks. KL_ETIMEOUT: the queue is
 * empty, something else is at its front, or another batch has the turn. */
kl_code kl__delta_fifo_pop_objects(kl__delta_fifo *fifo, kl__delta_batch *batch,
                                   size_t max);
/* Takes a popped batch that could not be applied, and ends its turn. The next
 * pop returns it, so no delta is lost or overtaken. Cannot fail. */
void kl__delta_fifo_give_back(kl__delta_fifo *fifo, kl__delta_batch *batch);
/* For kl__delta_batch_clear. */
void kl__delta_fifo_end_turn(kl__delta_fifo *fifo);

/* The number of queued deltas, without a batch that is being applied. */
size_t kl__delta_fifo_length(kl__delta_fifo *fifo);

/* Closes the queue and wakes all waiting threads. Queued deltas can still be
 * popped. */
void kl__delta_fifo_close(kl__delta_fifo *fifo);

#endif
