/*
 * sim_listen.h - the cluster on a port.
 */
#ifndef KL_SIM_LISTEN_H
#define KL_SIM_LISTEN_H

#include "sim/http/sim_tls.h"
#include "sim/store/sim_core.h"

/* Stops listening, breaks what is connected, and waits for its threads. Nothing
 * happens if it does not listen. */
void kl__sim_listener_stop(kl_sim *sim);

/* The next two while sim->listening is held. Serves TLS with another
 * certificate of the same authority: of a host (NULL: its own), for so many
 * seconds (0: a year; less: it has expired). Connections break. KL_EINVAL,
 * KL_ETLS, KL_EIO, KL_ENOMEM. */
kl_code kl__sim_listener_certify(kl_sim *sim, const char *host, int64_t seconds,
                                 kl_error *err);
/* Refuses connections, or accepts them again, on the same port. */
void kl__sim_listener_refuse(kl_sim *sim, bool on);

/* Where it listens, and with what certificates (NULL: without TLS); borrowed
 * while sim->listening is held. NULL: it does not listen. */
const char *kl__sim_listener_look(const kl_sim *sim, const kl__sim_tls **tls);

#endif
