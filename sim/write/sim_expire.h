/*
 * sim_expire.h - Events end by themselves, an hour after they were written
 * last, as kube-apiserver's --event-ttl has it.
 */
#ifndef KL_SIM_EXPIRE_H
#define KL_SIM_EXPIRE_H

#include "sim/store/sim_core.h"

/* Notes when a state (of any kind) is written, which is about to be current. */
void kl__sim_expire_note(kl_sim *sim, const kl__sim_resource *resource,
                         kl__sim_state *state);

/* Deletes the Events whose time is over; without memory the rest comes with the
 * next call. Whether there were any: controllers may have something to do. */
bool kl__sim_expire(kl_sim *sim);

#endif
