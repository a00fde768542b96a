/*
 * event_queue.h - the producers' side of an event queue: registrations,
 * requests and programs announce here that they have something for their owner.
 * It is in base/ because informer/, api/ and config/ need it.
 */
#ifndef KL_BASE_EVENT_QUEUE_H
#define KL_BASE_EVENT_QUEUE_H

#include "base/list.h"
#include "kubelua/event_queue.h"

/* A member of each registration, request and program: a node in the list of an
 * event queue. The mutex of the queue guards the node. */
typedef struct kl__ready {
    kl__list node; /* in the queue's list while it is ready */
    void *tag;
} kl__ready;

/* Add and drop a reference; dropping the last one frees the queue. */
void kl__event_queue_ref(kl_event_queue *queue);
void kl__event_queue_unref(kl_event_queue *queue);

/* Appends `ready` to the queue's list, unless it is in the list already. Locks
 * the queue's mutex, rank QUEUE, and writes the descriptor after that: until
 * the call returns, the caller keeps the queue alive. */
void kl__event_queue_add(kl_event_queue *queue, kl__ready *ready);

/* Removes `ready` from the queue; afterwards the queue keeps no pointer to
 * it. */
void kl__event_queue_forget(kl_event_queue *queue, kl__ready *ready);

#endif
