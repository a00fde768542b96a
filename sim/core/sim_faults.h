/*
 * sim_faults.h - the rules of faults that are in force (request/sim_rule.h). A
 * test adds a rule with kl_sim_fault, or with POST /kubelua/faults.
 */
#ifndef KL_SIM_FAULTS_H
#define KL_SIM_FAULTS_H

#include "sim/core/answer/sim_answer.h"

/* Puts the fault in force that the body of a request describes; *id gets its
 * number. A fault of the port begins after the answer to this request was sent.
 * The cluster's mutex is not held; `err` is not NULL. */
kl_code kl__sim_fault(kl_sim *sim, const kl__sim_ask *ask, int64_t *id,
                      kl_error *err);

/* Frees all rules, and the record of requests, of a cluster that is no longer
 * used. */
void kl__sim_faults_deinit(kl_sim *sim);

#endif
