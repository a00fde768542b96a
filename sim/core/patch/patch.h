/*
 * patch.h - the patches that do not look at the managers of fields: JSON patch,
 * merge patch, strategic merge patch (docs/KUBERNETES.md#patches). Messages,
 * codes and odd cases are those that a kube-apiserver 1.36 was seen to have.
 *
 * All functions change `target` in place; after a failure `target` is half
 * changed. The patch must not be used afterwards. Codes: KL_ENOMEM; otherwise
 * err->http_status is what the server answers (400, 413, 422, 500), and
 * err->message explains. No object in the inputs may have a name twice
 * (members.h), except within values of a JSON patch: those objects stay as they
 * are unless a path leads through them. If the inputs are nested at most
 * KL__NODE_DEPTH deep, so is the result.
 */
#ifndef KL_PATCH_PATCH_H
#define KL_PATCH_PATCH_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"
#include "sim/core/schema/schema_check.h"

enum {
    KL__PATCH_MOST_OPERATIONS = 10000,
    KL__PATCH_MOST_COPIED = 3 * 1024 * 1024 /* how many bytes "copy" may add */
};

/* RFC 6902, as evanphx/json-patch 4 reads it: replacing a missing member adds
 * it; negative indices count from the end. */
kl_code kl__patch_json(kl__edit *edit, kl__node *target, kl__node *patch,
                       kl_error *err);

/* RFC 7386. */
kl_code kl__patch_merge(kl__edit *edit, kl__node *target, kl__node *patch,
                        kl_error *err);

/* A strategic merge patch. Where the schema is unknown (NULL), objects are
 * merged and lists are replaced. */
kl_code kl__patch_strategic(kl__edit *edit, const kl__schema *schema,
                            kl__node *target, kl__node *patch, kl_error *err);

/* Fills `err` for an answer with that HTTP status, and returns the code that
 * fits: KL_EBAD_REQUEST for 400, and so on. */
kl_code kl__patch_refuse(kl_error *err, int status, const char *format, ...)
    KL_PRINTF(3, 4);

/* ---- a JSON patch itself ---- */

/* Finds unknown members of operations. Results like those of
 * kl__schema_check. */
kl_code kl__patch_check(const kl__node *patch, kl__findings *out,
                        kl_error *err);

#endif
