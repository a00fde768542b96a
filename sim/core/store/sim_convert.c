/*
 * sim_convert.c - see sim_convert.h.
 */
#include "sim/core/store/sim_convert.h"

#include "sim/core/schema/custom.h"
#include "sim/core/schema/schema_normal.h"
#include "sim/core/store/sim_compose.h"

#include <string.h>

const kl__conversion *kl__sim_conversion_of(const kl__sim_kind *kind,
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

bool kl__sim_show_object(kl__edit *edit, kl__node *object,
                         const kl__sim_kind *kind,
                         const kl__sim_version *served)
{
    const kl__conversion *conversion = kl__sim_conversion_of(kind, served);

    return conversion == NULL ||
           (conversion->from_stored(edit, object) &&
            normalize_object(edit, object, kind, served->name));
}

bool kl__sim_store_served(kl__edit *edit, const kl__sim_kind *kind,
                          const kl__sim_kind *stored, const char *api_version)
{
    const char *slash = strrchr(api_version, '/');
    const char *name = slash != NULL ? slash + 1 : api_version;
    const kl__sim_version *served =
        kl__sim_kind_version(kind, name, strlen(name));
    const kl__conversion *conversion =
        served != NULL ? kl__sim_conversion_of(kind, served) : NULL;

    return conversion == NULL ||
           (conversion->to_stored(edit, kl__edit_root(edit)) &&
            normalize_object(edit, kl__edit_root(edit), stored,
                             stored->storage));
}

kl_code kl__sim_custom_reduce(const kl__sim_version *version, kl__edit *edit,
                              kl__buf *unknown, kl_error *err)
{
    kl__node *root = kl__edit_root(edit);
    kl_code code = kl__custom_prune(version->schema, root, unknown, err);

    kl__custom_drop_nulls(version->schema, root);
    return code;
}

/* Changes a copy of a stored object as the version shows it. Defaults come from
 * the version that is stored. */
static bool show_copy(kl__edit *edit, const kl__sim_kind *kind,
                      const kl__sim_version *served, kl_error *err)
{
    return kl__sim_kind_is(kind, KL__SIM_CUSTOM)
               ? kl__sim_custom_reduce(served, edit, NULL, err) == KL_OK
               : kl__sim_show_object(edit, kl__edit_root(edit), kind, served);
}

kl__sim_state *kl__sim_state_in(const kl__sim_state *state,
                                const kl__sim_kind *kind,
                                const kl__sim_version *served, kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    kl__sim_state *shown = NULL;

    if (edit != NULL && show_copy(edit, kind, served, err)) {
        shown = kl__sim_compose(kind, edit, state->version, err);
    }
    kl__edit_free(edit);
    return shown;
}
