/*
 * sim_settle.c - see sim_settle.h. Takes each chore and calls its controller.
 */
#include "sim/core/life/sim_settle.h"

#include "sim/core/subresources/sim_budgets.h"
#include "sim/core/write/sim_write.h"

static kl_code carry_out_chore(kl_sim *sim, const kl__sim_chore *chore,
                               kl_error *err)
{
    if (chore->resource != NULL && chore->resource->removed) {
        return KL_OK;
    }
    switch (chore->type) {
    case KL__SIM_OWNERS:
        return kl__sim_gc_owners(sim, chore->resource, chore->text, err);
    case KL__SIM_GONE:
        return kl__sim_gc_gone(sim, chore->text, err);
    case KL__SIM_FINALIZE:
        return kl__sim_gc_finalize(sim, chore->resource, chore->text, err);
    case KL__SIM_NAMESPACE:
        return kl__sim_namespace_settle(sim, chore->text, err);
    case KL__SIM_BUDGETS:
        return kl__sim_budgets_settle(sim, chore->text, err);
    case KL__SIM_ROLES:
        return sim->hooks->roles_settle(sim, err);
    }
    return KL_OK;
}

kl_code kl__sim_settle(kl_sim *sim, kl_error *err)
{
    kl_code code = KL_OK;

    while (code == KL_OK && !kl__list_empty(&sim->chores)) {
        kl__sim_chore *chore =
            KL__CONTAINER(kl__list_shift(&sim->chores), kl__sim_chore, node);

        code = carry_out_chore(sim, chore, err);
        if (code == KL_OK) {
            kl__sim_chore_free(chore);
        } else { /* out of memory: the next call begins with this chore */
            kl__list_append(sim->chores.next, &chore->node);
        }
    }
    return code == KL_OK ? kl__sim_crd_settle(sim, err) : code;
}
