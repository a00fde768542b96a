/*
 * sim_crd_names.c - see sim_crd.h: accepts the names of a definition, and then
 * establishes it.
 */
#include "sim/core/custom/sim_crd.h"

#include <string.h>

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
