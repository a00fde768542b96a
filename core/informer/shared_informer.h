/*
 * shared_informer.h - one reflector, one cache and one processor for all who
 * ask for the same collection; and the two threads that join them.
 *
 * Who owns whom:
 *   kl_informer (a handle, one for each kl_informer_open)
 *     -> counts as one user of a kl__shared_informer; owns the registrations
 *        that were made through it
 *   kl__informer_factory, in the slot of a client: knows, and does not own, the
 *     shared informers that have users; counts those
 *   kl__shared_informer, owned by its users together
 *     -> kl_client (one reference), kl__health, kl__indexer, kl__delta_fifo,
 *        kl__processor, kl__reflector -> kl__list_watch (a reference to the
 *        client of its own)
 *   so a client is freed after its last informer, and the factory with it.
 *
 * Stop, in the reverse order of start: fire the token; the reflector returns,
 * closes the queue, and is joined; the informer thread returns, closes the
 * processor, and is joined; then all is freed. Where the last user leaves on
 * the informer thread (inside an index function), that thread cannot join
 * itself: it is told to, and does all the rest on its way out.
 */
#ifndef KL_INFORMER_SHARED_INFORMER_H
#define KL_INFORMER_SHARED_INFORMER_H

#include "api/list_watch.h"
#include "cache/delta_fifo.h"
#include "cache/indexer.h"
#include "informer/processor.h"

typedef struct kl__shared_informer kl__shared_informer;

/* Zeroed fields are the defaults. */
typedef struct kl__shared_options {
    kl_client *client;      /* one more reference is taken; may be NULL */
    kl__list_watch *source; /* taken, also when it fails; required */
    kl__clock *clock;       /* borrowed; NULL: the real one */
    const char *name;       /* for logs and errors; copied; required */
    int64_t idle_timeout_ms;
    int page_size;
    bool no_streaming_list;
    bool compress;
} kl__shared_options;

/* Starts its threads. NULL: KL_ENOMEM, KL_EIO (no thread). */
kl__shared_informer *
kl__shared_informer_start(const kl__shared_options *options, kl_error *err);

/* Stops and frees it, once nobody uses it any more. Takes at most 50 ms, plus
 * the batch that is being applied; see above for its own thread. */
void kl__shared_informer_stop(kl__shared_informer *shared);

/* Borrowed. */
const char *kl__shared_informer_name(const kl__shared_informer *shared);
kl__indexer *kl__shared_informer_indexer(const kl__shared_informer *shared);
kl__processor *kl__shared_informer_processor(const kl__shared_informer *shared);

kl__health *kl__shared_informer_health(kl__shared_informer *shared);

/* From here on: any thread. As kl__health_wait_synced and leave, in one; the
 * error says what stands in the way, or what was closed. */
kl_code kl__shared_informer_wait_synced(kl__shared_informer *shared,
                                        kl__sync_waiters *waiters,
                                        int64_t timeout_ms, kl_error *err);

void kl__shared_informer_status(kl__shared_informer *shared,
                                kl_informer_status *status);

/* After a registration was added: it is told what stands in the way, if
 * anything does, and its resync may be due before anything else happens. */
void kl__shared_informer_added(kl__shared_informer *shared);

#endif
