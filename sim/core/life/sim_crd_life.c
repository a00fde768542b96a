/*
 * sim_crd_life.c - the controller of CustomResourceDefinitions: it accepts,
 * establishes and serves a definition; when a definition is deleted, it deletes
 * the objects first. Each step is a separate change, so a watch sees the same
 * events as from a real server.
 */
#include "sim/core/custom/sim_crd.h"

#include "base/mem.h"
#include "sim/core/custom/sim_custom.h"
#include "sim/core/life/sim_settle.h"
#include "sim/core/write/sim_deletion.h"

#include <string.h>

enum { MAX_STEPS = 8 }; /* for one definition in one call; three are needed */

static bool is_ending(const kl__node *root)
{
    return kl__node_get(kl__node_get(root, "metadata"), "deletionTimestamp") !=
           NULL;
}

/* The resource that a definition's name ("foos.example.com") stands for. */
static kl__sim_resource *find_custom(kl_sim *sim, const char *name)
{
    kl__sim_resource *resource = kl__map_get(&sim->by_name, name);

    return resource != NULL && kl__sim_kind_is(resource->kind, KL__SIM_CUSTOM)
               ? resource
               : NULL;
}

/* --- A definition has changed. -------------------------------------------- */

kl_code kl__sim_crd_apply(kl_sim *sim, const kl__sim_state *state,
                          kl_error *err)
{
    (void)state;
    (void)err;
    sim->definitions_due = true;
    return KL_OK;
}

kl_code kl__sim_crd_withdraw(kl_sim *sim, const char *name, kl_error *err)
{
    kl__sim_resource *resource = find_custom(sim, name);

    sim->definitions_due = true;
    sim->definitions_all = true; /* the definition's names are free again */
    if (resource == NULL) {
        return KL_OK;
    }
    while (resource->items.first[0] != NULL) {
        const char *key = resource->items.first[0]->state->key;

        if (kl__sim_remove(sim, resource, key, err) != KL_OK) {
            return KL_ENOMEM;
        }
    }
    kl__sim_unserve(sim, resource);
    return KL_OK;
}

kl_code kl__sim_crd_guard(kl_sim *sim, kl__edit *edit, kl_error *err)
{
    static const char *const pending[] = {
        "Terminating", "True", "InstanceDeletionPending",
        ("CustomResourceDefinition marked for deletion; CustomResource "
         "deletion "
         "will begin soon")};
    kl__node *metadata = kl__node_get(kl__edit_root(edit), "metadata");
    kl__node *list = kl__node_get(metadata, "finalizers");
    bool failed = false;

    if (is_ending(kl__edit_root(edit))) {
        return KL_OK;
    }
    if (!kl__node_is(list, KL_ARRAY)) {
        list = kl__edit_array(edit);
        failed = !kl__node_put(edit, metadata, "finalizers", list);
    }
    failed = failed ||
             (!kl__sim_has_finalizer(metadata, KL__SIM_CLEANUP) &&
              !kl__node_append(list, kl__edit_text(edit, KL__SIM_CLEANUP)));
    if (!failed) {
        kl__sim_crd_condition(sim, edit, pending, &failed);
    }
    sim->definitions_due = true;
    return failed ? kl__sim_no_memory(err) : KL_OK;
}

/* Stores the tree as the definition's new state in place of `old`. */
static kl_code commit_definition(kl_sim *sim, kl__sim_resource *definitions,
                                 const kl__sim_state *old, kl__edit *edit,
                                 kl_error *err)
{
    kl__sim_state *state = NULL;

    if (kl__sim_track_own(sim, definitions, old, edit, &kl__sim_server, err) ==
        KL_OK) {
        state = kl__sim_compose(definitions->kind, edit, sim->version + 1, err);
    }
    if (state == NULL ||
        kl__sim_resource_put(definitions, state, err) != KL_OK) {
        return KL_ENOMEM;
    }
    sim->version++;
    kl__sim_bell_ring(&sim->grown);
    return KL_OK;
}

/* --- Serving. ------------------------------------------------------------- */

/* True if the served kind is up to date with the definition. */
static bool is_served(const kl__sim_resource *resource, const kl__edit *edit)
{
    static const char *const status[] = {"status", "acceptedNames", NULL};
    kl__edit *served =
        kl__edit_of(kl_doc_root(resource->kind->definition), NULL);
    const kl__node *a = served != NULL ? kl__edit_root(served) : NULL;
    const kl__node *b = kl__edit_root(edit);
    bool same =
        served != NULL && is_ending(a) == is_ending(b) &&
        kl__node_equal(kl__node_get(a, "spec"), kl__node_get(b, "spec")) &&
        kl__node_equal(kl__node_find(a, status), kl__node_find(b, status));

    kl__edit_free(served);
    return same;
}

/* Serves an established definition. */
static kl_code serve_definition(kl_sim *sim, const kl__edit *edit,
                                const char *name, kl_error *err)
{
    kl__sim_resource *resource = kl__map_get(&sim->by_name, name);
    kl__sim_kind *kind;
    kl_doc *doc;
    kl_code code;

    if (resource != NULL && (!kl__sim_kind_is(resource->kind, KL__SIM_CUSTOM) ||
                             is_served(resource, edit))) {
        return KL_OK; /* a built-in resource is never replaced */
    }
    doc = kl__edit_doc(edit, err);
    kind = doc != NULL ? kl__sim_kind_custom(doc) : NULL;
    kl_doc_unref(doc);
    if (kind == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a definition");
    }
    code = resource == NULL ? kl__sim_serve(sim, kind, err)
                            : kl__sim_reserve(sim, resource, kind, err);
    kl__sim_kind_unref(kind);
    return code;
}

/* --- Deletion. ------------------------------------------------------------ */

