/*
 * sim_protection_life.c - the controllers of storage protection: a deleted
 * claim, volume or class of volume attributes loses its finalizer once it is
 * not used any more.
 */
#include "sim/core/life/sim_settle.h"

#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_deletion.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>

static bool has_text(const kl__node *object, const char *name, const char *text)
{
    const char *found = kl__node_text(object, name);

    return found != NULL && strcmp(found, text) == 0;
}

/* True if a pod has a volume of that claim. An ephemeral volume's claim is
 * named after the pod and the volume. */
static bool mounts_claim(const kl__sim_state *pod, const kl__node *root,
                         const char *claim)
{
    const kl__node *list = kl__node_get(kl__node_get(root, "spec"), "volumes");
    kl__node_iter iter = {0};
    const kl__node *volume;
    char own[600];

    while ((volume = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *name = kl__node_text(volume, "name");

        snprintf(own, sizeof(own), "%s-%.63s", pod->name,
                 name != NULL ? name : "");
        if (has_text(kl__node_get(volume, "persistentVolumeClaim"), "claimName",
                     claim) ||
            (kl__node_get(volume, "ephemeral") != NULL &&
             strcmp(own, claim) == 0)) {
            return true;
        }
    }
    return false;
}

/* Sets *used if a pod on a node uses the claim. */
static kl_code claim_is_used(kl_sim *sim, const kl__sim_state *claim,
                             bool *used, kl_error *err)
{
    const kl__sim_resource *pods = kl__sim_find(sim, "", "pods");
    const kl__sim_field *field =
        kl__sim_kind_field(pods->kind, "spec.nodeName");
    const kl__sim_node *node;
    char name_space[300];

    snprintf(name_space, sizeof(name_space), "%.*s",
             (int)kl__sim_state_namespace(claim), claim->key);
    node = kl__sim_tree_first_in(&pods->items, name_space);
    *used = false;
    for (; node != NULL && !*used;
         node = kl__sim_tree_next_in(node, name_space)) {
        const kl__sim_state *pod = node->state;
        kl__edit *edit;

        if (*pod->fields[field - pods->kind->fields] == '\0' ||
            strstr(pod->text, "\"volumes\"") == NULL) {
            continue;
        }
        edit = kl__sim_state_edit(pod, err);
        if (edit == NULL) {
            return KL_ENOMEM;
        }
        *used = mounts_claim(pod, kl__edit_root(edit), claim->name);
        kl__edit_free(edit);
    }
    return KL_OK;
}

/* Sets *used if a claim or a volume has that class of attributes. */
static kl_code class_is_used(kl_sim *sim, const kl__sim_state *class,
                             bool *used, kl_error *err)
{
    static const char *const plurals[] = {"persistentvolumeclaims",
                                          "persistentvolumes"};

    *used = false;
    for (size_t i = 0; i < 2; i++) {
        const kl__sim_node *node =
            kl__sim_find(sim, "", plurals[i])->items.first[0];

        for (; node != NULL && !*used; node = node->next[0]) {
            kl__edit *edit = kl__sim_state_edit(node->state, err);

            if (edit == NULL) {
                return KL_ENOMEM;
            }
            *used = has_text(kl__node_get(kl__edit_root(edit), "spec"),
                             "volumeAttributesClassName", class->name);
            kl__edit_free(edit);
        }
    }
    return KL_OK;
}

static kl_code is_used(kl_sim *sim, const kl__sim_kind *kind,
                       const kl__sim_state *state, const kl__node *root,
                       bool *used, kl_error *err)
{
    if (strcmp(kind->plural, "persistentvolumeclaims") == 0) {
        return claim_is_used(sim, state, used, err);
    }
    if (strcmp(kind->plural, "volumeattributesclasses") == 0) {
        return class_is_used(sim, state, used, err);
    }
    *used = has_text(kl__node_get(root, "status"), "phase", "Bound");
    return KL_OK;
}

/* Removes the finalizer of one object if nothing uses the object. */
static kl_code let_go(kl_sim *sim, kl__sim_resource *resource,
                      const kl__sim_state *state, kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    kl__node *root = edit != NULL ? kl__edit_root(edit) : NULL;
    bool used = false;
    kl_code code = edit != NULL
                       ? is_used(sim, resource->kind, state, root, &used, err)
                       : KL_ENOMEM;

    if (code == KL_OK && !used &&
        kl__sim_drop_finalizer(kl__node_get(root, "metadata"),
                               kl__sim_protection(resource->kind))) {
        code = kl__sim_put_as(sim, resource, state, edit, &kl__sim_controller,
                              err);
    }
    kl__edit_free(edit);
    return code;
}

/* Calls let_go for all deleted objects of a kind. */
static kl_code settle_kind(kl_sim *sim, const char *group, const char *plural,
                           kl_error *err)
{
    kl__sim_resource *resource = kl__sim_find(sim, group, plural);
    const kl__sim_node *node =
        resource != NULL ? resource->items.first[0] : NULL;
    kl_code code = KL_OK;

    while (node != NULL && code == KL_OK) {
        kl__sim_state *state;

        if (!node->state->deleting) {
            node = node->next[0];
            continue;
        }
        state = kl__sim_state_ref(node->state);
        code = let_go(sim, resource, state, err);
        node = kl__sim_tree_seek(&resource->items, state->key);
        if (node != NULL && strcmp(node->state->key, state->key) == 0) {
            node = node->next[0];
        }
        kl__sim_state_unref(state);
    }
    return code;
}

kl_code kl__sim_protection_settle(kl_sim *sim, kl_error *err)
{
    kl_code code = settle_kind(sim, "", "persistentvolumeclaims", err);

    if (code == KL_OK) {
        code = settle_kind(sim, "", "persistentvolumes", err);
    }
    return code == KL_OK ? settle_kind(sim, "storage.k8s.io",
                                       "volumeattributesclasses", err)
                         : code;
}
