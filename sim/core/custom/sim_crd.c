/*
 * sim_crd.c - CustomResourceDefinitions when they are written: defaults and
 * validation; and what sim_crd_life.c does with one before it serves its kinds:
 * its names are accepted, and it is established.
 */
#include "sim/core/custom/sim_crd.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_warnings.h"
#include "sim/core/kinds/sim_kinds_parts.h"
#include "sim/core/schema/definition.h"

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

/* ---- names are accepted ---- */

/* --- Conditions. ---------------------------------------------------------- */

static kl__node *find_condition(const kl__node *root, const char *type)
{
    const kl__node *conditions =
        kl__node_get(kl__node_get(root, "status"), "conditions");
    kl__node_iter iter = {0};
    kl__node *condition;

    while ((condition = kl__node_next(conditions, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_text(condition, "type");

        if (text != NULL && strcmp(text, type) == 0) {
            return condition;
        }
    }
    return NULL;
}

static bool has_condition_text(const kl__node *object, const char *name,
                               const char *text)
{
    const char *value = kl__node_text(object, name);

    return value != NULL && strcmp(value, text) == 0;
}

bool kl__sim_crd_is(const kl__node *root, const char *type, const char *status)
{
    return has_condition_text(find_condition(root, type), "status", status);
}

static kl__node *add_object(kl__edit *edit)
{
    kl__node *root = kl__edit_root(edit);
    kl__node *status = kl__node_ensure(edit, root, "status");
    kl__node *conditions = kl__node_get(status, "conditions");
    kl__node *condition = kl__edit_object(edit);

    if (!kl__node_is(conditions, KL_ARRAY)) {
        conditions = kl__edit_array(edit);
        if (status == NULL ||
            !kl__node_put(edit, status, "conditions", conditions)) {
            return NULL;
        }
    }
    return kl__node_append(conditions, condition) ? condition : NULL;
}

bool kl__sim_crd_condition(kl_sim *sim, kl__edit *edit,
                           const char *const words[4], bool *failed)
{
    static const char *const names[] = {"type", "status", "lastTransitionTime",
                                        "reason", "message"};
    kl__node *condition = find_condition(kl__edit_root(edit), words[0]);
    bool turns = !has_condition_text(condition, "status", words[1]);
    const char *texts[5] = {words[0], words[1], NULL, words[2], words[3]};
    char now[KL__SIM_TIME_SIZE];

    if (!turns && has_condition_text(condition, "reason", words[2]) &&
        has_condition_text(condition, "message", words[3])) {
        return false;
    }
    kl__sim_clock_time(&sim->clock, now);
    texts[2] = turns ? now : NULL;
    if (condition == NULL) {
        condition = add_object(edit);
    }
    for (size_t i = 0; i < 5 && !*failed; i++) {
        *failed =
            condition == NULL ||
            (texts[i] != NULL && !kl__node_put(edit, condition, names[i],
                                               kl__edit_text(edit, texts[i])));
    }
    return true;
}

/* --- Names. --------------------------------------------------------------- */

/* Copies the wanted names that are not empty to the accepted ones. */
static bool take_names(kl__edit *edit, const kl__node *wanted,
                       kl__node *accepted)
{
    static const char *const names[] = {"plural", "singular", "shortNames",
                                        "kind",   "listKind", "categories"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const kl__node *name = kl__node_get(wanted, names[i]);

        if (!has_condition_text(wanted, names[i], "") &&
            !kl__sim_put_copy(edit, accepted, names[i], name)) {
            return false;
        }
    }
    return true;
}

bool kl__sim_crd_accept(kl_sim *sim, kl__edit *edit, bool *failed)
{
    static const char *const fine[] = {"NamesAccepted", "True", "NoConflicts",
                                       "no conflicts found"};
    static const char *const installing[] = {
        "Established", "False", "Installing",
        "the initial names have been accepted"};
    static const char *const done[] = {"Established", "True",
                                       "InitialNamesAccepted",
                                       "the initial names have been accepted"};
    kl__node *root = kl__edit_root(edit);
    kl__node *status = kl__node_ensure(edit, root, "status");
    const kl__node *wanted = kl__node_get(kl__node_get(root, "spec"), "names");
    kl__node *accepted = kl__edit_object(edit);
    bool was = find_condition(root, "Established") != NULL, changed;

    if (status == NULL || accepted == NULL ||
        !take_names(edit, wanted, accepted)) {
        *failed = true;
        return false;
    }
    changed = !kl__node_equal(kl__node_get(status, "acceptedNames"), accepted);
    if (changed) {
        *failed |= !kl__node_put(edit, status, "acceptedNames", accepted);
    }
    changed |= kl__sim_crd_condition(sim, edit, fine, failed);
    if (!kl__sim_crd_is(root, "Established", "True")) {
        changed |=
            kl__sim_crd_condition(sim, edit, was ? done : installing, failed);
    }
    return changed;
}
