/*
 * sim_bell.h - a bell tells waiting readers that something in a cluster has
 * changed. A thread that may block waits for the bell's condition. For a stream
 * whose reader must not block, the bell holds an ear, which is a callback. The
 * cluster's mutex guards both.
 */
#ifndef KL_SIM_BELL_H
#define KL_SIM_BELL_H

#include "base/list.h"
#include "base/thread.h"

typedef struct kl__sim_bell {
    kl__cond cond;
    kl__list ears;
} kl__sim_bell;

/* A callback, registered at one bell at most. The bell removes the ear, then
 * calls `wake` once, with the cluster's mutex held: `wake` may only set a flag
 * and wake the reader's thread. NULL: the ear is never registered. */
typedef struct kl__sim_ear {
    kl__list node;
    void (*wake)(void *arg);
    void *arg;
} kl__sim_ear;

static inline void kl__sim_bell_init(kl__sim_bell *bell)
{
    kl__cond_init(&bell->cond);
    kl__list_init(&bell->ears);
}

static inline void kl__sim_bell_deinit(kl__sim_bell *bell)
{
    kl__cond_deinit(&bell->cond);
}

static inline void kl__sim_bell_ring(kl__sim_bell *bell)
{
    kl__list *node;

    kl__cond_broadcast(&bell->cond);
    while ((node = kl__list_shift(&bell->ears)) != NULL) {
        kl__sim_ear *ear = KL__CONTAINER(node, kl__sim_ear, node);

        ear->wake(ear->arg);
    }
}

/* Registers the ear at this bell, and removes it from any other. */
static inline void kl__sim_bell_hear(kl__sim_bell *bell, kl__sim_ear *ear)
{
    if (ear->wake != NULL) {
        kl__list_remove(&ear->node);
        kl__list_append(&bell->ears, &ear->node);
    }
}

#endif
