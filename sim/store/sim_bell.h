/*
 * sim_bell.h - a bell is rung when something changes in a cluster. Threads that
 * may block wait for it on its condition; streams whose readers must not block
 * leave an ear, a callback. The cluster's mutex guards all of it.
 */
#ifndef KL_SIM_BELL_H
#define KL_SIM_BELL_H

#include "base/list.h"
#include "base/thread.h"

typedef struct kl__sim_bell {
    kl__cond cond;
    kl__list ears;
} kl__sim_bell;

/* A callback at one bell at most. It is called once, and then taken out. `wake`
 * may only note that it was called; NULL: it is not used. */
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

/* Puts the ear at this bell and takes it away from any other. */
static inline void kl__sim_bell_hear(kl__sim_bell *bell, kl__sim_ear *ear)
{
    if (ear->wake != NULL) {
        kl__list_remove(&ear->node);
        kl__list_append(&bell->ears, &ear->node);
    }
}

#endif
