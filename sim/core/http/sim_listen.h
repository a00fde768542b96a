/*
 * sim_listen.h - the listener serves the cluster on a TCP port, with or without
 * TLS. kl_sim_listen is the public call; sim_keeper.c carries out the faults
 * that break the port.
 */
#ifndef KL_SIM_LISTEN_H
#define KL_SIM_LISTEN_H

#include "sim/core/http/sim_tls.h"
#include "sim/core/store/sim_core.h"

/* Stops listening, breaks all connections, and waits for their threads. Does
 * nothing if the cluster does not listen. */
void kl__sim_listener_stop(kl_sim *sim);

/* The caller holds sim->listening for the next two. kl__sim_listener_certify
 * serves TLS with another certificate of the same authority: for `host` (NULL:
 * the listener's own), valid for `seconds` (0: a year; negative: it expired so
 * long ago). It breaks all connections. KL_EINVAL, KL_ETLS, KL_EIO,
 * KL_ENOMEM. */
kl_code kl__sim_listener_certify(kl_sim *sim, const char *host, int64_t seconds,
                                 kl_error *err);
/* Refuses connections (`on`), or accepts them again on the same port. */
void kl__sim_listener_refuse(kl_sim *sim, bool on);

/* The URL that the cluster listens on, and its certificates (NULL: without
 * TLS); borrowed while sim->listening is held. NULL: it does not listen. */
const char *kl__sim_listener_look(const kl_sim *sim, const kl__sim_tls **tls);

#endif
