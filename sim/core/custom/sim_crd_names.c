/*
 * sim_crd_names.c - see sim_crd.h: accepts the names of a definition if no
 * other definition of its group has them, and then establishes it.
 */
#include "sim/core/custom/sim_crd.h"

#include "base/mem.h"

#include <stdio.h>
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

/* A definition whose names are being checked. */
typedef struct naming {
    kl_sim *sim;
    kl__edit *edit;
    const kl__node *wanted; /* spec.names */
    const kl__node *before; /* status.acceptedNames */
    kl__node *accepted;     /* status.acceptedNames, new */
    const char *group;
    const char *plural;
    const char *reason; /* why a name was refused last; NULL: none was */
    char message[400];
    bool failed;
} naming;

static bool lists_name(char *const *list, const char *text)
{
    for (; *list != NULL; list++) {
        if (strcmp(*list, text) == 0) {
            return true;
        }
    }
    return false;
}

/* True if another kind of the group has this name, among the names of resources
 * or among those of kinds. */
static bool is_taken(const naming *self, const char *text, bool of_kinds)
{
    for (const kl__list *node = self->sim->resources.next;
         node != &self->sim->resources; node = node->next) {
        const kl__sim_kind *kind =
            KL__CONTAINER(node, kl__sim_resource, node)->kind;

        if (strcmp(kind->group, self->group) != 0 ||
            strcmp(kind->plural, self->plural) == 0) {
            continue;
        }
        if (of_kinds ? strcmp(kind->kind, text) == 0 ||
                           strcmp(kind->list_kind, text) == 0
                     : strcmp(kind->plural, text) == 0 ||
                           strcmp(kind->singular, text) == 0 ||
                           lists_name(kind->short_names, text)) {
            return true;
        }
    }
    return false;
}

static void note_name_conflict(naming *self, const char *reason,
                               const char *text)
{
    self->reason = reason;
    snprintf(self->message, sizeof(self->message),
             "\"%.300s\" is already in use", text);
}

/* Accepts one name: the wanted name if it is free, else the name that was
 * accepted before. */
static void accept_name(naming *self, const char *name, bool of_kinds,
                        const char *reason)
{
    const char *wanted = kl__node_text(self->wanted, name);
    const char *before = kl__node_text(self->before, name);
    const char *text = wanted != NULL ? wanted : "";

    if (before == NULL || strcmp(before, text) != 0) {
        if (is_taken(self, text, of_kinds)) {
            note_name_conflict(self, reason, text);
            text = before != NULL ? before : "";
        }
    }
    if (*text == '\0' && strcmp(name, "kind") != 0 &&
        strcmp(name, "plural") != 0) {
        kl__node_remove(self->accepted, name);
        return;
    }
    self->failed |= !kl__node_put(self->edit, self->accepted, name,
                                  kl__edit_text(self->edit, text));
}

static void take_short(naming *self)
{
    const kl__node *wanted = kl__node_get(self->wanted, "shortNames");
    const kl__node *before = kl__node_get(self->before, "shortNames");
    kl__node_iter iter = {0};
    const kl__node *name;
    bool is_free = true;

    while (!kl__node_equal(wanted, before) &&
           (name = kl__node_next(wanted, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(name, NULL);

        if (text != NULL && is_taken(self, text, false)) {
            note_name_conflict(self, "ShortNamesConflict", text);
            is_free = false;
        }
    }
    self->failed |= !kl__sim_put_copy(self->edit, self->accepted, "shortNames",
                                      is_free ? wanted : before);
}

static void take_all(naming *self)
{
    accept_name(self, "plural", false, "PluralConflict");
    accept_name(self, "singular", false, "SingularConflict");
    take_short(self);
    accept_name(self, "kind", true, "KindConflict");
    accept_name(self, "listKind", true, "ListKindConflict");
    self->failed |= !kl__sim_put_copy(self->edit, self->accepted, "categories",
                                      kl__node_get(self->wanted, "categories"));
}

/* Sets the conditions that follow from the names; true if one changed. */
static bool set_name_conditions(naming *self)
{
    static const char *const fine[] = {"NamesAccepted", "True", "NoConflicts",
                                       "no conflicts found"};
    static const char *const installing[] = {
        "Established", "False", "Installing",
        "the initial names have been accepted"};
    static const char *const refused[] = {"Established", "False", "NotAccepted",
                                          "not all names are accepted"};
    const char *const taken[] = {"NamesAccepted", "False", self->reason,
                                 self->message};
    bool was = kl__sim_crd_is(kl__edit_root(self->edit), "Established", "True");
    bool has = find_condition(kl__edit_root(self->edit), "Established") != NULL;
    bool changed = kl__sim_crd_condition(self->sim, self->edit,
                                         self->reason == NULL ? fine : taken,
                                         &self->failed);

    if (!was && (self->reason == NULL || !has)) {
        changed |= kl__sim_crd_condition(
            self->sim, self->edit, self->reason == NULL ? installing : refused,
            &self->failed);
    }
    return changed;
}

/* Establishes the definition, which is the last step; true if it was not
 * established before. */
static bool establish_definition(naming *self, const kl__node *root)
{
    static const char *const done[] = {"Established", "True",
                                       "InitialNamesAccepted",
                                       "the initial names have been accepted"};

    return kl__sim_crd_is(root, "NamesAccepted", "True") &&
           !kl__sim_crd_is(root, "Established", "True") &&
           kl__sim_crd_condition(self->sim, self->edit, done, &self->failed);
}

bool kl__sim_crd_accept(kl_sim *sim, kl__edit *edit, bool *failed)
{
    kl__node *root = kl__edit_root(edit);
    kl__node *status = kl__node_ensure(edit, root, "status");
    const kl__node *spec = kl__node_get(root, "spec");
    naming self = {.sim = sim,
                   .edit = edit,
                   .wanted = kl__node_get(spec, "names"),
                   .before = kl__node_get(status, "acceptedNames"),
                   .accepted = kl__edit_object(edit),
                   .group = kl__node_text(spec, "group"),
                   .plural =
                       kl__node_text(kl__node_get(spec, "names"), "plural")};
    bool changed;

    if (self.group == NULL || self.plural == NULL) {
        return false;
    }
    if (status == NULL || self.accepted == NULL) {
        *failed = true;
        return false;
    }
    take_all(&self);
    changed = !kl__node_equal(self.before, self.accepted);
    if (changed) {
        self.failed |=
            !kl__node_put(edit, status, "acceptedNames", self.accepted);
    }
    if (!self.failed && find_condition(root, "Established") != NULL &&
        !changed && self.reason == NULL && establish_definition(&self, root)) {
        changed = true;
    } else if (!self.failed) {
        changed |= set_name_conditions(&self);
    }
    *failed |= self.failed;
    return changed;
}
