/*
 * sim_update.c - PUT of an object or of its status.
 */
#include "sim/core/write/sim_write.h"

#include "base/mem.h"
#include "sim/core/write/sim_kinds_own.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_track.h"

/* Finds the object. For kinds whose PUT can create an object, it may be
 * missing. */
static kl_code find_updated(kl__sim_write *write, kl_error *err)
{
    const kl__sim_route *route = &write->answer->ask.route;
    char *key;
    bool exists;

    if (!kl__sim_put_creates(write->kind) || *write->subresource != '\0') {
        return kl__sim_write_find(write, err);
    }
    key = kl__sim_key(route->name_space, route->name);
    if (key == NULL) {
        return kl__sim_no_memory(err);
    }
    exists = kl__sim_tree_find(&write->resource->items, key) != NULL;
    kl__free(key);
    return exists ? kl__sim_write_find(write, err) : KL_OK;
}

kl_code kl__sim_update(kl__sim_answer *answer, kl__sim_resource *resource,
                       const kl__sim_version *served, kl_error *err)
{
    static const kl__sim_step steps[] = {kl__sim_check_manager, kl__sim_decode,
                                         find_updated, kl__sim_write_run};
    kl__sim_write write;
    kl_code code;

    kl__sim_write_open(&write, answer, resource, served);
    write.operation = KL__SIM_UPDATE;
    code = kl__sim_write_steps(&write, steps, sizeof(steps) / sizeof(steps[0]),
                               err);
    kl__sim_write_close(&write);
    return code;
}
