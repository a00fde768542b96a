/*
 * sim_create.c - POST of an object.
 */
#include "sim/write/sim_write.h"

#include "sim/write/sim_pipeline.h"
#include "sim/write/sim_track.h"

kl_code kl__sim_create(kl__sim_answer *answer, kl__sim_resource *resource,
                       const kl__sim_version *served, kl_error *err)
{
    kl__sim_write write;
    kl_code code;

    kl__sim_write_open(&write, answer, resource, served);
    write.operation = KL__SIM_CREATE;
    code = kl__sim_check_manager(&write, err);
    if (code == KL_OK && kl__sim_write_goes_on(&write)) {
        code = kl__sim_decode(&write, err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(&write)) {
        code = kl__sim_write_run(&write, err);
    }
    kl__sim_write_close(&write);
    return code;
}
