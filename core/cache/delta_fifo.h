/*
 * delta_fifo.h - the ordered, bounded queue between the reflector, which says
 * what happened, and the informer, which applies it. Deltas keep the order of
 * the stream across keys; a whole relist is one Replaced delta and a resync one
 * Sync delta; bookmarks and errors travel in line. Nothing is merged.
 */
#ifndef KL_CACHE_DELTA_FIFO_H
#define KL_CACHE_DELTA_FIFO_H

#include "base/cancel.h"
#include "base/clock.h"
#include "kubelua/informer.h"
#include "kubelua/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kl__delta_type {
    KL__DELTA_ADDED,
    KL__DELTA_UPDATED,
    KL__DELTA_DELETED,
    KL__DELTA_REPLACED, /* list, version */
    KL__DELTA_SYNC,     /* a resync may be due */
    KL__DELTA_BOOKMARK, /* version */
    KL__DELTA_ERROR     /* error, number: the stream broke, and why */
} kl__delta_type;

/* What it holds is owned by whoever holds the delta. */
typedef struct kl__delta {
    kl__delta_type type;
    kl_object *object;   /* ADDED, UPDATED, DELETED */
    kl_object_list list; /* REPLACED */
    char *version;       /* REPLACED, BOOKMARK */
    kl_error *error;     /* ERROR */
    uint64_t number; /* ERROR: which of the reasons that handlers are told */
} kl__delta;

void kl__delta_clear(kl__delta *delta);

typedef struct kl__delta_batch {
    kl__delta *items;
    size_t count;
    size_t capacity;
} kl__delta_batch;

void kl__delta_batch_clear(kl__delta_batch *batch);

typedef struct kl__delta_fifo kl__delta_fifo;

/* `bound`: how many deltas wait at most (0: 2,000, twice client-go's batch; a
 * Replaced counts as one). `clock` (NULL: the real one; borrowed for its life)
 * is what timeouts are on. Owned by the caller; NULL when out of memory. */
kl__delta_fifo *kl__delta_fifo_new(size_t bound, kl__clock *clock);
/* Once nobody waits in it. NULL is fine. */
void kl__delta_fifo_free(kl__delta_fifo *fifo);

/*
 * The producer's calls. Push queues an object that was added, updated or
 * deleted. The object or the list is taken, also when the call fails. While the
 * queue is full these two block; KL_ETIMEOUT after timeout_ms (< 0: none) with
 * nothing queued, KL_ECANCELED, KL_ECLOSED after close, KL_ENOMEM.
 * Sync, bookmark and error do not block and do not count; a bookmark or Sync
 * that directly follows another of its type replaces it, and so does an error
 * that repeats the one directly before it. Thread-safe.
 */
kl_code kl__delta_fifo_push(kl__delta_fifo *fifo, kl__delta_type type,
                            kl_object *object, int64_t timeout_ms,
                            kl__cancel *cancel);
kl_code kl__delta_fifo_replace(kl__delta_fifo *fifo, kl_object_list *list,
                               const char *version, int64_t timeout_ms,
                               kl__cancel *cancel);
kl_code kl__delta_fifo_resync(kl__delta_fifo *fifo);
kl_code kl__delta_fifo_bookmark(kl__delta_fifo *fifo, const char *version);
kl_code kl__delta_fifo_error(kl__delta_fifo *fifo, const kl_error *error,
                             uint64_t number);

/*
 * While it gathers, objects do not wake a consumer that sleeps until there are
 * 64 of them; anything else does, and so does the end of gathering. For the
 * producer of a burst, which ends it before it waits for more: a wake-up for
 * each object costs more than applying it. Thread-safe.
 */
void kl__delta_fifo_gather(kl__delta_fifo *fifo, bool gathers);

/* Blocks until there is room (false: timed out, cancelled or closed). */
bool kl__delta_fifo_wait_room(kl__delta_fifo *fifo, int64_t timeout_ms,
                              kl__cancel *cancel);

/*
 * Takes up to `max` leading deltas into `batch` (empty); a Replaced, a Sync or
 * an error is always a batch of one. Blocks while empty; KL_ETIMEOUT,
 * KL_ECLOSED once closed and drained, KL_ENOMEM with nothing taken. The queue
 * is unlocked while the batch is processed, by one consumer at a time.
 */
kl_code kl__delta_fifo_pop(kl__delta_fifo *fifo, kl__delta_batch *batch,
                           size_t max, int64_t timeout_ms);

/* How many deltas wait. */
size_t kl__delta_fifo_length(kl__delta_fifo *fifo);

/* Wakes everybody; what is queued is still handed out. */
void kl__delta_fifo_close(kl__delta_fifo *fifo);

#endif
