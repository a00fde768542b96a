/*
 * strict.h - what decoding finds in a patch itself: what is no operation of a
 * JSON patch; and, where it is strict, names that are there twice, and members
 * of operations that none has.
 */
#ifndef KL_PATCH_STRICT_H
#define KL_PATCH_STRICT_H

#include "sim/json/edit.h"
#include "sim/schema/schema_check.h"

/* `is_operations`: a JSON patch, else a merge of any sort. The patch as it was
 * sent, before its names are made unique. As kl__schema_check. */
kl_code kl__patch_check(const kl__node *patch, bool is_operations,
                        kl__findings *out, kl_error *err);

/* Whether a JSON patch has the shape of one; codes as of kl__patch_json. */
kl_code kl__patch_check_operations(const kl__node *patch, kl_error *err);

#endif
