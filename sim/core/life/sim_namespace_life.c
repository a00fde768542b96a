/*
 * sim_namespace_life.c - the controllers of namespaces: a new namespace gets
 * its ServiceAccount and the cluster's certificate; in a deleted namespace
 * first all objects are deleted, then the namespace.
 */
#include "sim/core/life/sim_settle.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_deletion.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>

static const char CERTIFICATE[] = "kube-root-ca.crt";

/* What is left in a namespace that is being deleted, for its conditions. */
typedef struct content_left {
    size_t count;
    size_t finalized; /* how many of these a finalizer keeps */
    char resources[1024];
    char finalizer[256]; /* one of these finalizers */
} content_left;

/* --- New namespaces. ------------------------------------------------------ */

/* Creates an object as a controller, unless it exists. */
static kl_code ensure_object(kl_sim *sim, const char *name_space,
                             const char *plural, const char *name,
                             const char *body, kl_error *err)
{
    kl__sim_resource *resource = kl__sim_find(sim, "", plural);
    char *key = kl__sim_key(name_space, name);
    char *target =
        kl__strprintf("/api/v1/namespaces/%s/%s", name_space, plural);
    const kl__sim_made made = {.group = "",
                               .plural = plural,
                               .target = target,
                               .agent = "kube-controller-manager",
                               .body = body};
    kl_code code = KL_OK;

    if (key == NULL || target == NULL) {
        code = kl__sim_no_memory(err);
    } else if (kl__sim_tree_find(&resource->items, key) == NULL) {
        code = kl__sim_make(sim, &made, err);
    }
    kl__free(key);
    kl__free(target);
    return code == KL_EINVAL ? KL_OK : code; /* refused */
}

static kl_code furnish_namespace(kl_sim *sim, const char *name, kl_error *err)
{
    kl_code code =
        ensure_object(sim, name, "configmaps", CERTIFICATE,
                      "{\"metadata\":{\"name\":\"kube-root-ca.crt\","
                      "\"annotations\":{\"kubernetes.io/description\":"
                      "\"Contains a CA bundle that can be used to verify "
                      "the kube-apiserver when using internal endpoints "
                      "such as the internal service IP or kubernetes."
                      "default.svc. No other usage is guaranteed across "
                      "distributions of Kubernetes clusters.\"}},\"data\":"
                      "{\"ca.crt\":\"\"}}",
                      err);

    return code == KL_OK
               ? ensure_object(sim, name, "serviceaccounts", "default",
                               "{\"metadata\":{\"name\":\"default\"}}", err)
               : code;
}

bool kl__sim_namespace_minds(kl_sim *sim, const kl__sim_kind *kind,
                             const kl__sim_state *state)
{
    size_t length = kl__sim_state_namespace(state);
    char name[256];
    int phase;

    if (length == 0 || length >= sizeof(name)) {
        return false;
    }
    memcpy(name, state->key, length);
    name[length] = '\0';
    phase = kl__sim_namespace_phase(sim, name);
    if (phase == KL__SIM_ACTIVE && *kind->group == '\0') {
        return (strcmp(kind->plural, "configmaps") == 0 &&
                strcmp(state->name, CERTIFICATE) == 0) ||
               (strcmp(kind->plural, "serviceaccounts") == 0 &&
                strcmp(state->name, "default") == 0);
    }
    return phase == KL__SIM_TERMINATING;
}

/* --- Deleted namespaces. -------------------------------------------------- */

/* The first object at or after `from` in the namespace, or NULL. */
static kl__sim_state *first_from(const kl__sim_resource *resource,
                                 const char *from, const char *prefix)
{
    kl__sim_node *node = kl__sim_tree_seek(&resource->items, from);

    return node != NULL &&
                   strncmp(node->state->key, prefix, strlen(prefix)) == 0
               ? node->state
               : NULL;
}

