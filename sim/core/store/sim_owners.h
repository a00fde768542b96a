/*
 * sim_owners.h - an index for the garbage collector: for each UID that an
 * ownerReference names, the objects that name it (its dependents). An owner
 * need not exist. The cluster's mutex is held.
 */
#ifndef KL_SIM_OWNERS_H
#define KL_SIM_OWNERS_H

#include "base/list.h"
#include "sim/core/store/sim_core.h"

/* An object that names an owner. */
typedef struct kl__sim_dependent {
    kl__list node;              /* in the owner's list */
    kl__sim_resource *resource; /* where the object is; borrowed */
    char *key;
    char *uid;
} kl__sim_dependent;

/* The entry of one owner's UID. */
typedef struct kl__sim_owned {
    char *uid;
    kl__map dependents; /* kl__sim_dependent by UID */
    kl__list in_order;  /* the same, the first to name the owner first */
    /* The owner's resource (a reference) and key, while the owner is being
     * deleted and waits until its dependents are gone; else NULL. */
    kl__sim_resource *resource;
    char *key;
} kl__sim_owned;

/* Returns the next owner UID of a state, or NULL at the end. Set *at to
 * state->owners before the first call. *keeps gets blockOwnerDeletion. */
const char *kl__sim_owners_next(const char **at, bool *keeps);

/* True if two states have the same owners. A state that is NULL has none. */
bool kl__sim_owners_same(const kl__sim_state *a, const kl__sim_state *b);

/* Adds a state's object to the entries of its owners. After KL_ENOMEM the
 * object may be in some of the entries; that does no harm. */
kl_code kl__sim_owners_add(kl_sim *sim, kl__sim_resource *resource,
                           const kl__sim_state *state, kl_error *err);
/* Removes the object of `state` from the entries of owners that `next`, its new
 * state, does not name. `next` is NULL if the object is gone. */
void kl__sim_owners_remove(kl_sim *sim, const kl__sim_state *state,
                           const kl__sim_state *next);

/* True if an object names that UID as its owner. */
bool kl__sim_owners_has(const kl_sim *sim, const char *uid);
/* The entry of a UID, or NULL. */
kl__sim_owned *kl__sim_owners_of(const kl_sim *sim, const char *uid);
/* The dependent that came after `previous`, NULL at the end; after NULL, the
 * first one. */
const kl__sim_dependent *
kl__sim_owners_after(const kl__sim_owned *owned,
                     const kl__sim_dependent *previous);
/* Notes that the owner, which is being deleted, stays until its dependents are
 * gone. KL_ENOMEM. */
kl_code kl__sim_owners_hold(kl__sim_owned *owned, kl__sim_resource *resource,
                            const char *key, kl_error *err);

/* Adds a chore for each owner of `state` that stays for its dependents only.
 * Called before the object is removed or gets other owners. KL_ENOMEM. */
kl_code kl__sim_owners_loses(kl_sim *sim, const kl__sim_state *state,
                             kl_error *err);

void kl__sim_owners_deinit(kl_sim *sim);

#endif
