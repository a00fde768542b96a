/*
 * sim_requests.h - the record of requests, for tests to look at
 * (kl_sim_requests). The cluster's mutex is held.
 */
#ifndef KL_SIM_REQUESTS_H
#define KL_SIM_REQUESTS_H

#include "sim/core/answer/sim_answer.h"

/* Records a request; if memory runs out, it is not recorded. */
void kl__sim_requests_add(kl_sim *sim, const kl__sim_ask *ask, int status);
/* Empties the record. */
void kl__sim_requests_forget(kl_sim *sim);

#endif