static kl_code delete_member(kl_sim *sim, kl__sim_resource *resource,
                             kl__sim_state *state, kl_error *err)
{
    const kl__sim_deletion deletion = {.policy = KL__SIM_BACKGROUND};
    kl__sim_fate fate;
    kl_code code;

    if (state->deleting) {
        return KL_OK;
    }
    code = kl__sim_delete_object(sim, resource, state, &deletion, &fate, err);
    if (code == KL_OK) {
        kl__sim_state_unref(fate.shown);
    }
    return code;
}

/* Notes a finalizer that keeps an object. */
static kl_code note_left(const kl__sim_state *state, content_left *left,
                         kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    const kl__node *first;
    const char *text;

    if (edit == NULL) {
        return KL_ENOMEM;
    }
    first =
        kl__node_at(kl__node_get(kl__node_get(kl__edit_root(edit), "metadata"),
                                 "finalizers"),
                    0);
    text = kl__node_string(first, NULL);
    if (text != NULL) {
        left->finalized++;
        snprintf(left->finalizer, sizeof(left->finalizer), "%s", text);
    }
    kl__edit_free(edit);
    return KL_OK;
}

/* Deletes a resource's objects in a namespace, and counts those that finalizers
 * keep. */
static kl_code empty_collection(kl_sim *sim, kl__sim_resource *resource,
                                const char *prefix, content_left *left,
                                kl_error *err)
{
    kl__sim_state *state = first_from(resource, prefix, prefix);
    size_t before = left->count, length = strlen(left->resources);
    kl_code code = KL_OK;

    while (state != NULL && code == KL_OK) {
        char *next = kl__strprintf("%s\001", state->key);
        kl__sim_node *node;

        if (next == NULL) {
            return kl__sim_no_memory(err);
        }
        kl__sim_state_ref(state);
        code = delete_member(sim, resource, state, err);
        node = kl__sim_tree_find(&resource->items, state->key);
        if (code == KL_OK && node != NULL) {
            left->count++;
            code = note_left(node->state, left, err);
        }
        kl__sim_state_unref(state);
        state = first_from(resource, next, prefix);
        kl__free(next);
    }
    if (left->count != before && length < sizeof(left->resources)) {
        snprintf(left->resources + length, sizeof(left->resources) - length,
                 "%s%s.%s has %zu resource instances", length != 0 ? ", " : "",
                 resource->kind->plural, resource->kind->group,
                 left->count - before);
    }
    return code;
}

/* A condition to be set. */
typedef struct space_condition {
    const char *type;
    const char *reason;
    const char *message;
    bool holds;
} space_condition;

static bool put_condition(kl__edit *edit, kl__node *conditions,
                          const space_condition *condition, const char *now)
{
    kl__node *entry = kl__edit_object(edit);

    return entry != NULL &&
           kl__sim_put_text(edit, entry, "type", condition->type) &&
           kl__sim_put_text(edit, entry, "status",
                            condition->holds ? "True" : "False") &&
           kl__sim_put_text(edit, entry, "lastTransitionTime", now) &&
           kl__sim_put_text(edit, entry, "reason", condition->reason) &&
           kl__sim_put_text(edit, entry, "message", condition->message) &&
           kl__node_append(conditions, entry);
}

/* The conditions that describe what is left. */
typedef struct left_told {
    char remaining[1100];
    char finalizers[400];
} left_told;

static left_told describe_left(const content_left *left)
{
    left_told told;

    snprintf(told.remaining, sizeof(told.remaining),
             "Some resources are remaining: %s", left->resources);
    snprintf(told.finalizers, sizeof(told.finalizers),
             left->finalized != 0
                 ? "Some content in the namespace has finalizers remaining: %s "
                   "in %zu resource instances"
                 : "All content-preserving finalizers finished",
             left->finalizer, left->finalized);
    return told;
}

