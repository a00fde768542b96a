/*
 * sim_write.c - see sim_pipeline.h: all stages of a write, in their order;
 * opens and closes a write, finds its object, and runs its steps; POST and PUT.
 */
#include "sim/core/write/sim_write.h"

#include "base/mem.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_track.h"

#include <string.h>

/* --- Stages of higher folders. ------------------------------------------- */

static kl_code shape_custom(kl__sim_write *write, kl_error *err)
{
    return write->answer->sim->hooks->custom_shape(write, err);
}

static kl_code convert_custom(kl__sim_write *write, kl_error *err)
{
    return write->answer->sim->hooks->custom_convert(write, err);
}

/* The stages between a verb and the store, in their order. */
static const kl__sim_step stages[] = {
    kl__sim_note_managers,  kl__sim_decode_fields,   shape_custom,
    kl__sim_identify,       kl__sim_enter_namespace, kl__sim_track,
    kl__sim_convert_fields, kl__sim_prepare,         kl__sim_validate,
    kl__sim_encode_fields,  kl__sim_keep_track,      convert_custom,
    kl__sim_conclude};

kl_code kl__sim_write_run(kl__sim_write *write, kl_error *err)
{
    return kl__sim_write_steps(write, stages,
                               sizeof(stages) / sizeof(stages[0]), err);
}

/* ---- a write ---- */

void kl__sim_write_open(kl__sim_write *write, kl__sim_answer *answer,
                        kl__sim_resource *resource,
                        const kl__sim_version *served)
{
    const char *subresource = answer->ask.route.subresource;

    memset(write, 0, sizeof(*write));
    write->answer = answer;
    write->resource = resource;
    write->kind = answer->kind != NULL ? answer->kind : resource->kind;
    write->served = served;
    write->subresource = subresource != NULL ? subresource : "";
    write->invalid.group = resource->kind->group;
    write->invalid.kind = resource->kind->kind;
}

void kl__sim_write_close(kl__sim_write *write)
{
    kl__edit_free(write->edit);
    kl__edit_free(write->before);
    kl__field_errors_deinit(&write->errors);
    kl__findings_deinit(&write->sent);
    kl__sim_state_unref(write->old);
}

kl__sim_state *kl__sim_current(kl__sim_answer *answer,
                               kl__sim_resource *resource, kl_code *code,
                               kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    char *key = kl__sim_key(route->name_space, route->name);
    kl__sim_node *node;

    if (key == NULL) {
        *code = kl_error_set(err, KL_ENOMEM, "out of memory for a name");
        return NULL;
    }
    node = kl__sim_tree_find(&resource->items, key);
    kl__free(key);
    if (node == NULL) {
        *code = kl__sim_refuse_missing(answer, answer->kind, route->name, err);
        return NULL;
    }
    return node->state;
}

kl_code kl__sim_write_find(kl__sim_write *write, kl_error *err)
{
    kl_code code = KL_OK;
    kl__sim_state *old =
        kl__sim_current(write->answer, write->resource, &code, err);

    if (old == NULL) {
        return code;
    }
    write->old = kl__sim_state_ref(old);
    write->before = kl__sim_state_edit(old, err);
    return write->before != NULL
               ? write->answer->sim->hooks->custom_before(write, err)
               : KL_ENOMEM;
}

kl_code kl__sim_write_steps(kl__sim_write *write, const kl__sim_step *steps,
                            size_t count, kl_error *err)
{
    kl_code code = KL_OK;

    for (size_t i = 0;
         i < count && code == KL_OK && kl__sim_write_goes_on(write); i++) {
        code = steps[i](write, err);
    }
    return code;
}

/* ---- POST ---- */

kl_code kl__sim_create(kl__sim_answer *answer, kl__sim_resource *resource,
                       const kl__sim_version *served, kl_error *err)
{
    static const kl__sim_step steps[] = {kl__sim_check_manager, kl__sim_decode,
                                         kl__sim_write_run};
    kl__sim_write write;
    kl_code code;

    kl__sim_write_open(&write, answer, resource, served);
    write.operation = KL__SIM_CREATE;
    code = kl__sim_write_steps(&write, steps, sizeof(steps) / sizeof(steps[0]),
                               err);
    kl__sim_write_close(&write);
    return code;
}

/* ---- PUT ---- */

kl_code kl__sim_update(kl__sim_answer *answer, kl__sim_resource *resource,
                       const kl__sim_version *served, kl_error *err)
{
    static const kl__sim_step steps[] = {kl__sim_check_manager, kl__sim_decode,
                                         kl__sim_write_find, kl__sim_write_run};
    kl__sim_write write;
    kl_code code;

    kl__sim_write_open(&write, answer, resource, served);
    write.operation = KL__SIM_UPDATE;
    code = kl__sim_write_steps(&write, steps, sizeof(steps) / sizeof(steps[0]),
                               err);
    kl__sim_write_close(&write);
    return code;
}
