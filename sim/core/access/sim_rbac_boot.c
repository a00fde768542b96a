/*
 * sim_rbac_boot.c - creates the roles and bindings that every cluster starts
 * with (sim_rbac_table.c).
 */
#include "sim/core/access/sim_rbac.h"
#include "sim/core/access/sim_rbac_table.h"
#include "sim/core/store/sim_core.h"
#include "sim/core/life/sim_settle.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/sim.h"

#include <string.h>

static kl_code load_row(kl_sim *sim, const kl__sim_rbac_row *row, kl_error *err)
{
    char *text = kl__strprintf(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: %s, metadata: {name: "
        "'%s', labels: {kubernetes.io/bootstrapping: rbac-defaults%s}, "
        "annotations: {rbac.authorization.kubernetes.io/autoupdate: 'true'}}, "
        "%s",
        row->kind, row->name, row->labels, row->rest);
    kl_code code =
        text != NULL ? kl_sim_load(sim, text, strlen(text), err)
                     : kl_error_set(err, KL_ENOMEM, "out of memory for a role");

    kl__free(text);
    return code;
}

kl_code kl__sim_rbac_bootstrap(kl_sim *sim, kl_error *err)
{
    const kl__sim_rbac_row *row = kl__sim_rbac_rows;
    kl_code code = KL_OK;

    for (; code == KL_OK && row->kind != NULL; row++) {
        code = load_row(sim, row, err);
    }
    if (code == KL_OK && !sim->no_controllers) {
        kl__mutex_lock(&sim->mutex);
        code = kl__sim_settle(sim, err); /* aggregated roles get their rules */
        kl__mutex_unlock(&sim->mutex);
    }
    return code;
}
