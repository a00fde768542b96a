/*
 * sim_keeper.h - faults of the port itself: nobody listens for a while, or
 * there is another certificate. A thread of its own does what is to be done
 * later; it exists from the first such order on.
 */
#ifndef KL_SIM_KEEPER_H
#define KL_SIM_KEEPER_H

#include "sim/request/sim_rule.h"
#include "sim/store/sim_core.h"

/* Carries an order out (KL__SIM_REFUSE, KL__SIM_CERTIFICATE). `later`: once the
 * answer of the request that it came by has had time to go out. KL_EINVAL,
 * KL_ETLS, KL_EIO, KL_ENOMEM. */
kl_code kl__sim_keeper_order(kl_sim *sim, const kl__sim_rule *rule, bool later,
                             kl_error *err);

/* Ends the thread. */
void kl__sim_keeper_stop(kl_sim *sim);

#endif
