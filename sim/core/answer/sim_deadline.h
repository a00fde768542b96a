/*
 * sim_deadline.h - the parameter ?timeout=, which client-go sends if a Timeout
 * is configured: how long the server may take. It does not apply to watches.
 */
#ifndef KL_SIM_DEADLINE_H
#define KL_SIM_DEADLINE_H

#include "sim/core/answer/sim_answer.h"

/* True if the parameter is a duration or is not given; else the answer is a
 * refusal (*code). */
bool kl__sim_deadline_check(kl__sim_answer *answer, kl_code *code,
                            kl_error *err);

/* The timeout of the request in milliseconds; -1: none, or 60 s and more. */
int64_t kl__sim_deadline_ms(const kl__sim_ask *ask);

/* Answers 504: the timeout is over. KL_ENOMEM. */
kl_code kl__sim_deadline_answer(kl__sim_answer *answer, kl_error *err);

#endif
