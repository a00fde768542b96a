/*
 * sim_replay.c - kl_sim_replay: puts objects that were recorded from another
 * server, and then their changes in order, into a cluster. UIDs, times and
 * versions stay as they were recorded.
 */
#include "base/mem.h"
#include "json/doc.h"
#include "sim/core/json/edit.h"
#include "sim/core/life/sim_settle.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/store/sim_owners.h"
#include "sim/core/store/sim_convert.h"
#include "sim/core/write/sim_write.h"

#include <stdlib.h>
#include <string.h>

static int64_t written_version(const kl__node *metadata)
{
    const char *text = kl__node_text(metadata, "resourceVersion");
    int64_t version = text != NULL ? strtoll(text, NULL, 10) : 0;

    return version > 0 && version < INT64_MAX / 2 ? version : 0;
}

/* The object's own version, if it is newer than the cluster's; else the
 * cluster's next version. */
static int64_t newer_version(const kl_sim *sim, const kl__node *metadata)
{
    int64_t version = written_version(metadata);

    return version > sim->version ? version : sim->version + 1;
}

static kl_code put_locked(kl_sim *sim, kl__sim_resource *resource,
                          kl__edit *edit, kl_sim_change change, kl_error *err)
{
    const kl__node *metadata = kl__node_get(kl__edit_root(edit), "metadata");
    int64_t before = sim->version;
    int64_t version = written_version(metadata);
    kl__sim_state *state;
    kl_code code;

    if (change != KL_SIM_INITIAL || version == 0) {
        version = newer_version(sim, metadata);
    }
    state = kl__sim_compose(resource->kind, edit, version, err);
    if (state == NULL) {
        return KL_ENOMEM;
    }
    code = kl__sim_commit(sim, resource, state, err);
    if (sim->version < before) {
        sim->version = before; /* objects of the first list in any order */
    }
    return code;
}

static kl_code drop_locked(kl_sim *sim, kl__sim_resource *resource,
                           const kl__node *metadata, kl_error *err)
{
    char *key = kl__sim_key(kl__node_text(metadata, "namespace"),
                            kl__node_text(metadata, "name"));
    const kl__sim_node *node;
    kl__sim_state *gone;
    int64_t version;
    kl_code code = KL_OK;

    if (key == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for an object");
    }
    node = kl__sim_tree_find(&resource->items, key);
    gone = node != NULL ? kl__sim_state_ref(node->state) : NULL;
    if (gone != NULL && kl__sim_is_crd(resource->kind)) {
        code = kl__sim_crd_withdraw(sim, key, err);
    }
    if (gone != NULL && code == KL_OK) {
        version = newer_version(sim, metadata);
        code = kl__sim_resource_remove(resource, key, version, err);
        if (code == KL_OK) {
            sim->version = version;
            kl__sim_bell_ring(&sim->grown);
            kl__sim_owners_remove(sim, gone, NULL);
        }
    }
    kl__sim_state_unref(gone);
    kl__free(key);
    return code;
}

static kl_code replay_locked(kl_sim *sim, kl__edit *edit, kl_sim_change change,
                             kl_error *err)
{
    const kl__node *root = kl__edit_root(edit);
    const kl__node *metadata = kl__node_get(root, "metadata");
    const char *api_version = kl__node_text(root, "apiVersion");
    const char *kind = kl__node_text(root, "kind");
    kl__sim_resource *resource;
    char why[512];

    if (api_version == NULL || kind == NULL ||
        kl__node_text(metadata, "name") == NULL) {
        return kl_error_set(err, KL_EINVAL,
                            "replay: an object needs apiVersion, kind and "
                            "metadata.name");
    }
    resource = kl__sim_find_kind(sim, api_version, kind);
    if (resource == NULL) {
        return kl_error_set(err, KL_EINVAL,
                            "replay: no kind %s %s is served; record or load "
                            "its CustomResourceDefinition too",
                            api_version, kind);
    }
    if (kl__sim_kind_is(resource->kind, KL__SIM_NAMESPACED) !=
        (kl__node_text(metadata, "namespace") != NULL)) {
        return kl_error_set(err, KL_EINVAL,
                            "replay: %s \"%s\" has a namespace where the kind "
                            "has none, or none where it needs one",
                            kind, kl__node_text(metadata, "name"));
    }
    if (!kl__sim_metadata_fits(resource->kind, root, why, sizeof(why))) {
        return kl_error_set(err, KL_EINVAL, "replay: %s", why);
    }
    if (!kl__sim_store_served(edit, resource->kind, resource->home->kind,
                              api_version)) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for an object");
    }
    return change == KL_SIM_DELETED
               ? drop_locked(sim, resource->home, metadata, err)
               : put_locked(sim, resource->home, edit, change, err);
}

kl_code kl_sim_replay(kl_sim *sim, kl_sim_change change, const char *json,
                      size_t length, kl_error *err)
{
    kl_error own;
    kl_doc *doc;
    kl__edit *edit;
    kl_code code;

    if (err == NULL) {
        err = &own;
    }
    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return KL_EFORKED;
    }
    doc = kl__doc_parse_within(json, length, KL__NODE_DEPTH, err);
    if (doc == NULL) {
        return err->code;
    }
    edit = kl__edit_of(kl_doc_root(doc), err);
    kl_doc_unref(doc);
    if (edit == NULL) {
        return KL_ENOMEM;
    }
    kl__mutex_lock(&sim->mutex);
    code = replay_locked(sim, edit, change, err);
    kl__mutex_unlock(&sim->mutex);
    kl__edit_free(edit);
    return code;
}
