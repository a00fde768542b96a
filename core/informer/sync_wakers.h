/*
 * sync_wakers.h - the event queues that are woken once an informer has its
 * first list, or will never have one; or once its cache changes: how a loop
 * waits for that and does not block.
 */
#ifndef KL_INFORMER_SYNC_WAKERS_H
#define KL_INFORMER_SYNC_WAKERS_H

#include "base/list.h"
#include "kubelua/handler.h"

/* Guarded by its owner's mutex, of a rank below QUEUE. */
typedef struct kl__sync_wakers {
    kl__list list;
} kl__sync_wakers;

void kl__sync_wakers_init(kl__sync_wakers *wakers);

/* Adds a queue for `user`, once; takes a reference to the queue. KL_ENOMEM. */
kl_code kl__sync_wakers_add(kl__sync_wakers *wakers, const void *user,
                            kl_event_queue *queue);

/* Wakes them all, and forgets them. */
void kl__sync_wakers_wake(kl__sync_wakers *wakers);

/* Forgets those of `user` (NULL: all) and does not wake them. */
void kl__sync_wakers_forget(kl__sync_wakers *wakers, const void *user);

#endif
