/*
 * sim_discovery.h - what is served, told in both of Kubernetes' ways. The
 * cluster's mutex is held.
 */
#ifndef KL_SIM_DISCOVERY_H
#define KL_SIM_DISCOVERY_H

#include "sim/answer/sim_answer.h"

/* Answers a path that leads to no resource: /api, /apis, /apis/G, /api/V,
 * /version, /healthz and their like. KL_ENOMEM. */
kl_code kl__sim_discover(kl__sim_answer *answer, kl_error *err);

/* 404 of a path under a group and version that are not served, or no path. */
kl_code kl__sim_refuse_unserved(kl__sim_answer *answer, kl_error *err);

#endif
