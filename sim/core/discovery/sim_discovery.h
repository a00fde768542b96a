/*
 * sim_discovery.h - discovery: tells clients which groups, versions and
 * resources are served, in both of Kubernetes' forms
 * (docs/KUBERNETES.md#discovery). The cluster's mutex is held.
 */
#ifndef KL_SIM_DISCOVERY_H
#define KL_SIM_DISCOVERY_H

#include "sim/core/answer/sim_answer.h"

/* Answers a path that names no resource: /api, /apis, /apis/G, /api/V,
 * /version, /healthz and so on. KL_ENOMEM. */
kl_code kl__sim_discover(kl__sim_answer *answer, kl_error *err);

/* Answers 404: a path below a group and version that are not served, or an
 * unknown path. */
kl_code kl__sim_refuse_unserved(kl__sim_answer *answer, kl_error *err);

#endif
