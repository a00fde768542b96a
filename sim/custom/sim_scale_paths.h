/*
 * sim_scale_paths.h - where a custom object has its replicas: the paths of its
 * subresource scale.
 */
#ifndef KL_SIM_SCALE_PATHS_H
#define KL_SIM_SCALE_PATHS_H

#include "sim/json/edit.h"
#include "kubelua/value.h"

#include <stdbool.h>

/* A path of subresources.scale (which may be NULL), or NULL. */
const char *kl__sim_scale_path(const kl_value *scale, const char *name);

/* What a path (".spec.replicas") leads to; false: there is nothing. */
bool kl__sim_scale_find(const kl__node *root, const char *path,
                        const kl__node **found);

/* Sets what it leads to, making objects on the way; false when out of memory or
 * the value is NULL. */
bool kl__sim_scale_put(kl__edit *edit, kl__node *root, const char *path,
                       kl__node *value);

#endif
