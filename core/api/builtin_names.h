/*
 * builtin_names.h - the resources that are built into Kubernetes, found by name
 * without asking the server: "pods" needs no discovery before its first
 * request.
 */
#ifndef KL_API_BUILTIN_NAMES_H
#define KL_API_BUILTIN_NAMES_H

#include "kubelua/kind.h"

#include <stddef.h>

/* Row `index` of the table, from 0; NULL behind the last. */
const kl_kind *kl__builtin_at(size_t index);

#endif
