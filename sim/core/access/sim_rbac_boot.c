/*
 * sim_rbac_boot.c - creates the roles and bindings that every cluster starts
 * with (sim_rbac_table.c).
 */
#include "sim/core/access/sim_rbac.h"
#include "sim/core/access/sim_rbac_table.h"
#include "sim/core/store/sim_core.h"
#include "sim/core/life/sim_settle.h"

#include "kubelua/sim.h"

#include <string.h>

kl_code kl__sim_rbac_bootstrap(kl_sim *sim, kl_error *err)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && kl__sim_rbac_objects[i] != NULL; i++) {
        code = kl_sim_load(sim, kl__sim_rbac_objects[i],
                           strlen(kl__sim_rbac_objects[i]), err);
    }
    if (code == KL_OK && !sim->no_controllers) {
        kl__mutex_lock(&sim->mutex);
        code = kl__sim_settle(sim, err); /* aggregated roles get their rules */
        kl__mutex_unlock(&sim->mutex);
    }
    return code;
}
