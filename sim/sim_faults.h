/*
 * sim_faults.h - the faults that are in force. Below /kubelua/faults and
 * kl_sim_fault order them. The cluster's mutex is held.
 */
#ifndef KL_SIM_FAULTS_H
#define KL_SIM_FAULTS_H

#include "sim/answer/sim_answer.h"

/* Orders the fault that the body of a request describes. A fault of the port
 * happens after the answer to this request. The cluster's mutex is not held;
 * `err` is not NULL. */
kl_code kl__sim_fault(kl_sim *sim, const kl__sim_ask *ask, int64_t *id,
                      kl_error *err);

/* Frees all faults, and the record of requests. */
void kl__sim_faults_deinit(kl_sim *sim);

#endif
