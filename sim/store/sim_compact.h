/*
 * sim_compact.h - forgets old events of the history regularly, as
 * kube-apiserver compacts etcd (docs/KUBERNETES.md#compaction); a watch of a
 * forgotten version gets 410. The cluster's mutex is held.
 */
#ifndef KL_SIM_COMPACT_H
#define KL_SIM_COMPACT_H

#include "sim/store/sim_core.h"

void kl__sim_compact_init(kl_sim *sim, int64_t every_ms);
/* Compacts if it is time. Called before each request: that is early enough, as
 * only a request can see the difference. */
void kl__sim_compact_in_time(kl_sim *sim);

#endif
