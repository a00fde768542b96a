/*
 * sim_pipeline.c - see sim_pipeline.h: all stages of a write, in their order.
 */
#include "sim/core/write/sim_pipeline.h"

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
