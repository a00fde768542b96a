/*
 * sim_openapi.h - /openapi/v3 and /openapi/v2: what is served, and what its
 * fields are, for kubectl explain, apply and validation. Made when it is asked
 * for.
 */
#ifndef KL_SIM_OPENAPI_H
#define KL_SIM_OPENAPI_H

#include "sim/schema/openapi.h"
#include "sim/answer/sim_answer.h"

/* Answers a GET below /openapi; 404 where it leads nowhere. KL_ENOMEM. */
kl_code kl__sim_openapi(kl__sim_answer *answer, kl_error *err);

/* Appends the paths of a kind as one version serves it, each with a comma
 * before it but for the first; `type` is the name of its component. */
void kl__sim_openapi_paths(kl__openapi *document, const kl__sim_kind *kind,
                           const kl__sim_version *version, const char *type,
                           bool *is_first);

#endif
