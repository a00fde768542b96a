/*
 * sim_versions.c - see sim_versions.h. Objects are stored in one version and
 * converted when they are read and written.
 */
#include "sim/core/write/sim_versions.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/store/sim_convert.h"

kl_code kl__sim_convert_fields(kl__sim_write *write, kl_error *err)
{
    const kl__conversion *conversion =
        kl__sim_conversion_of(write->kind, write->served);

    if (conversion == NULL) {
        return KL_OK;
    }
    return conversion->to_stored(write->edit, kl__sim_write_root(write))
               ? kl__sim_complete_stored(write, err)
               : kl__sim_no_memory(err);
}

/* Converts a stored object to a version, and sets apiVersion; false: out of
 * memory. */
static bool show_version(kl__edit *edit, kl__node *object,
                         const kl__sim_kind *kind,
                         const kl__sim_version *served)
{
    char *version;
    bool good;

    if (kl__sim_conversion_of(kind, served) == NULL) {
        return true;
    }
    version = kl__strprintf("%s/%s", kind->group, served->name);
    good = version != NULL && kl__sim_show_object(edit, object, kind, served) &&
           kl__sim_put_text(edit, object, "apiVersion", version);
    kl__free(version);
    return good;
}

kl_code kl__sim_show_served(kl__sim_write *write, kl_error *err)
{
    return show_version(write->edit, kl__sim_write_root(write), write->kind,
                        write->served)
               ? KL_OK
               : kl__sim_no_memory(err);
}

/* --- The old object, for stages that compare with it. --------------------- */

kl_code kl__sim_before_open(kl__sim_before *before, const kl__sim_write *write,
                            kl_error *err)
{
    const kl__sim_kind *kind = write->kind;

    before->copy = NULL;
    before->root = kl__sim_write_old(write);
    if (before->root == NULL || kl__sim_kind_is(kind, KL__SIM_CUSTOM) ||
        kl__convert_find(NULL, kind->kind, NULL) == NULL) {
        return KL_OK;
    }
    before->copy = kl__sim_state_edit(write->old, err);
    if (before->copy == NULL) {
        return KL_ENOMEM;
    }
    before->root = kl__edit_root(before->copy);
    return show_version(before->copy, kl__edit_root(before->copy), kind,
                        write->served)
               ? KL_OK
               : kl__sim_no_memory(err);
}

void kl__sim_before_close(kl__sim_before *before)
{
    kl__edit_free(before->copy);
}
