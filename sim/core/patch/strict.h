/*
 * strict.h - checks a JSON patch itself: it must consist of operations; strict
 * decoding also finds unknown members of operations.
 */
#ifndef KL_PATCH_STRICT_H
#define KL_PATCH_STRICT_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/schema_check.h"

/* Finds unknown members of operations. Results like those of
 * kl__schema_check. */
kl_code kl__patch_check(const kl__node *patch, kl__findings *out,
                        kl_error *err);

/* Checks the shape of a JSON patch; codes like those of kl__patch_json. */
kl_code kl__patch_check_operations(const kl__node *patch, kl_error *err);

#endif