static bool put_conditions(kl_sim *sim, kl__edit *edit,
                           const content_left *left)
{
    const left_told told = describe_left(left);
    char now[KL__SIM_TIME_SIZE];
    const space_condition conditions[] = {
        {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
         "All resources successfully discovered", false},
        {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
         "All legacy kube types successfully parsed", false},
        {"NamespaceDeletionContentFailure", "ContentDeleted",
         "All content successfully deleted, may be waiting on finalization",
         false},
        {"NamespaceContentRemaining", "SomeResourcesRemain", told.remaining,
         true},
        {"NamespaceFinalizersRemaining",
         left->finalized != 0 ? "SomeFinalizersRemain"
                              : "ContentHasNoFinalizers",
         told.finalizers, left->finalized != 0}};
    kl__node *status = kl__node_ensure(edit, kl__edit_root(edit), "status");
    kl__node *list = kl__edit_array(edit);

    kl__sim_clock_time(&sim->clock, now);
    if (status == NULL || list == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        if (!put_condition(edit, list, &conditions[i], now)) {
            return false;
        }
    }
    return kl__node_put(edit, status, "conditions", list);
}

/* True if the conditions already say what is left. */
static bool is_told(const kl__edit *edit, const content_left *left)
{
    const kl__node *list =
        kl__node_get(kl__node_get(kl__edit_root(edit), "status"), "conditions");
    const char *message = kl__node_text(kl__node_at(list, 3), "message");
    const char *finalizers = kl__node_text(kl__node_at(list, 4), "message");

    const left_told told = describe_left(left);

    return message != NULL && finalizers != NULL &&
           strcmp(message, told.remaining) == 0 &&
           strcmp(finalizers, told.finalizers) == 0;
}

/* Removes the namespace, or sets the conditions that say what it waits for. */
static kl_code conclude_namespace(kl_sim *sim, kl__sim_resource *namespaces,
                                  const char *name, const content_left *left,
                                  kl_error *err)
{
    kl__sim_node *node = kl__sim_tree_find(&namespaces->items, name);
    kl__edit *edit = node != NULL ? kl__sim_state_edit(node->state, err) : NULL;
    kl__node *spec;
    kl_code code = KL_OK;

    if (edit == NULL) {
        return node != NULL ? KL_ENOMEM : KL_OK;
    }
    if (left->count == 0) {
        spec = kl__node_get(kl__edit_root(edit), "spec");
        kl__sim_drop_finalizer(spec, "kubernetes");
    } else if (!is_told(edit, left) && !put_conditions(sim, edit, left)) {
        code = kl__sim_no_memory(err);
    }
    if (code == KL_OK) {
        kl__sim_state *old = kl__sim_state_ref(node->state);

        code = kl__sim_put_as(sim, namespaces, old, edit,
                              &kl__sim_status_controller, err);
        kl__sim_state_unref(old);
    }
    kl__edit_free(edit);
    return code;
}

static kl_code end_namespace_content(kl_sim *sim, const char *name,
                                     kl_error *err)
{
    content_left left = {0};
    char *prefix = kl__strprintf("%s/", name);
    kl_code code = prefix != NULL ? KL_OK : kl__sim_no_memory(err);

    for (kl__list *node = sim->resources.next;
         node != &sim->resources && code == KL_OK; node = node->next) {
        kl__sim_resource *resource =
            KL__CONTAINER(node, kl__sim_resource, node);

        if (kl__sim_kind_is(resource->kind, KL__SIM_NAMESPACED)) {
            code = empty_collection(sim, resource, prefix, &left, err);
        }
    }
    kl__free(prefix);
    return code == KL_OK
               ? conclude_namespace(sim, kl__sim_find(sim, "", "namespaces"),
                                    name, &left, err)
               : code;
}

kl_code kl__sim_namespace_settle(kl_sim *sim, const char *name, kl_error *err)
{
    switch (kl__sim_namespace_phase(sim, name)) {
    case KL__SIM_ACTIVE:
        return furnish_namespace(sim, name, err);
    case KL__SIM_TERMINATING:
        return end_namespace_content(sim, name, err);
    default:
        return KL_OK;
    }
}
