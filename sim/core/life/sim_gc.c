/*
 * sim_gc.c - the garbage collector: deletes objects whose owners are all gone,
 * and carries out the policies foreground (dependents are deleted first) and
 * orphan (dependents stay) of deleted owners
 * (docs/KUBERNETES.md#owner-references). It does what the collector of
 * kube-controller-manager does, but at once.
 */
#include "sim/core/life/sim_settle.h"

#include "base/mem.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/store/sim_owners.h"
#include "sim/core/write/sim_deletion.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_write.h"

#include <stdint.h>
#include <string.h>

static const char ORPHAN[] = "orphan", FOREGROUND[] = "foregroundDeletion";

/* The state of an owner that a reference names. */
typedef enum owner_sort {
    SOLID,
    WAITING, /* deleted in the foreground: waits for its dependents */
    DANGLING,
    UNKNOWN /* its kind is not served: the dependent must stay */
} owner_sort;

static kl__sim_state *find_state(const kl__sim_resource *resource,
                                 const char *key)
{
    kl__sim_node *node = kl__sim_tree_find(&resource->items, key);

    return node != NULL ? node->state : NULL;
}

static kl__node *metadata_of(const kl__edit *edit)
{
    return kl__node_get(kl__edit_root(edit), "metadata");
}

static const char *node_text_or_empty(const kl__node *object, const char *name)
{
    const char *text = kl__node_text(object, name);

    return text != NULL ? text : "";
}

static kl_code is_in_foreground(const kl__sim_state *owner, bool *waits,
                                kl_error *err)
{
    kl__edit *edit;

    *waits = false;
    if (!owner->awaits) {
        return KL_OK;
    }
    edit = kl__sim_state_edit(owner, err);
    if (edit == NULL) {
        return KL_ENOMEM;
    }
    *waits = kl__sim_has_finalizer(metadata_of(edit), FOREGROUND);
    kl__edit_free(edit);
    return KL_OK;
}

/* Finds the sort of the owner that a reference names. `name_space` is the
 * dependent's: an owner in another namespace counts as absent. */
static kl_code sort_owner(kl_sim *sim, const kl__node *reference,
                          const char *name_space, owner_sort *sort,
                          kl_error *err)
{
    kl__sim_resource *resource =
        kl__sim_find_kind(sim, node_text_or_empty(reference, "apiVersion"),
                          node_text_or_empty(reference, "kind"));
    const kl__sim_state *owner;
    bool is_namespaced, waits = false;
    kl_code code;
    char *key;

    *sort = UNKNOWN;
    if (resource == NULL) {
        return KL_OK;
    }
    is_namespaced = kl__sim_kind_is(resource->kind, KL__SIM_NAMESPACED);
    if (is_namespaced && name_space == NULL) {
        return KL_OK; /* such a reference is invalid and ignored */
    }
    key = kl__sim_key(is_namespaced ? name_space : NULL,
                      node_text_or_empty(reference, "name"));
    if (key == NULL) {
        return kl__sim_no_memory(err);
    }
    owner = find_state(resource->home, key);
    kl__free(key);
    if (owner == NULL ||
        strcmp(owner->uid, node_text_or_empty(reference, "uid")) != 0) {
        *sort = DANGLING;
        return KL_OK;
    }
    code = is_in_foreground(owner, &waits, err);
    *sort = waits ? WAITING : SOLID;
    return code;
}

typedef struct owner_count {
    size_t of[UNKNOWN + 1];
} owner_count;

/* Counts the owners of an object by sort. With `drop`, removes references to
 * owners that are DANGLING or WAITING. */
static kl_code count_owners(kl_sim *sim, kl__edit *edit, bool drop,
                            owner_count *counts, kl_error *err)
{
    kl__node *metadata = metadata_of(edit);
    kl__node *references = kl__node_get(metadata, "ownerReferences");
    const char *name_space = kl__node_text(metadata, "namespace");
    const kl__node *reference;
    kl__node_iter iter = {0};

    memset(counts, 0, sizeof(*counts));
    while ((reference = kl__node_next(references, &iter, NULL, NULL)) != NULL) {
        owner_sort sort;
        kl_code code = sort_owner(sim, reference, name_space, &sort, err);

        if (code != KL_OK) {
            return code;
        }
        counts->of[sort]++;
        if (drop && (sort == DANGLING || sort == WAITING)) {
            kl__node_drop(&iter);
        }
    }
    return KL_OK;
}

static kl_code delete_dependent(kl_sim *sim, kl__sim_resource *resource,
                                kl__sim_state *state, kl__sim_policy policy,
                                kl_error *err)
{
    const kl__sim_deletion deletion = {.policy = policy};
    kl__sim_fate fate;
    kl_code code =
        kl__sim_delete_object(sim, resource, state, &deletion, &fate, err);

    if (code == KL_OK) {
        kl__sim_state_unref(fate.shown);
    }
    return code;
}

