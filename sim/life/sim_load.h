/*
 * sim_load.h - manifests into a cluster.
 */
#ifndef KL_SIM_LOAD_H
#define KL_SIM_LOAD_H

#include "sim/store/sim_core.h"

#include <stdbool.h>

/* One request beside faults and tokens; with `loading`, what the body says of
 * status, UID and times counts, and missing namespaces are made. The reply is
 * the caller's. */
kl_code kl__sim_request_once(kl_sim *sim, const kl_call *call, bool loading,
                             kl_reply *reply, kl_error *err);

#endif
