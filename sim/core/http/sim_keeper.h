/*
 * sim_keeper.h - faults of the port itself: it refuses connections for a time,
 * or has another certificate. An order that has to wait is carried out by the
 * keeper's thread, which the first such order starts.
 */
#ifndef KL_SIM_KEEPER_H
#define KL_SIM_KEEPER_H

#include "sim/core/request/sim_rule.h"
#include "sim/core/store/sim_core.h"

/* Carries an order out (KL__SIM_REFUSE, KL__SIM_CERTIFICATE). `later`: after a
 * short time, so that the answer to the request that gave the order can be sent
 * first. KL_EINVAL, KL_ETLS, KL_EIO, KL_ENOMEM. */
kl_code kl__sim_keeper_order(kl_sim *sim, const kl__sim_rule *rule, bool later,
                             kl_error *err);

/* Stops the keeper's thread. */
void kl__sim_keeper_stop(kl_sim *sim);

#endif
