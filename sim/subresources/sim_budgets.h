/*
 * sim_budgets.h - PodDisruptionBudgets: how many pods may go. The cluster's
 * mutex is held.
 */
#ifndef KL_SIM_BUDGETS_H
#define KL_SIM_BUDGETS_H

#include "sim/answer/sim_answer.h"

/* Takes the pod from its budget's count, unless it is only to be tried; where
 * the budget does not allow it, the answer says so. KL_ENOMEM. */
kl_code kl__sim_budget_take(kl__sim_answer *answer, const kl__sim_state *pod,
                            bool tries, kl_error *err);

/* Counts anew what the budgets of a namespace allow. KL_ENOMEM. */
kl_code kl__sim_budgets_settle(kl_sim *sim, const char *name, kl_error *err);

#endif
