/*
 * patch.h - the patches that change an object without looking at who owns its
 * fields: JSON patch, merge patch, strategic merge patch. Texts, codes and
 * oddities are those that kube-apiserver 1.36 was seen to have.
 *
 * All change `target` in place; when they fail it is left half changed. A patch
 * is used up. Codes: KL_ENOMEM; else err->http_status says what the server
 * answers (400, 413, 422, 500) and err->message why. Objects must have one
 * member of each name (members.h), but for the values of a JSON patch, which
 * are left as they are where no path leads through them; and what comes out is
 * nested at most KL_MAX_DEPTH deep where what went in was.
 */
#ifndef KL_PATCH_PATCH_H
#define KL_PATCH_PATCH_H

#include "sim/json/edit.h"
#include "sim/schema/schema.h"

enum {
    KL__PATCH_MOST_OPERATIONS = 10000,
    KL__PATCH_MOST_COPIED = 3 * 1024 * 1024 /* bytes that "copy" may add */
};

/* RFC 6902, as evanphx/json-patch 4 reads it: replacing a member that is not
 * there adds it, negative indices count from the end. */
kl_code kl__patch_json(kl__edit *edit, kl__node *target, kl__node *patch,
                       kl_error *err);

/* RFC 7386. */
kl_code kl__patch_merge(kl__edit *edit, kl__node *target, kl__node *patch,
                        kl_error *err);

/* A strategic merge patch. NULL schema: nothing is known, and a patch of that
 * kind is not to be tried. */
kl_code kl__patch_strategic(kl__edit *edit, const kl__schema *schema,
                            kl__node *target, kl__node *patch, kl_error *err);

/* Fills `err` for an answer of that status and returns its code. */
kl_code kl__patch_refuse(kl_error *err, int status, const char *format, ...)
    KL_PRINTF(3, 4);

#endif
