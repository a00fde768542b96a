/*
 * sim_chores.h - what controllers have left to do after a change: who is owned
 * by what is gone, which namespaces are to be filled or emptied. The change
 * leaves notes; kl__sim_settle works them off, before the next request but
 * after the answer was made, as a controller would. The cluster's mutex is
 * held.
 */
#ifndef KL_SIM_CHORES_H
#define KL_SIM_CHORES_H

#include "sim/sim_core.h"

typedef enum kl__sim_chore_type {
    KL__SIM_OWNERS,    /* whether the owners of an object are there */
    KL__SIM_GONE,      /* an object of that UID is gone: its dependents */
    KL__SIM_FINALIZE,  /* an object waits for its dependents */
    KL__SIM_NAMESPACE, /* a namespace is new, or is to be emptied */
    KL__SIM_BUDGETS    /* the disruption budgets of a namespace */
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

/* Works off all chores, also those that these bring. KL_ENOMEM: the rest waits
 * for the next call. */
kl_code kl__sim_settle(kl_sim *sim, kl_error *err);

/* Forgets them all. */
void kl__sim_chores_deinit(kl_sim *sim);

/* --- The controllers. KL_ENOMEM. ------------------------------------------ */

/* sim_gc.c */
kl_code kl__sim_gc_owners(kl_sim *sim, kl__sim_resource *resource,
                          const char *key, kl_error *err);
kl_code kl__sim_gc_gone(kl_sim *sim, const char *uid, kl_error *err);
kl_code kl__sim_gc_finalize(kl_sim *sim, kl__sim_resource *resource,
                            const char *key, kl_error *err);
/* sim_namespace.c */
kl_code kl__sim_namespace_settle(kl_sim *sim, const char *name, kl_error *err);

#endif
