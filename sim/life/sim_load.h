/*
 * sim_load.h - one request of the loading of manifests.
 */
#ifndef KL_SIM_LOAD_H
#define KL_SIM_LOAD_H

#include "sim/store/sim_core.h"

#include <stdbool.h>

/* Sends one request past faults and tokens. With `loading`, the status, UID and
 * times of the body are kept, and missing namespaces are made. The caller owns
 * the reply. */
kl_code kl__sim_request_once(kl_sim *sim, const kl_call *call, bool loading,
                             kl_reply *reply, kl_error *err);

#endif
