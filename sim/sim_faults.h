/*
 * sim_faults.h - the faults that are in force. The cluster's mutex is held.
 */
#ifndef KL_SIM_FAULTS_H
#define KL_SIM_FAULTS_H

#include "sim/answer/sim_answer.h"

/* kl_sim_fault of a request: what is for the port happens after its answer. The
 * cluster's mutex is not held; `err` is not NULL. */
kl_code kl__sim_fault(kl_sim *sim, const kl__sim_ask *ask, int64_t *id,
                      kl_error *err);

/* Frees them, and the record of requests. */
void kl__sim_faults_deinit(kl_sim *sim);

#endif
