/*
 * sim_scale_paths.h - the JSON paths to the number of replicas and the selector
 * in a custom object, as its definition's subresource scale names them.
 */
#ifndef KL_SIM_SCALE_PATHS_H
#define KL_SIM_SCALE_PATHS_H

#include "sim/core/json/edit.h"
#include "kubelua/value.h"

#include <stdbool.h>

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
