/*
 * merge_patch.c - see patch.h: JSON merge patch (RFC 7386). Each side is looked
 * up through a table, so the time is linear.
 */
#include "sim/core/patch/patch.h"

#include "sim/core/patch/members.h"

#include <stdarg.h>
#include <stdio.h>

kl_code kl__patch_refuse(kl_error *err, int status, const char *format, ...)
{
    kl_code code = status == 400   ? KL_EBAD_REQUEST
                   : status == 409 ? KL_ECONFLICT
                   : status == 413 ? KL_ETOO_LARGE
                   : status == 415 ? KL_EINVAL
                   : status == 422 ? KL_EINVALID
                                   : KL_EINTERNAL;
    char text[KL_ERROR_MESSAGE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    kl_error_set(err, code, "%s", text);
    if (err != NULL) {
        err->http_status = status;
    }
    return code;
}

static kl_code merge_object(kl__edit *edit, kl__node *target, kl__node *patch,
                            kl_error *err);

/* Changes, replaces or removes members that exist. */
static kl_code merge_present(kl__edit *edit, kl__node *target,
                             const kl__members *patch, kl_error *err)
{
    kl__node_iter iter = {0};
    kl__node *value, *change;
    kl_code code = KL_OK;
    const char *name;
    size_t length;

    while (code == KL_OK &&
           (value = kl__node_next(target, &iter, &name, &length)) != NULL) {
        change = kl__members_get(patch, name, length);
        if (kl__node_is(change, KL_NULL)) {
            kl__node_drop(&iter);
        } else if (change != NULL) {
            code = merge_object(edit, value, change, err);
        }
    }
    return code;
}

/* Adds the members that do not exist. `old` has the members from before
 * merge_present. A member that merge_present removed is null in the patch, so
 * it is not added again. */
static kl_code merge_absent(kl__edit *edit, kl__node *target,
                            const kl__members *old, kl__node *patch,
                            kl_error *err)
{
    kl__node_iter iter = {0};
    kl__node *value;
    const char *name;
    size_t length;

    while ((value = kl__node_next(patch, &iter, &name, &length)) != NULL) {
        if (kl__node_is(value, KL_NULL) ||
            kl__members_get(old, name, length) != NULL) {
            continue;
        }
        kl__node_drop(&iter);
        kl__patch_prune(value);
        if (!kl__node_add_n(edit, target, name, length, value)) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a patch");
        }
    }
    return KL_OK;
}

static kl_code merge_object(kl__edit *edit, kl__node *target, kl__node *patch,
                            kl_error *err)
{
    kl__members changes, old;
    kl_code code;

    if (!kl__node_is(target, KL_OBJECT)) {
        kl__patch_prune(patch);
        kl__node_become(target, patch);
        return KL_OK;
    }
    if (!kl__node_is(patch, KL_OBJECT)) {
        kl__node_become(target, patch);
        return KL_OK;
    }
    kl__members_init(&changes, patch);
    kl__members_init(&old, target);
    code = merge_present(edit, target, &changes, err);
    if (code == KL_OK) {
        code = merge_absent(edit, target, &old, patch, err);
    }
    kl__members_deinit(&old);
    kl__members_deinit(&changes);
    return code;
}

kl_code kl__patch_merge(kl__edit *edit, kl__node *target, kl__node *patch,
                        kl_error *err)
{
    static const char *const words[] = {"null",   "bool",   "number", "number",
                                        "number", "number", "string", "array"};

    if (kl__node_type(patch) == KL_NULL) {
        return kl__patch_refuse(err, 400, "Invalid JSON Patch");
    }
    if (!kl__node_is(patch, KL_OBJECT)) {
        return kl__patch_refuse(err, 400,
                                "error decoding patch: json: cannot unmarshal "
                                "%s into Go value of type "
                                "map[string]interface {}",
                                words[kl__node_type(patch)]);
    }
    return merge_object(edit, target, patch, err);
}
