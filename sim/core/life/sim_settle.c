/*
 * sim_settle.c - see sim_settle.h. Takes each chore and calls its controller;
 * also when the cluster's time moves on, at which Events expire.
 */
#include "sim/core/life/sim_settle.h"

#include "sim/core/subresources/sim_budgets.h"
#include "sim/core/write/sim_expire.h"
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

/* ---- the cluster's time for its users ---- */

int64_t kl_sim_now(const kl_sim *sim)
{
    return kl__sim_clock_unix(&sim->clock);
}

kl_code kl_sim_advance(kl_sim *sim, int64_t ms, kl_error *err)
{
    const int64_t century_ms = INT64_C(100) * 366 * 24 * 3600 * 1000;

    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return KL_EFORKED;
    }
    if (ms < 0 || ms > century_ms) {
        return kl_error_set(err, KL_EINVAL,
                            "simulator: time only goes forward, by a hundred "
                            "years at most");
    }
    kl__mutex_lock(&sim->mutex);
    atomic_fetch_add_explicit(&sim->clock.base, ms, memory_order_relaxed);
    if (kl__sim_expire(sim)) {
        kl__sim_settle(sim, NULL);
    }
    kl__sim_wake_all(sim);
    kl__mutex_unlock(&sim->mutex);
    return KL_OK;
}
