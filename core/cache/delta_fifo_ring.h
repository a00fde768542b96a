/*
 * delta_fifo_ring.h - the queue itself, between delta_fifo.c, which fills and
 * empties it, and delta_fifo_list.c, which looks at what waits; nobody else's.
 */
#ifndef KL_CACHE_DELTA_FIFO_RING_H
#define KL_CACHE_DELTA_FIFO_RING_H

#include "cache/delta_fifo.h"

struct kl__delta_fifo {
    /* Guards everything below but clock and bound; rank FIFO. */
    kl__mutex mutex;
    kl__cond changed; /* something came, something went, closed, cancelled */
    kl__clock *clock;
    size_t bound;

    kl__delta *ring;
    size_t capacity; /* 0 or a power of two */
    size_t head;
    size_t count;
    size_t bounded; /* how many of them count towards the bound */
    bool populated; /* an object or a list was queued */
    bool initial;   /* the first Replaced is not done yet */
    bool gathers;   /* a burst comes in: the consumer may sleep */
    bool closed;
};

/* The delta at `index`, 0 being the one that is popped next. */
static inline kl__delta *kl__delta_at(const kl__delta_fifo *fifo, size_t index)
{
    return &fifo->ring[(fifo->head + index) & (fifo->capacity - 1)];
}

/* Whether it is about one object. */
static inline bool kl__delta_has_object(const kl__delta *delta)
{
    return delta->type <= KL__DELTA_DELETED;
}

#endif
