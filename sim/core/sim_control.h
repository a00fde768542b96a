/*
 * sim_control.h - the simulator's own paths below /kubelua: a test in any
 * language controls the cluster with them over HTTP, as C and Lua do by calls.
 * Only clients on this machine may use them, over the port with the control
 * token and as JSON, and no fault applies to them.
 */
#ifndef KL_SIM_CONTROL_H
#define KL_SIM_CONTROL_H

#include "sim/core/answer/sim_answer.h"

/* True if the path of a request is below /kubelua, and its client may use such
 * paths. */
bool kl__sim_is_control(const kl__sim_answer *answer);

/* Carries the request out. The cluster's mutex is not held. KL_ENOMEM. */
kl_code kl__sim_control(kl__sim_answer *answer, kl_error *err);

#endif