/* The policy for deleting an object that has no solid owner. If an owner waits
 * for it, and it has dependents: foreground. Else its finalizers decide. */
static kl__sim_policy policy_of(const kl_sim *sim, const kl__sim_state *state,
                                const kl__node *metadata,
                                const owner_count *counts)
{
    if (counts->of[WAITING] != 0 && kl__sim_owners_has(sim, state->uid)) {
        return KL__SIM_FOREGROUND;
    }
    return kl__sim_has_finalizer(metadata, ORPHAN)       ? KL__SIM_ORPHAN
           : kl__sim_has_finalizer(metadata, FOREGROUND) ? KL__SIM_FOREGROUND
                                                         : KL__SIM_BACKGROUND;
}

/* Sets *circle if a dependent is being deleted in the foreground: this
 * dependent may wait for the object. */
static kl_code is_in_circle(kl_sim *sim, const kl__sim_state *state,
                            bool *circle, kl_error *err)
{
    const kl__sim_owned *owned = kl__sim_owners_of(sim, state->uid);
    const kl__sim_dependent *dependent = NULL;
    kl_code code = KL_OK;

    *circle = false;
    while (owned != NULL && code == KL_OK && !*circle &&
           (dependent = kl__sim_owners_after(owned, dependent)) != NULL) {
        const kl__sim_state *one =
            find_state(dependent->resource, dependent->key);

        if (one != NULL && one->deleting) {
            code = is_in_foreground(one, circle, err);
        }
    }
    return code;
}

/* Resolves a deadlock: the object waits for a dependent, and the dependent may
 * wait for the object. From now on the object does not block the deletion of
 * its owners. */
static kl_code break_circle(kl_sim *sim, kl__sim_resource *resource,
                            const kl__sim_state *state, kl__edit *edit,
                            kl_error *err)
{
    static const char blocks[] = "blockOwnerDeletion";
    kl__node *references = kl__node_get(metadata_of(edit), "ownerReferences");
    kl__node *reference;
    kl__node_iter iter = {0};
    bool circle;
    kl_code code = is_in_circle(sim, state, &circle, err);

    if (code != KL_OK || !circle) {
        return code;
    }
    while ((reference = kl__node_next(references, &iter, NULL, NULL)) != NULL) {
        if (kl__node_bool(kl__node_get(reference, blocks)) &&
            !kl__node_put(edit, reference, blocks,
                          kl__edit_bool(edit, false))) {
            return kl__sim_no_memory(err);
        }
    }
    return kl__sim_put_as(sim, resource, state, edit, &kl__sim_controller, err);
}

static kl_code judge_object(kl_sim *sim, kl__sim_resource *resource,
                            kl__sim_state *state, kl__edit *edit, kl_error *err)
{
    owner_count counts;
    kl_code code = count_owners(sim, edit, false, &counts, err);

    if (code != KL_OK || counts.of[UNKNOWN] != 0 ||
        counts.of[DANGLING] + counts.of[WAITING] == 0) {
        return code;
    }
    if (counts.of[SOLID] == 0) {
        kl__sim_policy policy =
            policy_of(sim, state, metadata_of(edit), &counts);

        if (counts.of[WAITING] != 0 && policy == KL__SIM_FOREGROUND) {
            code = break_circle(sim, resource, state, edit, err);
        }
        if (code == KL_OK) {
            kl__sim_state *now =
                kl__sim_state_ref(find_state(resource, state->key));

            code = delete_dependent(sim, resource, now, policy, err);
            kl__sim_state_unref(now);
        }
        return code;
    }
    code = count_owners(sim, edit, true, &counts, err);
    return code == KL_OK ? kl__sim_put_as(sim, resource, state, edit,
                                          &kl__sim_controller, err)
                         : code;
}

kl_code kl__sim_gc_owners(kl_sim *sim, kl__sim_resource *resource,
                          const char *key, kl_error *err)
{
    kl__sim_state *state = find_state(resource, key);
    kl__edit *edit;
    kl_code code;

    if (state == NULL || state->owners == NULL || state->deleting) {
        return KL_OK;
    }
    edit = kl__sim_state_edit(state, err);
    if (edit == NULL) {
        return KL_ENOMEM;
    }
    kl__sim_state_ref(state);
    code = judge_object(sim, resource, state, edit, err);
    kl__sim_state_unref(state);
    kl__edit_free(edit);
    return code;
}

/* Queues each dependent for the collector. */
static kl_code look_at_all(kl_sim *sim, const kl__sim_owned *owned,
                           kl_error *err)
{
    const kl__sim_dependent *dependent = NULL;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (dependent = kl__sim_owners_after(owned, dependent)) != NULL) {
        code = kl__sim_chore_add(sim, KL__SIM_OWNERS, dependent->resource,
                                 dependent->key, strlen(dependent->key), err);
    }
    return code;
}

