/*
 * sim_snapshot.c - kl_sim_snapshot and kl_sim_restore: a cluster goes back to
 * an earlier state, like a server whose etcd was restored from a backup
 * (docs/KUBERNETES.md#restored-backup): objects and version come back, history
 * does not.
 */
#include "sim/core/life/sim_snapshot.h"

#include "base/mem.h"
#include "sim/core/custom/sim_custom.h"
#include "sim/core/store/sim_chores.h"
#include "sim/core/store/sim_owners.h"

#include <inttypes.h>
#include <string.h>

/* The objects of one resource. */
typedef struct snapshot_part {
    kl__sim_kind *kind; /* a reference */
    kl__sim_state **states;
    size_t count;
    kl__sim_tree tree; /* during a restore: `states`, in nodes */
} snapshot_part;

typedef struct kl__sim_snapshot {
    kl__list node;
    int64_t version;
    snapshot_part *parts;
    size_t count;
} kl__sim_snapshot;

static void free_part(snapshot_part *part)
{
    for (size_t i = 0; i < part->count; i++) {
        kl__sim_state_unref(part->states[i]);
    }
    kl__free(part->states);
    kl__sim_kind_unref(part->kind);
}

static void free_snapshot(kl__sim_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        free_part(&snapshot->parts[i]);
    }
    kl__free(snapshot->parts);
    kl__free(snapshot);
}

void kl__sim_snapshots_deinit(kl_sim *sim)
{
    kl__list *node;

    while ((node = kl__list_shift(&sim->snapshots)) != NULL) {
        free_snapshot(KL__CONTAINER(node, kl__sim_snapshot, node));
    }
}

/* Adds a state; false: out of memory. */
static bool keep_state(snapshot_part *part, size_t *capacity,
                       kl__sim_state *state)
{
    if (part->count == *capacity) {
        size_t more = *capacity != 0 ? *capacity * 2 : 16;
        kl__sim_state **states =
            kl__realloc(part->states, more * sizeof(*states));

        if (states == NULL) {
            return false;
        }
        part->states = states;
        *capacity = more;
    }
    part->states[part->count++] = kl__sim_state_ref(state);
    return true;
}

static bool take_part(snapshot_part *part, const kl__sim_resource *resource,
                      int64_t version)
{
    size_t capacity = 0;
    kl__sim_state *state;
    kl__sim_walk walk;
    bool whole = true;

    if (kl__sim_walk_begin(&walk, resource, "", version, NULL) != KL_OK) {
        return false;
    }
    while (whole && (state = kl__sim_walk_next(&walk)) != NULL) {
        whole = keep_state(part, &capacity, state);
    }
    kl__sim_walk_end(&walk);
    part->kind = kl__sim_kind_ref(resource->kind);
    return whole;
}

static size_t count_resources(const kl_sim *sim)
{
    size_t count = 0;

    for (const kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        count++;
    }
    return count;
}

/* A snapshot of a version that is in the history; NULL: out of memory. */
static kl__sim_snapshot *take_locked(const kl_sim *sim, int64_t version)
{
    kl__sim_snapshot *snapshot = kl__calloc(1, sizeof(*snapshot));
    bool whole = snapshot != NULL;

    if (whole) {
        snapshot->version = version;
        snapshot->parts =
            kl__calloc(count_resources(sim), sizeof(*snapshot->parts));
        whole = snapshot->parts != NULL;
    }
    for (const kl__list *node = sim->resources.next;
         whole && node != &sim->resources; node = node->next) {
        whole = take_part(&snapshot->parts[snapshot->count++],
                          KL__CONTAINER(node, kl__sim_resource, node), version);
    }
    if (!whole && snapshot != NULL) {
        free_snapshot(snapshot);
        snapshot = NULL;
    }
    return snapshot;
}

static kl__sim_snapshot *find_locked(const kl_sim *sim, int64_t version)
{
    for (kl__list *node = sim->snapshots.next; node != &sim->snapshots;
         node = node->next) {
        kl__sim_snapshot *snapshot =
            KL__CONTAINER(node, kl__sim_snapshot, node);

        if (snapshot->version == version) {
            return snapshot;
        }
    }
    return NULL;
}

kl_code kl_sim_snapshot(kl_sim *sim, int64_t *version, kl_error *err)
{
    kl__sim_snapshot *snapshot;
    kl_code code = KL_OK;

    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return KL_EFORKED;
    }
    kl__mutex_lock(&sim->mutex);
    snapshot = find_locked(sim, sim->version);
    /* Replace a snapshot of the same version: after a restore to an earlier
     * version it may be out of date. */
    if (snapshot != NULL) {
        kl__list_remove(&snapshot->node);
        free_snapshot(snapshot);
    }
    snapshot = take_locked(sim, sim->version);
    if (snapshot != NULL) {
        kl__list_append(&sim->snapshots, &snapshot->node);
        *version = snapshot->version;
    } else {
        code = kl_error_set(err, KL_ENOMEM, "out of memory for a snapshot");
    }
    kl__mutex_unlock(&sim->mutex);
    return code;
}

