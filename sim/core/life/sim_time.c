/*
 * sim_time.c - kl_sim_now and kl_sim_advance: the cluster's time for its users.
 * When it moves on, Events expire and the controllers work.
 */
#include "sim/core/life/sim_settle.h"
#include "sim/core/write/sim_expire.h"

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
