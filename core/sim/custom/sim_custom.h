/*
 * sim_custom.h - custom objects by the schemas of their versions.
 */
#ifndef KL_SIM_CUSTOM_H
#define KL_SIM_CUSTOM_H

#include "sim/store/sim_state.h"

struct kl__sim_resource;

/* Makes all objects of a resource anew by its kind's schema, each at the
 * version that it has: the kind has changed. KL_ENOMEM: those that are left
 * stay. */
kl_code kl__sim_custom_renew(struct kl__sim_resource *resource, kl_error *err);

#endif
