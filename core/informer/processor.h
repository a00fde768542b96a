/*
 * processor.h - hands what the informer thread applied to every listener, and
 * lets listeners come and go meanwhile. The step from cache to listeners is one
 * with the change of the cache, under the distribute lock.
 */
#ifndef KL_INFORMER_PROCESSOR_H
#define KL_INFORMER_PROCESSOR_H

#include "base/cancel.h"
#include "base/clock.h"
#include "cache/indexer.h"
#include "informer/health.h"
#include "kubelua/handler.h"

#include <stdatomic.h>

typedef struct kl__processor kl__processor;

/* `name`: of the informer, for logs; copied. The others are borrowed until
 * close. Owned by the caller; NULL when out of memory. */
kl__processor *kl__processor_new(kl__indexer *indexer, kl__health *health,
                                 kl__clock *clock, const char *name);
/* Once closed. Registrations that are left keep what they need of it. NULL is
 * fine. */
void kl__processor_free(kl__processor *processor);

/*
 * The informer thread's calls. Each changes the indexer and tells every
 * listener as one step (rank DISTRIBUTE): a registration that joins meanwhile
 * sees a change in its snapshot or as an event, never both, never neither.
 * All or nothing: KL_ENOMEM means that neither the indexer nor a listener has
 * changed; the caller still owns batch or list and may try again.
 */
kl_code kl__processor_apply(kl__processor *processor,
                            const kl__delta_batch *batch);
/* The first one is the initial list: with it the informer has synced, and
 * registrations come to be. */
kl_code kl__processor_replace(kl__processor *processor,
                              const kl_object_list *list, const char *version);
/* Tells each listener that wants errors, once for each number of a reason (see
 * kl__health_fail); the log if none does. A listener for which there is no
 * memory is told by kl__processor_resync, if the error stands that long. */
void kl__processor_error(kl__processor *processor, const kl_error *error,
                         uint64_t number);
/* Tells the error that stands, if one does, to listeners that joined after it
 * was told. Any thread. */
void kl__processor_error_again(kl__processor *processor);
/* Replays the cache, as updates with resync = true, to the listeners whose
 * period has come, and sets their next. KL_ENOMEM: not to all of them; it is
 * due again for the others in half a second, and so is an error. */
kl_code kl__processor_resync(kl__processor *processor);

/* When kl__processor_resync has something to do, on the clock; -1: never. After
 * a registration was added that may be sooner: whoever adds one wakes the
 * informer thread (kl__delta_fifo_resync). */
int64_t kl__processor_next_resync(kl__processor *processor);

/* Blocks while a listener that merges nothing is full; after a second, then
 * once a minute, the log names the handler that it waits for. KL_ECANCELED,
 * KL_ECLOSED. */
kl_code kl__processor_wait_room(kl__processor *processor, kl__cancel *cancel);

/* Any thread. As kl_informer_add_handler (handler set) and
 * kl_informer_subscribe (queue set); `owner` is kept for its caller. After
 * close: NULL, KL_ECLOSED. */
typedef struct kl__subscriber {
    const kl_handler *handler;
    kl_event_queue *queue;
    void *tag;
    void *owner;
    /* May be NULL: nobody joins any more from the moment that it is true. */
    const atomic_bool *owner_is_closed;
    /* May be NULL, like both: called before the handler's thread begins, and
     * when it has run its last callback. */
    void (*ref_owner)(void *owner);
    void (*unref_owner)(void *owner);
    const kl_handler_options *options; /* may be NULL */
} kl__subscriber;
kl_registration *kl__processor_add(kl__processor *processor,
                                   const kl__subscriber *subscriber,
                                   kl_error *err);

/* Removes every registration of `owner` (NULL: all), as
 * kl_registration_remove does each. */
void kl__processor_remove_owner(kl__processor *processor, void *owner);

/* The version of the cache, as kl__indexer_version: what every listener has
 * been given. Any thread. */
void kl__processor_version(kl__processor *processor, char *buffer, size_t size);

/* From here on no event is handed out, and waiters for room do not wait any
 * more; close follows. With any mutex of rank CANCEL held; any thread. */
void kl__processor_stop(kl__processor *processor);

/* No new registrations, no further events, waiters wake; pull registrations
 * that are left stay valid, and empty, until they are removed. */
void kl__processor_close(kl__processor *processor);

#endif
