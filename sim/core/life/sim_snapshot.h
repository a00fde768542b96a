/*
 * sim_snapshot.h - frees the snapshots that kl_sim_snapshot has kept. The
 * cluster's mutex is held.
 */
#ifndef KL_SIM_SNAPSHOT_H
#define KL_SIM_SNAPSHOT_H

#include "sim/core/store/sim_core.h"

/* Frees all snapshots. */
void kl__sim_snapshots_deinit(kl_sim *sim);

#endif