/* Deletes the objects without finalizers, and marks the others as deleted. */
static kl_code empty_resource(kl_sim *sim, kl__sim_resource *resource,
                              kl_error *err)
{
    const kl__sim_deletion deletion = {.policy = KL__SIM_BACKGROUND};
    kl__sim_node *node = resource->items.first[0];
    kl_code code = KL_OK;

    while (node != NULL && code == KL_OK) {
        kl__sim_state *state = kl__sim_state_ref(node->state);
        kl__sim_fate fate = {0};

        code = state->deleting ? KL_OK
                               : kl__sim_delete_object(sim, resource, state,
                                                       &deletion, &fate, err);
        kl__sim_state_unref(fate.shown);
        node = kl__sim_tree_seek(&resource->items, state->key);
        if (node != NULL && strcmp(node->state->key, state->key) == 0) {
            node = node->next[0];
        }
        kl__sim_state_unref(state);
    }
    return code;
}

/* One step of a definition that is being deleted. *over: nothing is left to do,
 * or the definition waits for finalizers of its objects. */
static kl_code end_definition_step(kl_sim *sim, kl__sim_resource *definitions,
                                   const kl__sim_state *old, kl__edit *edit,
                                   bool *over, kl_error *err)
{
    static const char *const running[] = {
        "Terminating", "True", "InstanceDeletionInProgress",
        "CustomResource deletion is in progress"};
    static const char *const completed[] = {"Terminating", "False",
                                            "InstanceDeletionCompleted",
                                            "removed all instances"};
    kl__node *metadata = kl__node_get(kl__edit_root(edit), "metadata");
    const char *name = kl__node_text(metadata, "name");
    kl__sim_resource *resource = find_custom(sim, name);
    bool failed = false;

    *over = !kl__sim_has_finalizer(metadata, KL__SIM_CLEANUP);
    if (*over) {
        return KL_OK;
    }
    if (kl__sim_crd_condition(sim, edit, running, &failed)) {
        return failed ? kl__sim_no_memory(err)
                      : commit_definition(sim, definitions, old, edit, err);
    }
    if (resource != NULL && empty_resource(sim, resource, err) != KL_OK) {
        return KL_ENOMEM;
    }
    *over = true;
    if (resource != NULL && resource->items.first[0] != NULL) {
        return KL_OK;
    }
    kl__sim_drop_finalizer(metadata, KL__SIM_CLEANUP);
    if (kl__node_size(kl__node_get(metadata, "finalizers")) == 0) {
        return kl__sim_remove(sim, definitions, name, err);
    }
    kl__sim_crd_condition(sim, edit, completed, &failed);
    return failed ? kl__sim_no_memory(err)
                  : commit_definition(sim, definitions, old, edit, err);
}

/* --- The controller. ------------------------------------------------------ */

/* One step; *over: nothing is left to do. */
static kl_code step_definition(kl_sim *sim, kl__sim_resource *definitions,
                               const kl__sim_state *state, bool *over,
                               kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    bool failed = false;
    kl_code code = KL_OK;

    if (edit == NULL) {
        return KL_ENOMEM;
    }
    if (is_ending(kl__edit_root(edit))) {
        sim->definitions_ending = true;
        code = serve_definition(sim, edit, state->name, err);
        if (code == KL_OK) {
            code =
                end_definition_step(sim, definitions, state, edit, over, err);
        }
    } else if (kl__sim_crd_accept(sim, edit, &failed) && !failed) {
        code = commit_definition(sim, definitions, state, edit, err);
    } else if (failed) {
        code = kl__sim_no_memory(err);
    } else {
        *over = true;
        if (kl__sim_crd_is(kl__edit_root(edit), "Established", "True")) {
            code = serve_definition(sim, edit, state->name, err);
        }
    }
    kl__edit_free(edit);
    return code;
}

static kl_code examine_definition(kl_sim *sim, kl__sim_resource *definitions,
                                  const char *key, kl_error *err)
{
    kl_code code = KL_OK;
    bool over = false;

    for (int i = 0; i < MAX_STEPS && !over && code == KL_OK; i++) {
        kl__sim_node *node = kl__sim_tree_find(&definitions->items, key);
        kl__sim_state *state;

        if (node == NULL) {
            return KL_OK;
        }
        state = kl__sim_state_ref(node->state);
        code = step_definition(sim, definitions, state, &over, err);
        kl__sim_state_unref(state);
    }
    return code;
}

kl_code kl__sim_crd_settle(kl_sim *sim, kl_error *err)
{
    kl__sim_resource *definitions;
    kl__sim_node *node;
    int64_t settled = sim->definitions_at;
    bool all, ending;

    if (!sim->definitions_due && !sim->definitions_ending) {
        return KL_OK;
    }
    definitions =
        kl__sim_find(sim, "apiextensions.k8s.io", "customresourcedefinitions");
    all = sim->definitions_all;
    ending = sim->definitions_ending;
    sim->definitions_all = false;
    sim->definitions_ending = false;
    node = definitions->items.first[0];
    while (node != NULL) {
        kl__sim_state *state = kl__sim_state_ref(node->state);
        kl_code code = KL_OK;

        if (all || state->version > settled || (ending && state->deleting)) {
            code = examine_definition(sim, definitions, state->key, err);
        }
        node = kl__sim_tree_seek(&definitions->items, state->key);
        if (node != NULL && strcmp(node->state->key, state->key) == 0) {
            node = node->next[0];
        }
        kl__sim_state_unref(state);
        if (code != KL_OK) {
            /* start again from the first definition */
            sim->definitions_due = true;
            sim->definitions_all = true;
            return code;
        }
    }
    sim->definitions_at = sim->version;
    sim->definitions_due = sim->definitions_all;
    return KL_OK;
}
