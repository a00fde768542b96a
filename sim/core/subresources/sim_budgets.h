/*
 * sim_budgets.h - PodDisruptionBudgets: limits on how many pods of a set may be
 * evicted at once. The cluster's mutex is held.
 */
#ifndef KL_SIM_BUDGETS_H
#define KL_SIM_BUDGETS_H

#include "sim/core/answer/sim_answer.h"

/* Counts the eviction of the pod in its budget, if it has one. Answers 429 if
 * the budget does not allow the eviction. `tries` (a dry run): only checks.
 * KL_ENOMEM. */
kl_code kl__sim_budget_take(kl__sim_answer *answer, const kl__sim_state *pod,
                            bool tries, kl_error *err);

/* Recounts the pods for all budgets of the namespace `name`, and updates their
 * status. KL_ENOMEM. */
kl_code kl__sim_budgets_settle(kl_sim *sim, const char *name, kl_error *err);

#endif
