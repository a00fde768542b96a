/*
 * sim_owners.h - who is owned by whom: the dependents of each UID that an
 * ownerReference names, whether there is such an object or not. The cluster's
 * mutex is held.
 */
#ifndef KL_SIM_OWNERS_H
#define KL_SIM_OWNERS_H

#include "sim/store/sim_core.h"

/* An object that says to be owned. */
typedef struct kl__sim_dependent {
    kl__sim_resource *resource; /* it is in there: borrowed */
    char *key;
    char *uid;
} kl__sim_dependent;

/* Of one UID. */
typedef struct kl__sim_owned {
    char *uid;
    kl__map dependents;         /* kl__sim_dependent by their UIDs */
    kl__sim_resource *resource; /* the owner, where it is kept until they
                                   are gone; a reference; NULL: it is not */
    char *key;
} kl__sim_owned;

/* The owner UIDs of a state, one after the other: start `at` at state->owners;
 * NULL at the end. `keeps` gets blockOwnerDeletion. */
const char *kl__sim_owners_next(const char **at, bool *keeps);

/* Whether two states have the same owners; NULL has none. */
bool kl__sim_owners_same(const kl__sim_state *a, const kl__sim_state *b);

/* Makes the index know that a state's object is there. KL_ENOMEM: it may know
 * it of some owners, which does no harm. */
kl_code kl__sim_owners_add(kl_sim *sim, kl__sim_resource *resource,
                           const kl__sim_state *state, kl_error *err);
/* Makes the index forget the owners of a state that `next` (may be NULL) does
 * not have. */
void kl__sim_owners_remove(kl_sim *sim, const kl__sim_state *state,
                           const kl__sim_state *next);

bool kl__sim_owners_has(const kl_sim *sim, const char *uid);
/* What a UID owns, or NULL. */
kl__sim_owned *kl__sim_owners_of(const kl_sim *sim, const char *uid);
/* Keeps the owner until its dependents are gone. KL_ENOMEM. */
kl_code kl__sim_owners_hold(kl__sim_owned *owned, kl__sim_resource *resource,
                            const char *key, kl_error *err);

/* Notes for owners who are kept that a state is about to go, or to change its
 * owners. KL_ENOMEM. */
kl_code kl__sim_owners_loses(kl_sim *sim, const kl__sim_state *state,
                             kl_error *err);

void kl__sim_owners_deinit(kl_sim *sim);

#endif
