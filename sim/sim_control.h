/*
 * sim_control.h - the simulator's own paths below /kubelua. They do over HTTP,
 * for any language, what C and Lua do by calls. They answer to the loopback
 * address only, and no fault touches them.
 */
#ifndef KL_SIM_CONTROL_H
#define KL_SIM_CONTROL_H

#include "sim/answer/sim_answer.h"

/* True if the path of a request is one of these. */
bool kl__sim_is_control(const kl__sim_answer *answer);

/* Carries the request out. The cluster's mutex is not held. KL_ENOMEM. */
kl_code kl__sim_control(kl__sim_answer *answer, kl_error *err);

#endif
