/*
 * sim_custom.h - changes the schema of stored custom objects. The cluster's
 * mutex is held.
 */
#ifndef KL_SIM_CUSTOM_H
#define KL_SIM_CUSTOM_H

#include "sim/core/store/sim_core.h"

/* Serves a changed kind in place of the old one. Each stored object is made
 * anew by the new schema, and keeps its resourceVersion. KL_ENOMEM: objects
 * that were not reached stay as they were. */
kl_code kl__sim_reserve(kl_sim *sim, kl__sim_resource *resource,
                        kl__sim_kind *kind, kl_error *err);

#endif
