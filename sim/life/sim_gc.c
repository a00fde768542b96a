/*
 * sim_gc.c - the garbage collector: what nothing owns any more goes, and who is
 * deleted in the foreground, or without its dependents, waits for that. As the
 * one of kube-controller-manager, but at once.
 */
#include "sim/life/sim_settle.h"

#include "base/mem.h"
#include "sim/store/sim_compose.h"
#include "sim/store/sim_owners.h"
#include "sim/write/sim_deletion.h"
#include "sim/write/sim_pipeline.h"
#include "sim/write/sim_write.h"

#include <string.h>

static const char ORPHAN[] = "orphan", FOREGROUND[] = "foregroundDeletion";

/* What became of an owner. */
typedef enum owner_sort {
    SOLID,
    WAITING, /* it is deleted in the foreground: its dependents go first */
    DANGLING,
    UNKNOWN /* not to be told: nothing is done then */
} owner_sort;

static kl__sim_state *find(const kl__sim_resource *resource, const char *key)
{
    kl__sim_node *node = kl__sim_tree_find(&resource->items, key);

    return node != NULL ? node->state : NULL;
}

static kl__node *metadata_of(const kl__edit *edit)
{
    return kl__node_get(kl__edit_root(edit), "metadata");
}

static const char *text_of(const kl__node *object, const char *name)
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

/* What became of the owner that a reference names. `name_space` is that of the
 * dependent: an owner in another one counts as absent. */
static kl_code sort_owner(kl_sim *sim, const kl__node *reference,
                          const char *name_space, owner_sort *sort,
                          kl_error *err)
{
    kl__sim_resource *resource = kl__sim_find_kind(
        sim, text_of(reference, "apiVersion"), text_of(reference, "kind"));
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
        return KL_OK; /* no such reference is allowed: it is ignored */
    }
    key = kl__sim_key(is_namespaced ? name_space : NULL,
                      text_of(reference, "name"));
    if (key == NULL) {
        return kl__sim_no_memory(err);
    }
    owner = find(resource->home, key);
    kl__free(key);
    if (owner == NULL || strcmp(owner->uid, text_of(reference, "uid")) != 0) {
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

/* Counts the owners of an object; with `drop`, those that are not solid are
 * taken out of its references. */
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

/* How an object without owners is deleted: as its finalizers ask for. */
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

/* Whether one of the dependents waits for its own to go: for this object too,
 * maybe. */
static kl_code is_in_circle(kl_sim *sim, const kl__sim_state *state,
                            bool *circle, kl_error *err)
{
    const kl__sim_owned *owned = kl__sim_owners_of(sim, state->uid);
    const kl__map_slot *slot;
    size_t cursor = 0;
    kl_code code = KL_OK;

    *circle = false;
    while (owned != NULL && code == KL_OK && !*circle &&
           (slot = kl__map_next(&owned->dependents, &cursor)) != NULL) {
        const kl__sim_dependent *dependent = slot->value;
        const kl__sim_state *one = find(dependent->resource, dependent->key);

        if (one != NULL && one->deleting) {
            code = is_in_foreground(one, circle, err);
        }
    }
    return code;
}

/* An object that is to go before its owner and after its dependents, one of
 * which waits: it keeps its owners from going no longer, or all would wait for
 * each other. */
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

static kl_code judge(kl_sim *sim, kl__sim_resource *resource,
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
            kl__sim_state *now = kl__sim_state_ref(find(resource, state->key));

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
    kl__sim_state *state = find(resource, key);
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
    code = judge(sim, resource, state, edit, err);
    kl__sim_state_unref(state);
    kl__edit_free(edit);
    return code;
}

/* Has each dependent looked at. */
static kl_code look_at_all(kl_sim *sim, const kl__sim_owned *owned,
                           kl_error *err)
{
    const kl__map_slot *slot;
    size_t cursor = 0;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (slot = kl__map_next(&owned->dependents, &cursor)) != NULL) {
        const kl__sim_dependent *dependent = slot->value;

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

/* --- Owners that wait. ---------------------------------------------------- */

/* Whether a dependent keeps its owner from going. */
static bool blocks(const kl__sim_owned *owned)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    while ((slot = kl__map_next(&owned->dependents, &cursor)) != NULL) {
        const kl__sim_dependent *dependent = slot->value;
        const kl__sim_state *state = find(dependent->resource, dependent->key);
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

static kl_code finalize(kl_sim *sim, kl__sim_resource *resource,
                        kl__sim_state *state, kl__edit *edit,
                        const char *finalizer, kl_error *err)
{
    kl__sim_drop_finalizer(metadata_of(edit), finalizer);
    return kl__sim_put_as(sim, resource, state, edit, &kl__sim_controller, err);
}

/* Takes the references to `uid` out of an object. */
static kl_code release(kl_sim *sim, kl__sim_resource *resource,
                       kl__sim_state *state, const char *uid, kl_error *err)
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
        if (strcmp(text_of(reference, "uid"), uid) == 0) {
            kl__node_drop(&iter);
        }
    }
    kl__sim_state_ref(state);
    code = kl__sim_put_as(sim, resource, state, edit, &kl__sim_controller, err);
    kl__sim_state_unref(state);
    kl__edit_free(edit);
    return code;
}

/* Sets all dependents free, one after the other: each leaves the index, where
 * the next one may take its place. */
static kl_code release_all(kl_sim *sim, const char *uid, kl_error *err)
{
    const kl__sim_owned *owned;
    size_t cursor = 0;
    kl_code code = KL_OK;

    while (code == KL_OK && (owned = kl__sim_owners_of(sim, uid)) != NULL) {
        const kl__map_slot *slot = kl__map_next(&owned->dependents, &cursor);
        const kl__sim_dependent *dependent;
        size_t count = owned->dependents.count;
        kl__sim_state *state;

        if (slot == NULL) { /* some moved to before where it looked */
            cursor = 0;
            continue;
        }
        dependent = slot->value;
        state = find(dependent->resource, dependent->key);
        if (state == NULL) {
            break;
        }
        cursor--;
        code = release(sim, dependent->resource, state, uid, err);
        owned = kl__sim_owners_of(sim, uid);
        if (owned != NULL && owned->dependents.count == count) {
            break; /* without memory, the index may know too much */
        }
    }
    return code;
}

static kl_code await_dependents(kl_sim *sim, kl__sim_resource *resource,
                                kl__sim_state *state, kl__edit *edit,
                                kl_error *err)
{
    kl__sim_owned *owned = kl__sim_owners_of(sim, state->uid);
    kl_code code;

    if (owned == NULL || !blocks(owned)) {
        return finalize(sim, resource, state, edit, FOREGROUND, err);
    }
    if (owned->resource != NULL) {
        return KL_OK; /* all were looked at when it began to wait */
    }
    code = look_at_all(sim, owned, err);
    return code == KL_OK ? kl__sim_owners_hold(owned, resource, state->key, err)
                         : code;
}

kl_code kl__sim_gc_finalize(kl_sim *sim, kl__sim_resource *resource,
                            const char *key, kl_error *err)
{
    kl__sim_state *state = find(resource, key);
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
            code = finalize(sim, resource, state, edit, ORPHAN, err);
        }
    }
    kl__sim_state_unref(state);
    kl__edit_free(edit);
    return code;
}
