/*
 * sim_versions.c - see sim_versions.h. Objects are stored in one version and
 * converted when they are read and written.
 */
#include "sim/core/write/sim_versions.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/convert.h"
#include "sim/core/schema/schema_normal.h"
#include "sim/core/store/sim_compose.h"

#include <string.h>

/* The conversions between a version and the stored version. NULL: both have the
 * same schema, or the kind is custom. */
static const kl__conversion *conversion_of(const kl__sim_kind *kind,
                                           const kl__sim_version *served)
{
    return kl__sim_kind_is(kind, KL__SIM_CUSTOM) || !served->differs
               ? NULL
               : kl__convert_find(kind->group, kind->kind, served->name);
}

static bool normalize_object(kl__edit *edit, kl__node *object,
                             const kl__sim_kind *kind, const char *version)
{
    kl_error own = {0};
    const kl__schema *schema =
        kl__schema_builtin(kind->group, version, kind->kind, &own);

    return schema != NULL ? kl__schema_normalize(edit, object, schema)
                          : own.code != KL_ENOMEM;
}

/* Converts a stored object to a version; false: out of memory. */
static bool convert_object(kl__edit *edit, kl__node *object,
                           const kl__sim_kind *kind,
                           const kl__sim_version *served)
{
    const kl__conversion *conversion = conversion_of(kind, served);

    return conversion == NULL ||
           (conversion->from_stored(edit, object) &&
            normalize_object(edit, object, kind, served->name));
}

kl_code kl__sim_convert_fields(kl__sim_write *write, kl_error *err)
{
    const kl__conversion *conversion =
        conversion_of(write->kind, write->served);

    if (conversion == NULL) {
        return KL_OK;
    }
    return conversion->to_stored(write->edit, kl__sim_write_root(write))
               ? kl__sim_complete_stored(write, err)
               : kl__sim_no_memory(err);
}

/* The same, and sets apiVersion. */
static bool show_version(kl__edit *edit, kl__node *object,
                         const kl__sim_kind *kind,
                         const kl__sim_version *served)
{
    char *version;
    bool good;

    if (conversion_of(kind, served) == NULL) {
        return true;
    }
    version = kl__strprintf("%s/%s", kind->group, served->name);
    good = version != NULL && convert_object(edit, object, kind, served) &&
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

kl__sim_state *kl__sim_builtin_view(const kl__sim_state *state,
                                    const kl__sim_kind *kind,
                                    const kl__sim_version *served,
                                    kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    kl__sim_state *shown = NULL;

    if (edit != NULL &&
        convert_object(edit, kl__edit_root(edit), kind, served)) {
        shown = kl__sim_compose(kind, edit, state->version, err);
    }
    kl__edit_free(edit);
    return shown;
}

bool kl__sim_store_served(kl__edit *edit, const kl__sim_kind *kind,
                          const kl__sim_kind *stored, const char *api_version)
{
    const char *slash = strrchr(api_version, '/');
    const char *name = slash != NULL ? slash + 1 : api_version;
    const kl__sim_version *served =
        kl__sim_kind_version(kind, name, strlen(name));
    const kl__conversion *conversion =
        served != NULL ? conversion_of(kind, served) : NULL;

    return conversion == NULL ||
           (conversion->to_stored(edit, kl__edit_root(edit)) &&
            normalize_object(edit, kl__edit_root(edit), stored,
                             stored->storage));
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
