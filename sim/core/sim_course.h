/*
 * sim_course.h - the course of an answer, from the request to its last byte.
 * Calls in the same process (sim_call.c, sim_transport.c) use it directly, the
 * port (http/) through kl__sim_hooks.
 */
#ifndef KL_SIM_COURSE_H
#define KL_SIM_COURSE_H

#include "sim/core/answer/sim_answer.h"

/* Carries the request out, and blocks until its status is known. KL_ETIMEOUT
 * (may be called again), KL_ECANCELED, KL_ECLOSED, KL_EUNAVAILABLE (a fault),
 * KL_ENOMEM. */
kl_code kl__sim_answer_begin(kl__sim_answer *answer, const kl__sim_wait *wait,
                             kl_error *err);

/* Reads the next bytes of the body, at least one; 0 at its end. Codes as
 * above. */
kl_code kl__sim_answer_read(kl__sim_answer *answer, char *buffer, size_t size,
                            size_t *length, const kl__sim_wait *wait,
                            kl_error *err);

/* sim_api.c: carries the request out and fills the answer, with the cluster's
 * mutex held. A refusal is an answer: KL_OK. Fails with KL_ENOMEM only. */
kl_code kl__sim_dispatch(kl__sim_answer *answer, kl_error *err);

#endif
