/*
 * sim_chores.c - see sim_chores.h. Decides which chores follow from a change.
 */
#include "sim/core/store/sim_chores.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/store/sim_owners.h"

#include <string.h>

void kl__sim_chore_free(kl__sim_chore *chore)
{
    if (chore->resource != NULL) {
        kl__sim_resource_unref(chore->resource);
    }
    kl__free(chore->text);
    kl__free(chore);
}

static bool is_last(const kl_sim *sim, kl__sim_chore_type type,
                    const kl__sim_resource *resource, const char *text,
                    size_t length)
{
    const kl__sim_chore *last;

    if (kl__list_empty(&sim->chores)) {
        return false;
    }
    last = KL__CONTAINER(sim->chores.prev, kl__sim_chore, node);
    return last->type == type && last->resource == resource &&
           strlen(last->text) == length &&
           memcmp(last->text, text, length) == 0;
}

kl_code kl__sim_chore_add(kl_sim *sim, kl__sim_chore_type type,
                          kl__sim_resource *resource, const char *text,
                          size_t length, kl_error *err)
{
    kl__sim_chore *chore;

    if (sim->no_controllers || is_last(sim, type, resource, text, length)) {
        return KL_OK;
    }
    chore = kl__calloc(1, sizeof(*chore));
    if (chore != NULL) {
        chore->text = kl__strndup(text, length);
    }
    if (chore == NULL || chore->text == NULL) {
        kl__free(chore);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a chore");
    }
    chore->type = type;
    chore->resource = resource;
    if (resource != NULL) {
        resource->refs++;
    }
    kl__list_append(&sim->chores, &chore->node);
    return KL_OK;
}

/* Adds the chores that follow from a new state. */
static kl_code note_state(kl_sim *sim, kl__sim_resource *resource,
                          const kl__sim_state *state,
                          const kl__sim_state *previous, kl_error *err)
{
    size_t length = strlen(state->key);
    kl_code code = KL_OK;

    if (state->owners != NULL && !sim->loading &&
        !kl__sim_owners_same(state, previous)) {
        code = kl__sim_chore_add(sim, KL__SIM_OWNERS, resource, state->key,
                                 length, err);
    }
    if (code == KL_OK && state->awaits) {
        code = kl__sim_chore_add(sim, KL__SIM_FINALIZE, resource, state->key,
                                 length, err);
    }
    if (code == KL_OK && kl__sim_is_namespace(resource->kind) &&
        (previous == NULL || (state->deleting && !previous->deleting))) {
        code = kl__sim_chore_add(sim, KL__SIM_NAMESPACE, NULL, state->key,
                                 length, err);
    }
    return code;
}

/* Adds the chores that follow from the removal of an object: its dependents
 * lose their owner, and its namespace may have waited for it to go. */
static kl_code note_loss(kl_sim *sim, const kl__sim_resource *resource,
                         const kl__sim_state *state, kl_error *err)
{
    size_t length = kl__sim_state_namespace(state);
    kl_code code = kl__sim_owners_has(sim, state->uid)
                       ? kl__sim_chore_add(sim, KL__SIM_GONE, NULL, state->uid,
                                           strlen(state->uid), err)
                       : KL_OK;

    if (code != KL_OK || length == 0) {
        return code;
    }
    return sim->hooks->namespace_minds(sim, resource->kind, state)
               ? kl__sim_chore_add(sim, KL__SIM_NAMESPACE, NULL, state->key,
                                   length, err)
               : KL_OK;
}

/* Adds the chore for a change of a pod or a budget, which changes how many pods
 * may be evicted. */
static kl_code note_budgets(kl_sim *sim, const kl__sim_resource *resource,
                            const kl__sim_state *state, kl_error *err)
{
    const kl__sim_kind *kind = resource->kind;
    bool is_pod = *kind->group == '\0' && strcmp(kind->plural, "pods") == 0;
    bool is_budget = strcmp(kind->plural, "poddisruptionbudgets") == 0 &&
                     strcmp(kind->group, "policy") == 0;

    if (!is_budget &&
        (!is_pod ||
         kl__sim_find(sim, "policy", "poddisruptionbudgets")->items.count ==
             0)) {
        return KL_OK;
    }
    return kl__sim_chore_add(sim, KL__SIM_BUDGETS, NULL, state->key,
                             kl__sim_state_namespace(state), err);
}

kl_code kl__sim_chores_of(kl_sim *sim, kl__sim_resource *resource,
                          const kl__sim_state *state,
                          const kl__sim_state *previous, kl_error *err)
{
    kl_code code = KL_OK;

    if (sim->no_controllers) {
        return KL_OK;
    }
    if (previous != NULL && previous->owners != NULL &&
        !kl__sim_owners_same(previous, state)) {
        code = kl__sim_owners_loses(sim, previous, err);
    }
    if (code == KL_OK) {
        code = state != NULL ? note_state(sim, resource, state, previous, err)
                             : note_loss(sim, resource, previous, err);
    }
    if (code == KL_OK && strcmp(resource->kind->plural, "clusterroles") == 0 &&
        !kl__sim_kind_is(resource->kind, KL__SIM_CUSTOM)) {
        code = kl__sim_chore_add(sim, KL__SIM_ROLES, NULL, "", 0, err);
    }
    return code == KL_OK ? note_budgets(sim, resource,
                                        state != NULL ? state : previous, err)
                         : code;
}

void kl__sim_chores_deinit(kl_sim *sim)
{
    kl__list *node;

    while ((node = kl__list_shift(&sim->chores)) != NULL) {
        kl__sim_chore_free(KL__CONTAINER(node, kl__sim_chore, node));
    }
}
