/*
 * sim_bell.h - what is rung when something changes in a cluster: threads that
 * block wait at it, and streams whose readers must not block leave an ear.
 * All of it is guarded by the cluster's mutex.
 */
#ifndef KL_SIM_BELL_H
#define KL_SIM_BELL_H

#include "base/list.h"
#include "base/thread.h"

typedef struct kl__sim_bell {
    kl__cond cond;
    kl__list ears;
} kl__sim_bell;

/* At one bell at most, and heard once: then it is taken out. `wake` only notes
 * what it is told; NULL: nothing listens. */
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

/* From now on the ear is at this bell, and at no other. */
static inline void kl__sim_bell_hear(kl__sim_bell *bell, kl__sim_ear *ear)
{
    if (ear->wake != NULL) {
        kl__list_remove(&ear->node);
        kl__list_append(&bell->ears, &ear->node);
    }
}

#endif
