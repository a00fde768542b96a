/*
 * sim_compact.h - forgets old events of the history regularly, as
 * kube-apiserver compacts etcd (docs/KUBERNETES.md#compaction); a watch of a
 * forgotten version gets 410. The cluster's mutex is held.
 */
#ifndef KL_SIM_COMPACT_H
#define KL_SIM_COMPACT_H

#include "sim/core/store/sim_core.h"

void kl__sim_compact_init(kl_sim *sim, int64_t every_ms);
/* Compacts if the time has come. Called before each request: only a request can
 * see the difference, so that is early enough. */
void kl__sim_compact_in_time(kl_sim *sim);

#endif
