/*
 * sim_openapi.h - /openapi/v3 and /openapi/v2: the schemas of all served kinds,
 * for kubectl explain, apply and validation. Each request makes its document
 * anew.
 */
#ifndef KL_SIM_OPENAPI_H
#define KL_SIM_OPENAPI_H

#include "sim/core/schema/openapi.h"
#include "sim/core/answer/sim_answer.h"

/* Answers a GET below /openapi; 404 if there is no such document. KL_ENOMEM. */
kl_code kl__sim_openapi(kl__sim_answer *answer, kl_error *err);

#endif
