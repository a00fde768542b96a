/*
 * sim_custom.h - changes the schema of stored custom objects; finds the paths
 * of their scale. The cluster's mutex is held.
 */
#ifndef KL_CUSTOM_SIM_CUSTOM_H
#define KL_CUSTOM_SIM_CUSTOM_H

#include "kubelua/value.h"
#include "sim/core/json/edit.h"
#include "sim/core/store/sim_core.h"
#include "sim/core/write/sim_pipeline.h"

#include <stdbool.h>

/* Serves a changed kind in place of the old one. Each stored object is made
 * anew by the new schema, and keeps its resourceVersion. KL_ENOMEM: objects
 * that were not reached stay as they were. */
kl_code kl__sim_reserve(kl_sim *sim, kl__sim_resource *resource,
                        kl__sim_kind *kind, kl_error *err);

/* --- Steps of a write, called through kl__sim_hooks. KL_ENOMEM. */

/* Removes fields of a custom object that its schema does not
 * have, and sets defaults. */
kl_code kl__sim_custom_shape(kl__sim_write *write, kl_error *err);
/* Removes fields that the stored version does not have. */
kl_code kl__sim_custom_convert(kl__sim_write *write, kl_error *err);
/* The old object in the request's version. */
kl_code kl__sim_custom_before(kl__sim_write *write, kl_error *err);
/* Checks a custom object by its schema. */
kl_code kl__sim_custom_validate(kl__sim_write *write, kl_error *err);

/* ---- the paths to replicas and selector, as subresources.scale names them
 * ---- */

/* The path that `scale` (subresources.scale; may be NULL) has as member `name`.
 * NULL: none. */
const char *kl__sim_scale_path(const kl_value *scale, const char *name);

/* The value at a path (".spec.replicas"); false: there is none. */
bool kl__sim_scale_find(const kl__node *root, const char *path,
                        const kl__node **found);

/* Sets the value at a path, and makes the objects on the way. False: out of
 * memory, or the value is NULL. */
bool kl__sim_scale_put(kl__edit *edit, kl__node *root, const char *path,
                       kl__node *value);

#endif
