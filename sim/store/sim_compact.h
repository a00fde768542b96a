/*
 * sim_compact.h - forgetting the history in good time, as an API server has its
 * etcd do. The cluster's mutex is held.
 */
#ifndef KL_SIM_COMPACT_H
#define KL_SIM_COMPACT_H

#include "sim/store/sim_core.h"

void kl__sim_compact_init(kl_sim *sim, int64_t every_ms);
/* Compacts if it is time for it. Asked before each request: nobody else can
 * tell a history that is not there from one that is not asked for. */
void kl__sim_compact_in_time(kl_sim *sim);

#endif
