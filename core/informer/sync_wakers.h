/*
 * sync_wakers.h - a list of event queues to wake once, when an informer syncs
 * or ends, or when its cache changes: so a loop waits for that without
 * blocking.
 */
#ifndef KL_INFORMER_SYNC_WAKERS_H
#define KL_INFORMER_SYNC_WAKERS_H

#include "base/list.h"
#include "kubelua/handler.h"

/* The owner's mutex guards it; its rank is below QUEUE. */
typedef struct kl__sync_wakers {
    kl__list list;
} kl__sync_wakers;

void kl__sync_wakers_init(kl__sync_wakers *wakers);

/* Adds a queue for `user`, if it is not there; takes a reference. KL_ENOMEM. */
kl_code kl__sync_wakers_add(kl__sync_wakers *wakers, const void *user,
                            kl_event_queue *queue);

/* Wakes all queues and empties the list. */
void kl__sync_wakers_wake(kl__sync_wakers *wakers);

/* Removes the queues of `user` (NULL: all) without waking them. */
void kl__sync_wakers_forget(kl__sync_wakers *wakers, const void *user);

#endif
