/*
 * sim_budgets.h - PodDisruptionBudgets: how many pods may be evicted at once.
 * The cluster's mutex is held.
 */
#ifndef KL_SIM_BUDGETS_H
#define KL_SIM_BUDGETS_H

#include "sim/answer/sim_answer.h"

/* Takes the pod from its budget (not with `tries`, a dry run). If the budget
 * does not allow it, the answer is a 429. KL_ENOMEM. */
kl_code kl__sim_budget_take(kl__sim_answer *answer, const kl__sim_state *pod,
                            bool tries, kl_error *err);

/* Recounts the budgets of a namespace. KL_ENOMEM. */
kl_code kl__sim_budgets_settle(kl_sim *sim, const char *name, kl_error *err);

#endif
