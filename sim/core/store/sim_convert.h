/*
 * sim_convert.h - objects in another version than the stored one. Built-in
 * kinds that are served in several versions or in two groups have conversions
 * (schema/convert.h). No webhook converts custom objects: another version shows
 * the fields that its own schema has.
 */
#ifndef KL_SIM_CONVERT_H
#define KL_SIM_CONVERT_H

#include "sim/core/json/edit.h"
#include "sim/core/kinds/sim_kinds.h"
#include "sim/core/schema/convert.h"
#include "sim/core/store/sim_state.h"

/* The conversions between a version and the stored version. NULL: both have the
 * same schema, or the kind is custom. */
const kl__conversion *kl__sim_conversion_of(const kl__sim_kind *kind,
                                            const kl__sim_version *served);

/* Converts a stored object of a built-in kind to a version, in place; false:
 * out of memory. */
bool kl__sim_show_object(kl__edit *edit, kl__node *object,
                         const kl__sim_kind *kind,
                         const kl__sim_version *served);
/* Converts an object of the served kind `kind`, in `api_version`, to the stored
 * version of the kind `stored`. False: out of memory. */
bool kl__sim_store_served(kl__edit *edit, const kl__sim_kind *kind,
                          const kl__sim_kind *stored, const char *api_version);

/* Removes fields of a custom object that a version's schema does not have;
 * `unknown` (may be NULL) gets a line for each. KL_ENOMEM. */
kl_code kl__sim_custom_reduce(const kl__sim_version *version, kl__edit *edit,
                              kl__buf *unknown, kl_error *err);

/* The state in a version whose schema differs from the stored one; one
 * reference for the caller. NULL: KL_ENOMEM. */
kl__sim_state *kl__sim_state_in(const kl__sim_state *state,
                                const kl__sim_kind *kind,
                                const kl__sim_version *served, kl_error *err);

#endif
