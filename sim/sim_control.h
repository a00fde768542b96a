/*
 * sim_control.h - the simulator's own paths below /kubelua: what C and Lua say
 * by calls, any other language says by HTTP. They answer from loopback only,
 * and whatever faults are on.
 */
#ifndef KL_SIM_CONTROL_H
#define KL_SIM_CONTROL_H

#include "sim/answer/sim_answer.h"

/* Whether a request is for them. */
bool kl__sim_is_control(const kl__sim_answer *answer);

/* Carries one out. The cluster's mutex is not held. KL_ENOMEM. */
kl_code kl__sim_control(kl__sim_answer *answer, kl_error *err);

#endif