kl_code kl__sim_gc_gone(kl_sim *sim, const char *uid, kl_error *err)
{
    const kl__sim_owned *owned = kl__sim_owners_of(sim, uid);

    return owned != NULL ? look_at_all(sim, owned, err) : KL_OK;
}

/* --- Owners that wait for their dependents. ------------------------------- */

/* True if a dependent blocks the deletion of its owner. */
static bool blocks_owner(const kl__sim_owned *owned)
{
    const kl__sim_dependent *dependent = NULL;

    while ((dependent = kl__sim_owners_after(owned, dependent)) != NULL) {
        const kl__sim_state *state =
            find_state(dependent->resource, dependent->key);
        const char *at = state != NULL ? state->owners : NULL, *uid;
        bool is_blocking;

        while ((uid = kl__sim_owners_next(&at, &is_blocking)) != NULL) {
            if (is_blocking && strcmp(uid, owned->uid) == 0) {
                return true;
            }
        }
    }
    return false;
}

static kl_code finalize_owner(kl_sim *sim, kl__sim_resource *resource,
                              kl__sim_state *state, kl__edit *edit,
                              const char *finalizer, kl_error *err)
{
    kl__sim_drop_finalizer(metadata_of(edit), finalizer);
    return kl__sim_put_as(sim, resource, state, edit, &kl__sim_controller, err);
}

/* Removes the references to `uid` from an object. */
static kl_code release_dependent(kl_sim *sim, kl__sim_resource *resource,
                                 kl__sim_state *state, const char *uid,
                                 kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    kl__node *references, *reference;
    kl__node_iter iter = {0};
    kl_code code;

    if (edit == NULL) {
        return KL_ENOMEM;
    }
    references = kl__node_get(metadata_of(edit), "ownerReferences");
    while ((reference = kl__node_next(references, &iter, NULL, NULL)) != NULL) {
        if (strcmp(node_text_or_empty(reference, "uid"), uid) == 0) {
            kl__node_drop(&iter);
        }
    }
    kl__sim_state_ref(state);
    code = kl__sim_put_as(sim, resource, state, edit, &kl__sim_controller, err);
    kl__sim_state_unref(state);
    kl__edit_free(edit);
    return code;
}

/* Releases all dependents one after the other; a released one leaves the index.
 * After KL_ENOMEM the index may hold entries that are gone, or an owner without
 * any: these end the loop. */
static kl_code release_all(kl_sim *sim, const char *uid, kl_error *err)
{
    const kl__sim_owned *owned = kl__sim_owners_of(sim, uid);
    size_t left = SIZE_MAX;
    kl_code code = KL_OK;

    while (code == KL_OK && owned != NULL && owned->dependents.count < left) {
        const kl__sim_dependent *dependent = kl__sim_owners_after(owned, NULL);
        kl__sim_state *state =
            dependent != NULL ? find_state(dependent->resource, dependent->key)
                              : NULL;

        if (state == NULL) {
            break;
        }
        left = owned->dependents.count;
        code = release_dependent(sim, dependent->resource, state, uid, err);
        owned = kl__sim_owners_of(sim, uid);
    }
    return code;
}

static kl_code await_dependents(kl_sim *sim, kl__sim_resource *resource,
                                kl__sim_state *state, kl__edit *edit,
                                kl_error *err)
{
    kl__sim_owned *owned = kl__sim_owners_of(sim, state->uid);
    kl_code code;

    if (owned == NULL || !blocks_owner(owned)) {
        return finalize_owner(sim, resource, state, edit, FOREGROUND, err);
    }
    if (owned->resource != NULL) {
        return KL_OK; /* dependents were queued when the owner began to wait */
    }
    code = look_at_all(sim, owned, err);
    return code == KL_OK ? kl__sim_owners_hold(owned, resource, state->key, err)
                         : code;
}

kl_code kl__sim_gc_finalize(kl_sim *sim, kl__sim_resource *resource,
                            const char *key, kl_error *err)
{
    kl__sim_state *state = find_state(resource, key);
    kl__edit *edit;
    kl_code code = KL_OK;

    if (state == NULL || !state->awaits) {
        return KL_OK;
    }
    edit = kl__sim_state_edit(state, err);
    if (edit == NULL) {
        return KL_ENOMEM;
    }
    kl__sim_state_ref(state);
    if (kl__sim_has_finalizer(metadata_of(edit), FOREGROUND)) {
        code = await_dependents(sim, resource, state, edit, err);
    } else {
        code = release_all(sim, state->uid, err);
        if (code == KL_OK) {
            code = finalize_owner(sim, resource, state, edit, ORPHAN, err);
        }
    }
    kl__sim_state_unref(state);
    kl__edit_free(edit);
    return code;
}
