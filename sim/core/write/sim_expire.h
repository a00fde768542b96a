/*
 * sim_expire.h - deletes Events an hour after their last write, like
 * kube-apiserver's --event-ttl.
 */
#ifndef KL_SIM_EXPIRE_H
#define KL_SIM_EXPIRE_H

#include "sim/core/store/sim_core.h"

/* Sets the time at which the state was written. Called for states of all kinds,
 * before they are stored. */
void kl__sim_expire_note(kl_sim *sim, const kl__sim_resource *resource,
                         kl__sim_state *state);

/* Deletes expired Events. If memory runs out, the next call deletes the rest.
 * True if Events may have been deleted: controllers may have chores then. */
bool kl__sim_expire(kl_sim *sim);

#endif
