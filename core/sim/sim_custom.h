/*
 * sim_custom.h - custom objects by the schemas of their versions.
 */
#ifndef KL_SIM_CUSTOM_H
#define KL_SIM_CUSTOM_H

#include "sim/sim_state.h"

struct kl__sim_resource;

/* The object as another version of its kind has it, to be written in that
 * version; NULL: out of memory. One reference for the caller. */
kl__sim_state *kl__sim_custom_view(const kl__sim_state *state,
                                   const kl__sim_kind *kind,
                                   const kl__sim_version *served,
                                   kl_error *err);

/* Makes all objects of a resource anew by its kind's schema, each at the
 * version that it has: the kind has changed. KL_ENOMEM: those that are left
 * stay. */
kl_code kl__sim_custom_renew(struct kl__sim_resource *resource, kl_error *err);

#endif
