/*
 * sim_custom.h - custom objects by the schemas of their versions. The cluster's
 * mutex is held.
 */
#ifndef KL_SIM_CUSTOM_H
#define KL_SIM_CUSTOM_H

#include "sim/store/sim_core.h"

/* Serves a changed kind instead: its objects are made anew by that schema, each
 * at the version that it has. KL_ENOMEM: what is left stays as it was. */
kl_code kl__sim_reserve(kl_sim *sim, kl__sim_resource *resource,
                        kl__sim_kind *kind, kl_error *err);

#endif
