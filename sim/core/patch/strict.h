/*
 * strict.h - checks a patch itself: a JSON patch must consist of operations;
 * strict decoding also finds repeated names, and unknown members of operations.
 */
#ifndef KL_PATCH_STRICT_H
#define KL_PATCH_STRICT_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/schema_check.h"

/* `is_operations`: a JSON patch; else any merge patch. Call it with the patch
 * as it was sent, before repeated names are removed. Results like those of
 * kl__schema_check. */
kl_code kl__patch_check(const kl__node *patch, bool is_operations,
                        kl__findings *out, kl_error *err);

/* Checks the shape of a JSON patch; codes like those of kl__patch_json. */
kl_code kl__patch_check_operations(const kl__node *patch, kl_error *err);

#endif
