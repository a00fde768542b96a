/*
 * sim_pipeline.c - see sim_pipeline.h.
 */
#include "sim/core/write/sim_pipeline.h"

#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_write.h"

#include <string.h>

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

bool kl__sim_write_is_status(const kl__sim_write *write)
{
    return strcmp(write->subresource, "status") == 0;
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

/* --- Stages of higher folders. ------------------------------------------- */

static kl_code shape_custom(kl__sim_write *write, kl_error *err)
{
    return write->answer->sim->hooks->custom_shape(write, err);
}

static kl_code convert_custom(kl__sim_write *write, kl_error *err)
{
    return write->answer->sim->hooks->custom_convert(write, err);
}

static kl_code admit_early(kl__sim_write *write, kl_error *err)
{
    return write->answer->sim->hooks->admit(write, err);
}

static kl_code admit_late(kl__sim_write *write, kl_error *err)
{
    return write->answer->sim->hooks->admit_valid(write, err);
}

/* The stages between a verb and the store, in their order. */
static const kl__sim_step stages[] = {kl__sim_note_managers,
                                      kl__sim_decode_fields,
                                      shape_custom,
                                      kl__sim_identify,
                                      kl__sim_enter_namespace,
                                      kl__sim_track,
                                      kl__sim_convert_fields,
                                      admit_early,
                                      kl__sim_prepare,
                                      kl__sim_validate,
                                      admit_late,
                                      kl__sim_encode_fields,
                                      kl__sim_keep_track,
                                      convert_custom,
                                      kl__sim_conclude};

kl_code kl__sim_write_run(kl__sim_write *write, kl_error *err)
{
    return kl__sim_write_steps(write, stages,
                               sizeof(stages) / sizeof(stages[0]), err);
}
