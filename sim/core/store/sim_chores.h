/*
 * sim_chores.h - chores: the work of the cluster's controllers after a change,
 * such as deleting dependents, or filling and emptying a namespace. A change
 * adds chores to a list; sim_settle.c carries them out. The cluster's mutex is
 * held.
 */
#ifndef KL_SIM_CHORES_H
#define KL_SIM_CHORES_H

#include "sim/core/store/sim_core.h"

typedef enum kl__sim_chore_type {
    KL__SIM_OWNERS,    /* check that an object's owners exist */
    KL__SIM_GONE,      /* the object of a UID is gone: check its dependents */
    KL__SIM_FINALIZE,  /* an object waits until its dependents are gone */
    KL__SIM_NAMESPACE, /* a namespace is new, or being deleted */
    KL__SIM_BUDGETS,   /* recount the disruption budgets of a namespace */
    KL__SIM_ROLES      /* recompute ClusterRoles that are made of others */
} kl__sim_chore_type;

typedef struct kl__sim_chore {
    kl__list node;
    kl__sim_chore_type type;
    kl__sim_resource *resource; /* a reference; NULL: none */
    char *text;                 /* a key, a UID or a namespace */
} kl__sim_chore;

/* Adds a chore with `length` bytes of `text`, unless the last one is the same.
 * KL_ENOMEM. */
kl_code kl__sim_chore_add(kl_sim *sim, kl__sim_chore_type type,
                          kl__sim_resource *resource, const char *text,
                          size_t length, kl_error *err);

/* Adds the chores that follow when `state` replaces `previous`; either may be
 * NULL. KL_ENOMEM. */
kl_code kl__sim_chores_of(kl_sim *sim, kl__sim_resource *resource,
                          const kl__sim_state *state,
                          const kl__sim_state *previous, kl_error *err);

/* Frees a chore that was taken off the list; or all. */
void kl__sim_chore_free(kl__sim_chore *chore);
void kl__sim_chores_deinit(kl_sim *sim);

#endif
