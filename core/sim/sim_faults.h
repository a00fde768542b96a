/*
 * sim_faults.h - answers that were ordered in advance, and the record of what
 * was asked. The cluster's mutex is held.
 */
#ifndef KL_SIM_FAULTS_H
#define KL_SIM_FAULTS_H

#include "sim/sim_answer.h"

/* Answers with the failure that is in store for such a request. False: there
 * is none, or there is no memory (*code). */
bool kl__sim_fail_next(kl__sim_answer *answer, kl_code *code, kl_error *err);

/* Remembers a request; without memory it is not remembered. */
void kl__sim_record(kl_sim *sim, const kl__sim_ask *ask, int status);

/* Frees both. */
void kl__sim_faults_deinit(kl_sim *sim);

#endif