/* True if every resource still has the history back to that version. */
static bool has_history(const kl_sim *sim, int64_t version)
{
    for (const kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        if (KL__CONTAINER(node, kl__sim_resource, node)->floor > version) {
            return false;
        }
    }
    return version >= 1 && version <= sim->version;
}

/* Makes the tree nodes of a part; false: out of memory. */
static bool prepare_part(snapshot_part *part)
{
    kl__sim_tree_init(&part->tree);
    for (size_t i = 0; i < part->count; i++) {
        kl__sim_node *node = kl__sim_node_new(&part->tree);

        if (node == NULL) {
            return false;
        }
        kl__sim_tree_add(&part->tree, node, kl__sim_state_ref(part->states[i]));
    }
    return true;
}

/* Serves the resources that the snapshot has. KL_ENOMEM. */
static kl_code serve_again(kl_sim *sim, const kl__sim_snapshot *snapshot,
                           kl_error *err)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < snapshot->count; i++) {
        kl__sim_kind *kind = snapshot->parts[i].kind;
        kl__sim_resource *resource =
            kl__map_get(&sim->by_name, kind->qualified);

        if (resource == NULL) {
            code = kl__sim_serve(sim, kind, err);
        } else if (resource->kind != kind) {
            code = kl__sim_reserve(sim, resource, kind, err);
        }
    }
    return code;
}

static const snapshot_part *find_part(const kl__sim_snapshot *snapshot,
                                      const char *qualified)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        if (strcmp(snapshot->parts[i].kind->qualified, qualified) == 0) {
            return &snapshot->parts[i];
        }
    }
    return NULL;
}

/* Makes the trees of the snapshot those of the resources. It cannot fail. */
static void put_back(kl_sim *sim, kl__sim_snapshot *snapshot)
{
    kl__list *next;

    for (kl__list *node = sim->resources.next; node != &sim->resources;
         node = next) {
        kl__sim_resource *resource =
            KL__CONTAINER(node, kl__sim_resource, node);

        next = node->next;
        if (find_part(snapshot, resource->kind->qualified) == NULL) {
            kl__sim_unserve(sim, resource);
        }
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        snapshot_part *part = &snapshot->parts[i];
        kl__sim_resource *resource =
            kl__map_get(&sim->by_name, part->kind->qualified);

        kl__sim_resource_replace(resource, &part->tree, snapshot->version);
    }
    sim->version = snapshot->version;
    /* versions go back: look at all definitions again */
    sim->definitions_due = sim->definitions_all = true;
    sim->breaks++; /* connections break, as when its servers restart */
    kl__sim_wake_all(sim);
}

/* Rebuilds the index of owners, and queues the objects that are being deleted
 * for the controllers. */
static kl_code tell_controllers(kl_sim *sim, kl_error *err)
{
    kl_code code = KL_OK;

    kl__sim_owners_deinit(sim);
    if (sim->no_controllers) {
        return KL_OK;
    }
    for (kl__list *at = sim->resources.next;
         code == KL_OK && at != &sim->resources; at = at->next) {
        kl__sim_resource *resource = KL__CONTAINER(at, kl__sim_resource, node);

        for (kl__sim_node *node = resource->items.first[0];
             code == KL_OK && node != NULL; node = node->next[0]) {
            code = kl__sim_owners_add(sim, resource, node->state, err);
            if (code == KL_OK &&
                (node->state->deleting || node->state->awaits)) {
                code = kl__sim_chores_of(sim, resource, node->state, NULL, err);
            }
        }
    }
    return code;
}

static kl_code restore_locked(kl_sim *sim, kl__sim_snapshot *snapshot,
                              kl_error *err)
{
    size_t made = 0;
    bool whole = true;
    kl_code code = KL_OK;

    while (whole && made < snapshot->count) {
        whole = prepare_part(&snapshot->parts[made++]);
    }
    code = whole ? serve_again(sim, snapshot, err)
                 : kl_error_set(err, KL_ENOMEM, "out of memory for a snapshot");
    if (code == KL_OK) {
        put_back(sim, snapshot);
        return tell_controllers(sim, err);
    }
    for (size_t i = 0; i < made; i++) {
        kl__sim_tree_deinit(&snapshot->parts[i].tree);
    }
    return code;
}

kl_code kl_sim_restore(kl_sim *sim, int64_t version, kl_error *err)
{
    kl__sim_snapshot *kept, *snapshot;
    kl_code code;

    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return KL_EFORKED;
    }
    kl__mutex_lock(&sim->mutex);
    kept = snapshot = find_locked(sim, version);
    if (snapshot == NULL && !has_history(sim, version)) {
        code =
            kl_error_set(err, KL_EINVAL,
                         "simulator: version %" PRId64 " is neither a snapshot "
                         "nor in the history; the cluster is at %" PRId64,
                         version, sim->version);
    } else {
        if (snapshot == NULL) {
            snapshot = take_locked(sim, version);
        }
        code = snapshot != NULL ? restore_locked(sim, snapshot, err)
                                : kl_error_set(err, KL_ENOMEM,
                                               "out of memory for a snapshot");
    }
    if (snapshot != NULL && kept == NULL) {
        free_snapshot(snapshot);
    }
    kl__mutex_unlock(&sim->mutex);
    return code;
}
