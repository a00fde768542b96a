/*
 * sim_update.c - PUT of an object or of its status.
 */
#include "sim/core/write/sim_write.h"

#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_track.h"

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
