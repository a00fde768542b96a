/*
 * reflector.h - reads a collection from the server and puts its changes into a
 * delta_fifo: find the resource, LIST (streamed or paged), WATCH, and recover
 * from failures. It is an explicit state machine that only pulls bytes, and one
 * task: it needs a thread while it has something to do or to wait for, and none
 * while its watch is idle, or between two tries.
 */
#ifndef KL_INFORMER_REFLECTOR_H
#define KL_INFORMER_REFLECTOR_H

#include "api/list_watch.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "cache/delta_fifo.h"
#include "cache/indexer.h"
#include "informer/health.h"

typedef struct kl__reflector kl__reflector;

/* Zeroed fields are the defaults. Borrowed parts must outlive the reflector. */
typedef struct kl__reflector_options {
    kl__list_watch *source; /* taken by a successful new; required */
    kl__delta_fifo *fifo;   /* borrowed; required */
    kl__indexer *known;     /* borrowed: a list shares its unchanged objects */
    kl__health *health;     /* borrowed: errors are reported to it; required */
    kl__cancel *stop; /* borrowed; ends the task; required; a client that is
                         closed must fire it, too */
    kl__clock *clock; /* borrowed; NULL: the real one */
    const char *name; /* for logs; copied; required */
    /* Called when all events that have come are queued, before the wait for
     * more; on the reflecting task, or the one that has its turn. It may
     * apply them itself; what it leaves in the queue is for the informer
     * thread. NULL: leave all. */
    void (*apply_queued)(void *context);
    /* Called while the reflector rests, when it has to go on: see
     * kl__stream_turn. Required if the source can lend a turn. */
    void (*wake)(void *context);
    void *context;           /* the argument of both; borrowed */
    int64_t idle_timeout_ms; /* 0: 90 s; < 0: never */
    int64_t stall_ms; /* how long the queue may be full before the watch is
                         closed, to be resumed later; 0: 15 s */
    int page_size;    /* 0: 500, and no pages for a list with a version */
    kl__shard shards; /* of the source */
    bool no_streaming_list;
    bool compress; /* objects rest packed: see object/pack.h */
    uint64_t seed; /* seed of the jitter; 0: random */
} kl__reflector_options;

/* NULL: out of memory; the source stays the caller's. */
kl__reflector *kl__reflector_new(const kl__reflector_options *options);

/* Frees it with its source. It must not run; NULL is fine. */
void kl__reflector_free(kl__reflector *reflector);

/* One turn of the task (kl__task.run). It is over when the reflector was
 * stopped or the client was closed; then it has closed the queue. To be woken
 * at `stop` and by `wake`. One thread at a time. */
int64_t kl__reflector_step(kl__reflector *reflector, kl__clock **on);

/*
 * Changes the shard: the list or watch that is being read ends, and a list of
 * the new shard follows at once, or after the wait of KL_STATE_BACKOFF. Until
 * it is there, nothing changes. Thread-safe.
 */
void kl__reflector_set_shard(kl__reflector *reflector, const kl__shard *shards);

/* The number of changes of the shard so far: a list of the present shard has
 * it. Thread-safe. */
uint64_t kl__reflector_shard(kl__reflector *reflector);

/* Fills a status, except has_synced, objects and queued. Thread-safe. */
void kl__reflector_status(kl__reflector *reflector, kl_informer_status *status);

/* True while a list or watch of this reflector is being read. Thread-safe. */
bool kl__reflector_has_answer(kl__reflector *reflector);
#endif
