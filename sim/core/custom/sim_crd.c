/*
 * sim_crd.c - CustomResourceDefinitions when they are written: defaults and
 * validation. sim_crd_life.c then serves their kinds.
 */
#include "sim/core/custom/sim_crd.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/definition.h"
#include "sim/core/answer/sim_warnings.h"
#include "sim/core/kinds/sim_kinds_parts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- Defaults. ------------------------------------------------------------ */

static bool complete_spec(kl__edit *edit, kl__node *spec)
{
    const kl__node *versions = kl__node_get(spec, "versions");
    kl__node_iter iter = {0};
    kl__node *version;

    while ((version = kl__node_next(versions, &iter, NULL, NULL)) != NULL) {
        if (!kl__node_is(version, KL_OBJECT)) {
            kl__node_drop(&iter);
        }
    }
    return kl__node_get(spec, "conversion") != NULL ||
           kl__sim_put_text(edit, kl__node_ensure(edit, spec, "conversion"),
                            "strategy", "None");
}

/* --- Status. -------------------------------------------------------------- */

/* Adds the version with `storage: true` to status.storedVersions. */
static bool note_stored(kl__edit *edit, const kl__node *spec, kl__node *status)
{
    kl__node *stored = kl__node_get(status, "storedVersions");
    kl__node_iter iter = {0};
    const kl__node *version;

    if (!kl__node_is(stored, KL_ARRAY)) {
        stored = kl__edit_array(edit);
        if (!kl__node_put(edit, status, "storedVersions", stored)) {
            return false;
        }
    }
    while ((version = kl__node_next(kl__node_get(spec, "versions"), &iter, NULL,
                                    NULL)) != NULL) {
        const char *name = kl__node_text(version, "name");

        if (kl__node_bool(kl__node_get(version, "storage")) && name != NULL) {
            return kl__node_holds(stored, name) ||
                   kl__node_append(stored, kl__edit_text(edit, name));
        }
    }
    return true;
}

static bool begin_status(kl__edit *edit, kl__node *root)
{
    kl__node *status = kl__edit_object(edit), *names;

    if (!kl__node_put(edit, root, "status", status) ||
        !kl__node_put(edit, status, "conditions", kl__edit_null(edit))) {
        return false;
    }
    names = kl__node_ensure(edit, status, "acceptedNames");
    return names != NULL &&
           kl__node_put(edit, names, "plural", kl__edit_text(edit, "")) &&
           kl__node_put(edit, names, "kind", kl__edit_text(edit, ""));
}

kl_code kl__sim_crd_complete(kl__sim_write *write, kl_error *err)
{
    kl__edit *edit = write->edit;
    kl__node *root = kl__sim_write_root(write);
    kl__node *spec = kl__node_ensure(edit, root, "spec");
    bool done = spec != NULL && complete_spec(edit, spec);

    if (done && write->old == NULL) {
        done = begin_status(edit, root);
    } else if (done) {
        done =
            kl__sim_put_copy(edit, root, "status",
                             kl__node_get(kl__sim_write_old(write), "status"));
    }
    return done && note_stored(edit, spec,
                               kl__node_ensure(edit, root, "status"))
               ? KL_OK
               : kl__sim_no_memory(err);
}

/* --- Validation. ---------------------------------------------------------- */

static kl_code warn_format(void *context, const char *name, kl_error *err)
{
    return kl__sim_warnf(context, err, "unrecognized format \"%s\"", name);
}

static kl_code warn_of_formats(kl__sim_write *write, const kl_value *root,
                               kl_error *err)
{
    const kl_value *spec = kl_value_get(root, "spec");
    const char *strategy =
        kl__sim_text(kl_value_get(spec, "conversion"), "strategy");
    kl_code code =
        kl__definition_formats(root, warn_format, write->answer, err);

    if (code == KL_OK && kl__sim_mentions(spec, "x-kubernetes-validations")) {
        code =
            kl__sim_warn(write->answer,
                         "the simulator does not evaluate "
                         "x-kubernetes-validations: every object passes them",
                         err);
    }
    if (code == KL_OK && strategy != NULL && strcmp(strategy, "Webhook") == 0) {
        code = kl__sim_warn(write->answer,
                            "the simulator calls no conversion webhook: "
                            "versions are converted as with strategy None",
                            err);
    }
    return code;
}

kl_code kl__sim_crd_validate(kl__sim_write *write, kl_error *err)
{
    kl_doc *doc = kl__edit_doc(write->edit, err), *old = NULL;
    const kl__node *metadata = kl__sim_write_metadata(write);
    const kl__node *spec = kl__node_get(kl__sim_write_root(write), "spec");
    const char *name = kl__node_text(metadata, "name");
    const char *plural = kl__node_text(kl__node_get(spec, "names"), "plural");
    const char *group = kl__node_text(spec, "group");
    char *expected = kl__strprintf("%s.%s", plural != NULL ? plural : "",
                                   group != NULL ? group : "");
    kl_code code = KL_OK;

    if (write->before != NULL) {
        old = kl__edit_doc(write->before, err);
    }
    if (doc == NULL || expected == NULL ||
        (write->before != NULL && old == NULL)) {
        code = kl__sim_no_memory(err);
    } else {
        if (name != NULL && strcmp(name, expected) != 0 && old == NULL) {
            kl__field_invalid(&write->errors, "metadata.name", name,
                              "must be spec.names.plural+\".\"+spec.group");
        }
        kl__definition_validate(kl_doc_root(doc),
                                old != NULL ? kl_doc_root(old) : NULL,
                                &write->errors);
        if (write->errors.count == 0) {
            code = warn_of_formats(write, kl_doc_root(doc), err);
        }
    }
    kl__free(expected);
    kl_doc_unref(doc);
    kl_doc_unref(old);
    return code;
}
