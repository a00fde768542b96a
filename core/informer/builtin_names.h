/*
 * builtin_names.h - which of Kubernetes' own resources a name means, without
 * asking: so that "po" and "v1/Pod" share an informer before discovery has
 * answered.
 */
#ifndef KL_INFORMER_BUILTIN_NAMES_H
#define KL_INFORMER_BUILTIN_NAMES_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends "plural.version.group" ("pods.v1.") for a name as people type it.
 * False: no built-in resource, or none for sure; nothing is appended. */
bool kl__builtin_name(const char *typed, kl__buf *out);

#endif
