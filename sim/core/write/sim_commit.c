/*
 * sim_commit.c - the last stage of a write: stores the object's new state, or
 * removes the object, adds the chores that follow, and answers.
 */
#include "sim/core/write/sim_pipeline.h"

#include "sim/core/store/sim_chores.h"
#include "sim/core/store/sim_owners.h"
#include "sim/core/write/sim_deletion.h"
#include "sim/core/write/sim_expire.h"
#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>

kl_code kl__sim_commit(kl_sim *sim, kl__sim_resource *resource,
                       kl__sim_state *state, kl_error *err)
{
    kl__sim_node *node = kl__sim_tree_find(&resource->items, state->key);
    kl__sim_state *previous =
        node != NULL ? kl__sim_state_ref(node->state) : NULL;
    kl_code code = kl__sim_chores_of(sim, resource, state, previous, err);

    kl__sim_expire_note(sim, resource, state);
    if (code == KL_OK && !sim->no_controllers) {
        code = kl__sim_owners_add(sim, resource, state, err);
    }
    /* This only sets a flag, so it does no harm if storing the definition
     * fails. */
    if (code == KL_OK && kl__sim_is_crd(resource->kind)) {
        code = sim->hooks->crd_apply(sim, state, err);
    }
    if (code == KL_OK) {
        code = kl__sim_resource_put(resource, kl__sim_state_ref(state), err);
    }
    if (code == KL_OK) {
        sim->version = state->version;
        kl__sim_bell_ring(&sim->grown);
        if (previous != NULL) {
            kl__sim_owners_remove(sim, previous, state);
        }
    }
    kl__sim_state_unref(previous);
    kl__sim_state_unref(state);
    return code;
}

kl_code kl__sim_remove(kl_sim *sim, kl__sim_resource *resource, const char *key,
                       kl_error *err)
{
    kl__sim_state *state =
        kl__sim_state_ref(kl__sim_tree_find(&resource->items, key)->state);
    kl_code code = kl__sim_chores_of(sim, resource, NULL, state, err);

    if (code == KL_OK && kl__sim_is_crd(resource->kind)) {
        code = sim->hooks->crd_withdraw(sim, state->name, err);
    }
    if (code == KL_OK) {
        code = kl__sim_resource_remove(resource, state->key, sim->version + 1,
                                       err);
    }
    if (code == KL_OK) {
        sim->version++;
        kl__sim_bell_ring(&sim->grown);
        kl__sim_owners_remove(sim, state, NULL);
    }
    kl__sim_state_unref(state);
    return code;
}

kl_code kl__sim_put_back(kl_sim *sim, kl__sim_resource *resource,
                         const kl__sim_state *old, kl__edit *edit,
                         kl_error *err)
{
    kl__sim_state *state;

    if (kl__sim_is_over(resource->kind, kl__edit_root(edit))) {
        return kl__sim_remove(sim, resource, old->key, err);
    }
    if (kl__sim_encode_stored(resource->kind, edit, err) != KL_OK) {
        return KL_ENOMEM;
    }
    state = kl__sim_compose(resource->kind, edit, sim->version + 1, err);
    if (state == NULL) {
        return KL_ENOMEM;
    }
    if (kl__sim_state_says(state, old)) {
        kl__sim_state_unref(state);
        return KL_OK;
    }
    return kl__sim_commit(sim, resource, state, err);
}

static kl_code refuse_taken(const kl__sim_write *write,
                            const kl__sim_state *taken, kl_error *err)
{
    const kl__sim_kind *kind = write->kind;
    kl__sim_status status = {.code = 409,
                             .reason = "AlreadyExists",
                             .has_details = true,
                             .name = taken->name,
                             .group = kind->group,
                             .kind = kind->plural};

    snprintf(status.message, sizeof(status.message),
             "%s%s \"%.253s\" already exists",
             taken->deleting ? "object is being deleted: " : "",
             kind->qualified, taken->name);
    return kl__sim_answer_status(write->answer, &status, err);
}

/* Stores the state; or removes the object, if it is `over`. A dry run does
 * neither. Takes the state. */
static kl_code store_object(kl__sim_write *write, kl__sim_state *state,
                            bool over, kl_error *err)
{
    kl_sim *sim = write->answer->sim;

    if (kl__sim_is_dry(write->answer)) {
        kl__sim_state_unref(state);
        return KL_OK;
    }
    if (over) {
        kl__sim_state_unref(state);
        return kl__sim_remove(sim, write->resource, write->old->key, err);
    }
    return kl__sim_commit(sim, write->resource, state, err);
}

static kl_code present_object(kl__sim_write *write, int status,
                              const kl__sim_view *view,
                              const kl__sim_state *state, kl_error *err)
{
    return write->present != NULL
               ? write->present(write, status, view, state, err)
               : kl__sim_answer_object(write->answer, status, view, state, err);
}

kl_code kl__sim_conclude(kl__sim_write *write, kl_error *err)
{
    kl__sim_answer *answer = write->answer;
    kl__sim_view view = {write->kind, answer->ask.route.version, false, 0};
    bool over = write->old != NULL &&
                kl__sim_is_over(write->kind, kl__sim_write_root(write));
    bool is_dry = kl__sim_is_dry(answer);
    int64_t version = !is_dry              ? answer->sim->version + 1
                      : write->old != NULL ? write->old->version
                                           : 0;
    kl__sim_state *state =
        kl__sim_compose(write->resource->kind, write->edit, version, err);
    const kl__sim_node *taken;
    kl_code code;

    if (state == NULL) {
        return KL_ENOMEM;
    }
    taken = write->old == NULL
                ? kl__sim_tree_find(&write->resource->items, state->key)
                : NULL;
    if (taken != NULL) {
        code = refuse_taken(write, taken->state, err);
    } else if (write->old != NULL && kl__sim_state_says(state, write->old)) {
        /* Nothing was changed: no new version. */
        code = present_object(write, 200, &view, write->old, err);
    } else {
        view.version = over ? write->old->version : 0;
        code = present_object(write, write->old == NULL ? 201 : 200, &view,
                              state, err);
        if (code == KL_OK) {
            return store_object(write, state, over, err);
        }
    }
    kl__sim_state_unref(state);
    return code;
}
