/*
 * shared_informer.h - a reflector, a cache and a processor, which all handles
 * on the same collection share, and the two tasks (task.h) that drive them.
 *
 * Ownership:
 *   kl_informer (a handle, one for each kl_informer_open)
 *     -> is one user of a kl__shared_informer
 *     -> owns the registrations that were made through it
 *   kl__informer_factory, in the slot of a client
 *     -> finds the shared informers that have users and counts the users; owns
 *        none of them
 *   kl__shared_informer, owned by its users together
 *     -> kl_client (one reference), kl__health, kl__indexer, kl__delta_fifo,
 *        kl__processor, kl__reflector -> kl__list_watch (a reference to the
 *        client of its own)
 *   So a client is freed after its last informer, and the factory with it.
 *
 * Stop: fire the token; the reflecting task closes the queue and ends; the
 * informing task closes the processor, waits for the end of the other one, and
 * ends; then all is freed. If the last user is removed inside a callback (a
 * handler or an index function, perhaps in one of the two tasks), that thread
 * waits for nothing: the informing task frees all at its end.
 *
 * The thread that has the turn of the delta_fifo is the indexer's only writer:
 * the informing task, or, for the few objects that it queued before it waits
 * for more, the reflecting task.
 */
#ifndef KL_INFORMER_SHARED_INFORMER_H
#define KL_INFORMER_SHARED_INFORMER_H

#include "api/list_watch.h"
#include "cache/delta_fifo.h"
#include "cache/indexer.h"
#include "informer/processor.h"
#include "informer/task.h"

enum { KL__LATENCY_BUCKETS = 12 };

typedef struct kl__shared_informer kl__shared_informer;

/* Zeroed fields are the defaults. */
typedef struct kl__shared_options {
    kl_client *client;      /* takes a reference; may be NULL */
    kl__list_watch *source; /* taken, also when it fails; required */
    kl__clock *clock;       /* borrowed; NULL: the real one */
    kl__task_group *group;  /* of the tasks that read from the same server;
                               borrowed; NULL: none */
    const char *name;       /* for logs and errors; copied; required */
    int64_t idle_timeout_ms;
    int page_size;
    kl__shard shards; /* of the source */
    bool no_streaming_list;
    bool compress;
} kl__shared_options;

/* Makes a shared informer and starts its threads. NULL: KL_ENOMEM, KL_EIO (no
 * thread). */
kl__shared_informer *
kl__shared_informer_start(const kl__shared_options *options, kl_error *err);

/* Stops and frees it after its last user. Takes at most 50 ms, plus the batch
 * that is being applied; see above for a call inside a callback. */
void kl__shared_informer_stop(kl__shared_informer *shared);

kl__indexer *kl__shared_informer_indexer(const kl__shared_informer *shared);
kl__processor *kl__shared_informer_processor(const kl__shared_informer *shared);

/* Borrowed; may be NULL. */
kl_client *kl__shared_informer_client(const kl__shared_informer *shared);

kl__health *kl__shared_informer_health(kl__shared_informer *shared);

/* Calls kl__health_wait_synced and kl__health_end_wait; the error says what the
 * informer waits for, or that it was closed. Any thread, as all below. */
kl_code kl__shared_informer_wait_synced(kl__shared_informer *shared,
                                        kl__sync_waiters *waiters,
                                        int64_t timeout_ms, kl_error *err);

void kl__shared_informer_status(kl__shared_informer *shared,
                                kl_informer_status *status);

/* See kl_informer_set_shard and kl_informer_holds_shard. */
void kl__shared_informer_set_shard(kl__shared_informer *shared,
                                   const kl__shard *shards);
bool kl__shared_informer_holds_shard(kl__shared_informer *shared);

/* What an informer shows besides its status. */
typedef struct kl__informer_figures {
    kl_informer_status status;
    const void *shared; /* the same for all handles of a shared informer; not to
                           be used as a pointer */
    char name[256];     /* "pods in web", as in the log; cut */
    char group[256], version[64], resource[256]; /* "": not known yet */
    char store_version[128];
    uint64_t taken; /* batches that were applied, and how long that took */
    double taken_seconds;
    uint64_t buckets[KL__LATENCY_BUCKETS + 1];
} kl__informer_figures;

/* The upper bounds of the buckets, in seconds: those of client-go. */
extern const double kl__latency_bounds[KL__LATENCY_BUCKETS];

/* Fills all but group, version and resource. */
void kl__shared_informer_figures(kl__shared_informer *shared,
                                 kl__informer_figures *figures);

/* Called after a registration was added: pushes the standing error to it, and
 * wakes the informing task, as its resync may be the next one due. */
void kl__shared_informer_added(kl__shared_informer *shared);

#endif
