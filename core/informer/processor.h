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
#include "kubelua/handler.h"

typedef struct kl__processor kl__processor;

/* `default_resync_ms`: of handlers that ask for none. `indexer` and `clock` are
 * borrowed for its life. Owned by the caller; NULL when out of memory. */
kl__processor *kl__processor_new(kl__indexer *indexer, kl__clock *clock,
                                 int64_t default_resync_ms);
/* Once closed, and once no registration is left. NULL is fine. */
void kl__processor_free(kl__processor *processor);

/*
 * The informer thread's calls. Between lock and unlock (rank DISTRIBUTE) it
 * changes the indexer and distributes what changed: a registration that joins
 * sees the change in its snapshot or as an event, never both, never neither.
 */
void kl__processor_lock(kl__processor *processor);
void kl__processor_unlock(kl__processor *processor);
/* Takes the changes. `initial`: they are the first list, which is complete with
 * them: from here on, registrations can become synced. KL_ENOMEM: some listener
 * could not take them; the caller makes the informer relist. */
kl_code kl__processor_distribute_locked(kl__processor *processor,
                                        kl__change_list *changes, bool initial);
/* Tells every listener that wants errors; the log if none does. */
void kl__processor_error_locked(kl__processor *processor,
                                const kl_error *error);
/* Replays the cache, as updates with resync = true, to the listeners whose
 * period has come, and sets their next. */
kl_code kl__processor_resync_locked(kl__processor *processor);

/* When the next listener's resync is due, on the clock; -1: never. */
int64_t kl__processor_next_resync(kl__processor *processor);

/* Blocks while a listener that merges nothing is full; once a minute the log
 * names the handler that it waits for. KL_ECANCELED. Not with the lock. */
kl_code kl__processor_wait_room(kl__processor *processor, kl__cancel *cancel);

/* Any thread. As kl_informer_add_handler (handler set) and
 * kl_informer_subscribe (queue set); `owner` is kept for its caller. After
 * close: NULL, KL_ECLOSED. */
typedef struct kl__subscriber {
    const kl_handler *handler;
    kl_event_queue *queue;
    void *tag;
    void *owner;
    const kl_handler_options *options; /* may be NULL */
    const char *informer_name;         /* for logs; borrowed for its life */
} kl__subscriber;
kl_registration *kl__processor_add(kl__processor *processor,
                                   const kl__subscriber *subscriber,
                                   kl_error *err);

/* Removes every registration of `owner` (NULL: all), as
 * kl_registration_remove does each. */
void kl__processor_remove_owner(kl__processor *processor, void *owner);

/* No new registrations, no further events, waiters wake; pull registrations
 * that are left stay valid, and empty, until they are removed. */
void kl__processor_close(kl__processor *processor);

#endif
