/*
 * sim_chores.h - what controllers have left to do after a change: who is owned
 * by what is gone, which namespaces are to be filled or emptied, what is
 * counted. The change leaves notes; sim_settle.c works them off. The cluster's
 * mutex is held.
 */
#ifndef KL_SIM_CHORES_H
#define KL_SIM_CHORES_H

#include "sim/store/sim_core.h"

typedef enum kl__sim_chore_type {
    KL__SIM_OWNERS,    /* whether the owners of an object are there */
    KL__SIM_GONE,      /* an object of that UID is gone: its dependents */
    KL__SIM_FINALIZE,  /* an object waits for its dependents */
    KL__SIM_NAMESPACE, /* a namespace is new, or is to be emptied */
    KL__SIM_BUDGETS,   /* the disruption budgets of a namespace */
    KL__SIM_QUOTAS,    /* the quotas of a namespace */
    KL__SIM_ROLES,     /* ClusterRoles that others add to */
    KL__SIM_PROTECTION /* claims and volumes that may be in use no longer */
} kl__sim_chore_type;

typedef struct kl__sim_chore {
    kl__list node;
    kl__sim_chore_type type;
    kl__sim_resource *resource; /* a reference; NULL: none */
    char *text;                 /* a key, a UID or a namespace */
} kl__sim_chore;

/* Notes a chore, unless the last one is the same; `length` bytes of `text`.
 * KL_ENOMEM. */
kl_code kl__sim_chore_add(kl_sim *sim, kl__sim_chore_type type,
                          kl__sim_resource *resource, const char *text,
                          size_t length, kl_error *err);

/* Notes what follows from a state that is about to take the place of another;
 * either may be NULL. KL_ENOMEM. */
kl_code kl__sim_chores_of(kl_sim *sim, kl__sim_resource *resource,
                          const kl__sim_state *state,
                          const kl__sim_state *previous, kl_error *err);

/* Forgets one that was taken off the list, or all. */
void kl__sim_chore_free(kl__sim_chore *chore);
void kl__sim_chores_deinit(kl_sim *sim);

/* sim_namespace_life.c: whether the namespace's controller minds that a state
 * goes. */
bool kl__sim_namespace_minds(kl_sim *sim, const kl__sim_kind *kind,
                             const kl__sim_state *state);

#endif
