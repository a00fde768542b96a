/*
 * sim_owners.c - see sim_owners.h.
 */
#include "sim/core/store/sim_owners.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/store/sim_chores.h"

#include <string.h>

const char *kl__sim_owners_next(const char **at, bool *keeps)
{
    const char *owner = *at;

    if (owner == NULL || *owner == '\0') {
        return NULL;
    }
    *keeps = *owner == 'b';
    *at = owner + strlen(owner) + 1;
    return owner + 1;
}

static size_t owners_size(const char *owners)
{
    size_t size = 0;

    while (owners != NULL && owners[size] != '\0') {
        size += strlen(owners + size) + 1;
    }
    return size;
}

bool kl__sim_owners_same(const kl__sim_state *a, const kl__sim_state *b)
{
    const char *left = a != NULL ? a->owners : NULL;
    const char *right = b != NULL ? b->owners : NULL;
    size_t size = owners_size(left);

    return size == owners_size(right) &&
           (size == 0 || memcmp(left, right, size) == 0);
}

static void owned_free(kl__sim_owned *owned)
{
    if (owned->resource != NULL) {
        kl__sim_resource_unref(owned->resource);
    }
    kl__map_deinit(&owned->dependents);
    kl__free(owned->key);
    kl__free(owned->uid);
    kl__free(owned);
}

static void dependent_free(kl__sim_dependent *dependent)
{
    kl__list_remove(&dependent->node);
    kl__free(dependent->uid);
    kl__free(dependent->key);
    kl__free(dependent);
}

kl__sim_owned *kl__sim_owners_of(const kl_sim *sim, const char *uid)
{
    return kl__map_get(&sim->owned, uid);
}

const kl__sim_dependent *kl__sim_owners_after(const kl__sim_owned *owned,
                                              const kl__sim_dependent *previous)
{
    const kl__list *at = previous != NULL ? &previous->node : &owned->in_order;

    return at->next != &owned->in_order
               ? KL__CONTAINER(at->next, kl__sim_dependent, node)
               : NULL;
}

bool kl__sim_owners_has(const kl_sim *sim, const char *uid)
{
    return sim->owned.count != 0 && kl__sim_owners_of(sim, uid) != NULL;
}

/* Finds the entry of a UID, or makes it. NULL: out of memory. */
static kl__sim_owned *ensure_owned(kl_sim *sim, const char *uid)
{
    kl__sim_owned *owned = kl__sim_owners_of(sim, uid);

    if (owned != NULL) {
        return owned;
    }
    owned = kl__calloc(1, sizeof(*owned));
    if (owned == NULL) {
        return NULL;
    }
    kl__list_init(&owned->in_order);
    owned->uid = kl__strdup(uid);
    if (owned->uid == NULL ||
        !kl__map_put(&sim->owned, owned->uid, owned, NULL)) {
        owned_free(owned);
        return NULL;
    }
    return owned;
}

static bool add_dependent(kl__sim_owned *owned, kl__sim_resource *resource,
                          const kl__sim_state *state)
{
    kl__sim_dependent *dependent;

    if (kl__map_get(&owned->dependents, state->uid) != NULL) {
        return true;
    }
    dependent = kl__calloc(1, sizeof(*dependent));
    if (dependent == NULL) {
        return false;
    }
    kl__list_append(&owned->in_order, &dependent->node);
    dependent->resource = resource;
    dependent->key = kl__strdup(state->key);
    dependent->uid = kl__strdup(state->uid);
    if (dependent->key == NULL || dependent->uid == NULL ||
        !kl__map_put(&owned->dependents, dependent->uid, dependent, NULL)) {
        dependent_free(dependent);
        return false;
    }
    return true;
}

kl_code kl__sim_owners_add(kl_sim *sim, kl__sim_resource *resource,
                           const kl__sim_state *state, kl_error *err)
{
    const char *at = state->owners, *uid;
    bool blocks;

    while ((uid = kl__sim_owners_next(&at, &blocks)) != NULL) {
        kl__sim_owned *owned = ensure_owned(sim, uid);

        if (owned == NULL || !add_dependent(owned, resource, state)) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for an owner");
        }
    }
    return KL_OK;
}

/* True if a state (may be NULL) is of the same object as `previous`, and names
 * the owner with the UID `wanted`. */
static bool keeps_owner(const kl__sim_state *state,
                        const kl__sim_state *previous, const char *wanted)
{
    const char *at = state != NULL ? state->owners : NULL, *uid;
    bool blocks;

    if (at == NULL || strcmp(state->uid, previous->uid) != 0) {
        return false;
    }
    while ((uid = kl__sim_owners_next(&at, &blocks)) != NULL) {
        if (strcmp(uid, wanted) == 0) {
            return true;
        }
    }
    return false;
}

void kl__sim_owners_remove(kl_sim *sim, const kl__sim_state *state,
                           const kl__sim_state *next)
{
    const char *at = state->owners, *uid;
    bool blocks;

    while ((uid = kl__sim_owners_next(&at, &blocks)) != NULL) {
        kl__sim_owned *owned = kl__sim_owners_of(sim, uid);
        kl__sim_dependent *dependent;

        if (owned == NULL || keeps_owner(next, state, uid)) {
            continue;
        }
        dependent = kl__map_remove(&owned->dependents, state->uid);
        if (dependent != NULL) {
            dependent_free(dependent);
        }
        if (owned->dependents.count == 0) {
            kl__map_remove(&sim->owned, uid);
            owned_free(owned);
        }
    }
}

kl_code kl__sim_owners_hold(kl__sim_owned *owned, kl__sim_resource *resource,
                            const char *key, kl_error *err)
{
    if (owned->resource != NULL) {
        return KL_OK;
    }
    owned->key = kl__strdup(key);
    if (owned->key == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for an owner");
    }
    owned->resource = resource;
    resource->refs++;
    return KL_OK;
}

kl_code kl__sim_owners_loses(kl_sim *sim, const kl__sim_state *state,
                             kl_error *err)
{
    const char *at = state->owners, *uid;
    bool blocks;
    kl_code code = KL_OK;

    while (code == KL_OK && (uid = kl__sim_owners_next(&at, &blocks)) != NULL) {
        const kl__sim_owned *owned = kl__sim_owners_of(sim, uid);

        if (owned != NULL && owned->resource != NULL) {
            code = kl__sim_chore_add(sim, KL__SIM_FINALIZE, owned->resource,
                                     owned->key, strlen(owned->key), err);
        }
    }
    return code;
}

void kl__sim_owners_deinit(kl_sim *sim)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    while ((slot = kl__map_next(&sim->owned, &cursor)) != NULL) {
        kl__sim_owned *owned = slot->value;

        while (!kl__list_empty(&owned->in_order)) {
            dependent_free(
                KL__CONTAINER(owned->in_order.next, kl__sim_dependent, node));
        }
        owned_free(owned);
    }
    kl__map_deinit(&sim->owned);
}
