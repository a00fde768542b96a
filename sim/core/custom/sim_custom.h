/*
 * sim_custom.h - changes the schema of stored custom objects. The cluster's
 * mutex is held.
 */
#ifndef KL_SIM_CUSTOM_H
#define KL_SIM_CUSTOM_H

#include "sim/core/store/sim_core.h"
#include "sim/core/write/sim_pipeline.h"

/* Serves a changed kind in place of the old one. Each stored object is made
 * anew by the new schema, and keeps its resourceVersion. KL_ENOMEM: objects
 * that were not reached stay as they were. */
kl_code kl__sim_reserve(kl_sim *sim, kl__sim_resource *resource,
                        kl__sim_kind *kind, kl_error *err);

/* --- Steps of a write, called through kl__sim_hooks. KL_ENOMEM. */

/* sim_custom.c: removes fields of a custom object that its schema does not
 * have, and sets defaults. */
kl_code kl__sim_custom_shape(kl__sim_write *write, kl_error *err);
/* sim_custom.c: removes fields that the stored version does not have. */
kl_code kl__sim_custom_convert(kl__sim_write *write, kl_error *err);
/* sim_custom.c: the old object in the request's version. */
kl_code kl__sim_custom_before(kl__sim_write *write, kl_error *err);
/* sim_custom_validate.c: checks a custom object by its schema. */
kl_code kl__sim_custom_validate(kl__sim_write *write, kl_error *err);

#endif
