/*
 * sim_requests.h - the record of what was asked. The cluster's mutex is held.
 */
#ifndef KL_SIM_REQUESTS_H
#define KL_SIM_REQUESTS_H

#include "sim/answer/sim_answer.h"

/* Remembers a request; without memory it is not remembered. */
void kl__sim_requests_add(kl_sim *sim, const kl__sim_ask *ask, int status);
/* Forgets them all. */
void kl__sim_requests_forget(kl_sim *sim);

#endif
