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

#include <string.h>

static const char CERTIFICATE[] = "kube-root-ca.crt";

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

/* Deletes a resource's objects in a namespace. Sets *left if finalizers keep
 * some. */
static kl_code empty_collection(kl_sim *sim, kl__sim_resource *resource,
                                const char *prefix, bool *left, kl_error *err)
{
    kl__sim_state *state = first_from(resource, prefix, prefix);
    kl_code code = KL_OK;

    while (state != NULL && code == KL_OK) {
        char *next = kl__strprintf("%s\001", state->key);

        if (next == NULL) {
            return kl__sim_no_memory(err);
        }
        kl__sim_state_ref(state);
        code = delete_member(sim, resource, state, err);
        *left |= kl__sim_tree_find(&resource->items, state->key) != NULL;
        kl__sim_state_unref(state);
        state = first_from(resource, next, prefix);
        kl__free(next);
    }
    return code;
}

/* Removes the namespace. */
static kl_code remove_namespace(kl_sim *sim, const char *name, kl_error *err)
{
    kl__sim_resource *namespaces = kl__sim_find(sim, "", "namespaces");
    kl__sim_node *node = kl__sim_tree_find(&namespaces->items, name);
    kl__edit *edit = node != NULL ? kl__sim_state_edit(node->state, err) : NULL;
    kl__sim_state *old;
    kl_code code;

    if (edit == NULL) {
        return node != NULL ? KL_ENOMEM : KL_OK;
    }
    kl__sim_drop_finalizer(kl__node_get(kl__edit_root(edit), "spec"),
                           "kubernetes");
    old = kl__sim_state_ref(node->state);
    code = kl__sim_put_as(sim, namespaces, old, edit,
                          &kl__sim_status_controller, err);
    kl__sim_state_unref(old);
    kl__edit_free(edit);
    return code;
}

static kl_code end_namespace_content(kl_sim *sim, const char *name,
                                     kl_error *err)
{
    bool left = false;
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
    return code == KL_OK && !left ? remove_namespace(sim, name, err) : code;
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
