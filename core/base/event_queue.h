/*
 * event_queue.h - the side of an event queue that registrations and requests
 * see. It stands in base/ because both layers need it.
 */
#ifndef KL_BASE_EVENT_QUEUE_H
#define KL_BASE_EVENT_QUEUE_H

#include "base/list.h"
#include "kubelua/event_queue.h"

/* The place of a registration or request in its queue; guarded by the queue's
 * mutex. */
typedef struct kl__ready {
    kl__list node; /* in the queue's list while it is ready */
    void *tag;
} kl__ready;

/* One reference more, one less: the last one frees the queue. */
void kl__event_queue_ref(kl_event_queue *queue);
void kl__event_queue_unref(kl_event_queue *queue);

/* Puts it at the end of what is ready, unless it is there already. Takes
 * the queue's mutex, rank QUEUE. */
void kl__event_queue_add(kl_event_queue *queue, kl__ready *ready);

/* Takes it out, wherever it is; afterwards the queue does not know it. */
void kl__event_queue_forget(kl_event_queue *queue, kl__ready *ready);

#endif
