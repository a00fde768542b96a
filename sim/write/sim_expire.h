/*
 * sim_expire.h - deletes Events an hour after their last write, like
 * kube-apiserver's --event-ttl.
 */
#ifndef KL_SIM_EXPIRE_H
#define KL_SIM_EXPIRE_H

#include "sim/store/sim_core.h"

/* Notes the time of a write; the state (of any kind) is about to be stored. */
void kl__sim_expire_note(kl_sim *sim, const kl__sim_resource *resource,
                         kl__sim_state *state);

/* Deletes expired Events; without memory the rest goes at the next call. True
 * if there were any: controllers may have chores. */
bool kl__sim_expire(kl_sim *sim);

#endif
