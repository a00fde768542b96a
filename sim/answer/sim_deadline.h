/*
 * sim_deadline.h - how long a request may take: ?timeout=, which client-go adds
 * where a Timeout is configured. Watches have none.
 */
#ifndef KL_SIM_DEADLINE_H
#define KL_SIM_DEADLINE_H

#include "sim/answer/sim_answer.h"

/* Whether the parameter is a duration; else the answer is a refusal (*code). */
bool kl__sim_deadline_check(kl__sim_answer *answer, kl_code *code,
                            kl_error *err);

/* The milliseconds that the request gives; -1: as many as it takes. */
int64_t kl__sim_deadline_ms(const kl__sim_ask *ask);

/* 504: they are over. KL_ENOMEM. */
kl_code kl__sim_deadline_answer(kl__sim_answer *answer, kl_error *err);

#endif
