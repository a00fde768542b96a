/*
 * processor.h - the registrations of an informer. The informing task, or the
 * thread that has read the events, changes the cache through the processor.
 * Under the distribute lock, the processor changes the cache and pushes the
 * events of the change to every listener; no other thread sees one without the
 * other.
 */
#ifndef KL_INFORMER_PROCESSOR_H
#define KL_INFORMER_PROCESSOR_H

#include "base/cancel.h"
#include "base/clock.h"
#include "cache/indexer.h"
#include "informer/health.h"
#include "kubelua/handler.h"

typedef struct kl__processor kl__processor;

/* `name`: the informer's, for logs; copied. The other arguments are borrowed
 * until close. The caller owns the processor; NULL: out of memory. */
kl__processor *kl__processor_new(kl__indexer *indexer, kl__health *health,
                                 kl__clock *clock, const char *name);
/* After close. Registrations that are left hold a reference. NULL is fine. */
void kl__processor_free(kl__processor *processor);

/*
 * The thread that has the turn of the delta_fifo calls these. Each changes the
 * indexer and pushes to every listener as one step (rank DISTRIBUTE): a
 * registration that is added meanwhile has the change in its snapshot or gets
 * it as an event, never both, never neither. KL_ENOMEM: neither the indexer nor
 * a listener has changed; the caller still owns the batch or list, and may try
 * again. KL_ECLOSED: after close.
 */
kl_code kl__processor_apply(kl__processor *processor,
                            const kl__delta_batch *batch);
/* The same, but KL_ETIMEOUT where apply would wait for a thread that adds or
 * removes a handler, or resyncs. */
kl_code kl__processor_apply_now(kl__processor *processor,
                                const kl__delta_batch *batch);
/* The first call applies the initial list: then the informer and its
 * registrations have synced. On success it takes listed->unreadable out, and
 * apply what an Unreadable delta has; then it pushes an error for each that
 * handlers do not know, to each listener that wants errors (else: logs it). */
kl_code kl__processor_replace(kl__processor *processor, kl__listed *listed,
                              const char *version);
/* Pushes an error to each listener that wants errors, once for each number (see
 * kl__health_fail); logs it if none does. A listener for which there is no
 * memory gets it from kl__processor_resync, if the error still stands then. */
void kl__processor_error(kl__processor *processor, const kl_error *error,
                         uint64_t number);
/* Pushes the standing error, if any, and an error for each object that cannot
 * be read, to listeners that were added after they were pushed. Any thread. */
void kl__processor_error_again(kl__processor *processor);
/* Pushes the cache, as updates with resync = true, to the listeners whose
 * period is over, and sets their next time. KL_ENOMEM: some listeners, or an
 * error, have to wait; they are due again in half a second. KL_ECLOSED. */
kl_code kl__processor_resync(kl__processor *processor);

/* The time, on the clock, when kl__processor_resync has work; -1: never. A
 * registration that is added may make it earlier: its adder wakes the informer
 * thread (kl__delta_fifo_resync). */
int64_t kl__processor_next_resync(kl__processor *processor);

/* Blocks while a listener with every_change is full. After a second, and then
 * once a minute, the log names that handler. KL_ECANCELED, KL_ECLOSED. */
kl_code kl__processor_wait_room(kl__processor *processor, kl__cancel *cancel);
/* True if kl__processor_wait_room would not block. */
bool kl__processor_has_room(kl__processor *processor);

/* Arguments of kl__processor_add, which any thread may call: those of
 * kl_informer_add_handler (handler set) or kl_informer_subscribe (queue set).
 * `owner` is the handle that it is made through. After close: NULL, KL_ECLOSED.
 */
typedef struct kl__subscriber {
    const kl_handler *handler;
    kl_event_queue *queue;
    void *tag;
    void *owner;
    /* May be NULL. Once it returns true, add fails with KL_ECLOSED. */
    bool (*owner_refuses)(const void *owner);
    /* Both may be NULL: called before the handler's thread starts, and after
     * its last callback. */
    void (*use_owner)(void *owner);
    void (*end_use)(void *owner);
    const kl_handler_options *options; /* may be NULL */
} kl__subscriber;
kl_registration *kl__processor_add(kl__processor *processor,
                                   const kl__subscriber *subscriber,
                                   kl_error *err);

/* Removes every registration of `owner` (NULL: all), as kl_registration_remove
 * does, and appends them to `ended` with the user's reference to each. NULL: it
 * drops that reference. */
void kl__processor_remove_owner(kl__processor *processor, void *owner,
                                kl__list *ended);

/* Copies the objects that cannot be read now into `list`, sorted by key, at
 * most KL_UNREADABLE_MAX; see kl_informer_unreadable. KL_ENOMEM. Any thread. */
kl_code kl__processor_unreadable(kl__processor *processor,
                                 kl_unreadable_list *list);
size_t kl__processor_unreadable_count(kl__processor *processor);

/* The version of the cache that every listener has reached. Any thread. */
void kl__processor_version(kl__processor *processor, char *buffer, size_t size);

/* From now on no event can be pulled, and waits for room end; close follows.
 * May be called with a mutex of rank CANCEL held; any thread. */
void kl__processor_stop(kl__processor *processor);

/* Refuses new registrations and further events. Pull registrations that are
 * left stay valid and empty until they are removed. */
void kl__processor_close(kl__processor *processor);

#endif
