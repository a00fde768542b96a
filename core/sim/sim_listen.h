/*
 * sim_listen.h - the cluster on a port.
 */
#ifndef KL_SIM_LISTEN_H
#define KL_SIM_LISTEN_H

#include "sim/sim_core.h"

/* Stops listening, breaks what is connected, and waits for its threads. Nothing
 * happens if it does not listen. */
void kl__sim_listener_stop(kl_sim *sim);

/* Refuses connections, or accepts them again, on the same port. */
void kl__sim_listener_refuse(kl_sim *sim, bool on);

#endif
