/*
 * sim_kinds_own.h - what single kinds have of their own in a write: what the
 * server sets, and what cannot change. The cluster's mutex is held.
 */
#ifndef KL_SIM_KINDS_OWN_H
#define KL_SIM_KINDS_OWN_H

#include "sim/write/sim_pipeline.h"

/* Sets and resets what the kind of a built-in object asks for; may answer.
 * KL_ENOMEM. */
kl_code kl__sim_prepare_kind(kl__sim_write *write, kl_error *err);
/* Adds to write->errors what the kind does not allow. */
void kl__sim_validate_kind(kl__sim_write *write);

/* Whether it is that built-in kind. */
bool kl__sim_write_is(const kl__sim_write *write, const char *group,
                      const char *plural);

/* Of those kinds. False: out of memory, or a cause was added. */
kl_code kl__sim_prepare_pod(kl__sim_write *write, kl_error *err);
kl_code kl__sim_prepare_service(kl__sim_write *write, kl_error *err);

#endif
