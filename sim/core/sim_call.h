/*
 * sim_call.h - sends one request, for the calls of kubelua/sim.h; kl_sim_load
 * does so through kl__sim_hooks.
 */
#ifndef KL_SIM_CALL_H
#define KL_SIM_CALL_H

#include "sim/core/store/sim_core.h"

#include <stdbool.h>

/* Sends one request as the administrator; no fault applies to it. With
 * `loading`, the status, UID and times of the body are kept, and missing
 * namespaces are made. The caller owns the reply. */
kl_code kl__sim_request_once(kl_sim *sim, const kl_call *call, bool loading,
                             kl_reply *reply, kl_error *err);

#endif
