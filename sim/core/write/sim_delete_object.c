/*
 * sim_delete_object.c - see sim_deletion.h: deletes one object, in the steps of
 * kube-apiserver. A pod that runs on a node gets a grace period. Finalizers
 * keep an object of any kind. All other objects are removed at once.
 */
#include "sim/core/write/sim_deletion.h"

#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_write.h"

#include <string.h>

bool kl__sim_has_finalizer(const kl__node *metadata, const char *finalizer)
{
    const kl__node *list = kl__node_get(metadata, "finalizers"), *element;
    kl__node_iter iter = {0};

    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);

        if (text != NULL && strcmp(text, finalizer) == 0) {
            return true;
        }
    }
    return false;
}

bool kl__sim_drop_finalizer(kl__node *metadata, const char *finalizer)
{
    kl__node *list = kl__node_get(metadata, "finalizers"), *element;
    kl__node_iter iter = {0};
    bool dropped = false;

    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);

        if (text != NULL && strcmp(text, finalizer) == 0) {
            kl__node_drop(&iter);
            dropped = true;
        }
    }
    if (dropped && kl__node_size(list) == 0) {
        kl__node_remove(metadata, "finalizers");
    }
    return dropped;
}

bool kl__sim_is_over(const kl__sim_kind *kind, const kl__node *root)
{
    const kl__node *metadata = kl__node_get(root, "metadata");
    const kl__node *spec = kl__node_get(root, "spec");

    return kl__node_get(metadata, "deletionTimestamp") != NULL &&
           kl__node_size(kl__node_get(metadata, "finalizers")) == 0 &&
           kl__node_integer(
               kl__node_get(metadata, "deletionGracePeriodSeconds")) == 0 &&
           (!kl__sim_is_namespace(kind) ||
            kl__node_size(kl__node_get(spec, "finalizers")) == 0);
}

/* ---- steps ---- */

static const char ORPHAN[] = "orphan", FOREGROUND[] = "foregroundDeletion";

/* One deletion in progress. */
typedef struct object_end {
    kl_sim *sim;
    kl__sim_resource *resource;
    const kl__sim_deletion *deletion;
    kl__edit *edit;
    kl__node *root;
    kl__node *metadata;
    bool graceful; /* grace_seconds has been set */
    int64_t grace_seconds;
} object_end;

static bool is_kind(const kl__sim_kind *kind, const char *group,
                    const char *plural)
{
    return !kl__sim_kind_is(kind, KL__SIM_CUSTOM) &&
           strcmp(kind->group, group) == 0 && strcmp(kind->plural, plural) == 0;
}

/* --- The grace period. ---------------------------------------------------- */

/* Adds seconds to a time; limits the seconds so that the sum cannot
 * overflow. */
static int64_t later_by(int64_t unix_ms, int64_t seconds)
{
    const int64_t most = INT64_C(200) * 366 * 24 * 3600;

    seconds = seconds < most ? seconds : most;
    return unix_ms + (seconds > -most ? seconds : -most) * 1000;
}

static bool put_time(object_end *end, int64_t unix_ms, int64_t grace_seconds)
{
    char text[KL__SIM_TIME_SIZE];

    kl__sim_clock_format(later_by(unix_ms, grace_seconds), text);
    return kl__sim_put_text(end->edit, end->metadata, "deletionTimestamp",
                            text) &&
           kl__node_put(end->edit, end->metadata, "deletionGracePeriodSeconds",
                        kl__edit_integer(end->edit, grace_seconds));
}

static bool count_deletion(object_end *end)
{
    int64_t generation =
        kl__node_integer(kl__node_get(end->metadata, "generation"));

    return generation == 0 ||
           kl__node_put(end->edit, end->metadata, "generation",
                        kl__edit_integer(end->edit, generation + 1));
}

/* The grace period of a pod: 0 if it has no node or has ended, because then no
 * kubelet has to stop it. */
static int64_t grace_of_pod(const object_end *end)
{
    const kl__node *spec = kl__node_get(end->root, "spec");
    const char *phase =
        kl__node_text(kl__node_get(end->root, "status"), "phase");
    const char *node = kl__node_text(spec, "nodeName");
    const kl__node *own = kl__node_get(spec, "terminationGracePeriodSeconds");
    int64_t seconds = kl__node_is(own, KL_INTEGER) ? kl__node_integer(own) : 30;

    if (end->deletion->has_grace) {
        seconds = end->deletion->grace_seconds;
    }
    if (node == NULL || *node == '\0' ||
        (phase != NULL &&
         (strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0))) {
        return 0;
    }
    return seconds < 0 ? 1 : seconds;
}

/* Shortens the grace period of a pod that is being deleted, if the request has
 * a shorter one. Sets *pending if nothing changes. */
static bool shorten_grace(object_end *end, bool *pending)
{
    const kl__node *member =
        kl__node_get(end->metadata, "deletionGracePeriodSeconds");
    int64_t before = kl__node_integer(member);
    int64_t seconds = end->deletion->grace_seconds;
    int64_t unix_ms;

    if (member == NULL || kl__sim_is_over(end->resource->kind, end->root)) {
        return true;
    }
    seconds = seconds < 0 ? 1 : seconds;
    if (!end->deletion->has_grace || seconds >= before) {
        *pending = true;
        return true;
    }
    unix_ms =
        kl__sim_clock_parse(kl__node_text(end->metadata, "deletionTimestamp"));
    end->graceful = true;
    end->grace_seconds = seconds;
    return put_time(end, later_by(unix_ms, -before), seconds);
}

static bool begin_grace(object_end *end, bool *pending)
{
    if (!is_kind(end->resource->kind, "", "pods")) {
        return true;
    }
    if (kl__node_get(end->metadata, "deletionTimestamp") != NULL) {
        return shorten_grace(end, pending);
    }
    end->graceful = true;
    end->grace_seconds = grace_of_pod(end);
    return put_time(end, kl__sim_clock_unix(&end->sim->clock),
                    end->grace_seconds) &&
           count_deletion(end);
}

/* --- Finalizers for the garbage collector. -------------------------------- */

/* True for kinds whose dependents are kept, unless the request says
 * otherwise. */
static bool orphans_by_default(const kl__sim_kind *kind)
{
    return is_kind(kind, "batch", "jobs") ||
           is_kind(kind, "", "replicationcontrollers");
}

/* The policy if the request has none. */
static kl__sim_policy own_policy(const object_end *end)
{
    if (kl__sim_has_finalizer(end->metadata, ORPHAN)) {
        return KL__SIM_ORPHAN;
    }
    if (kl__sim_has_finalizer(end->metadata, FOREGROUND)) {
        return KL__SIM_FOREGROUND;
    }
    return orphans_by_default(end->resource->kind) ? KL__SIM_ORPHAN
                                                   : KL__SIM_BACKGROUND;
}

static bool put_finalizer(object_end *end)
{
    kl__sim_policy policy = end->deletion->policy;
    const char *wanted;
    kl__node *list;

    if (end->deletion->has_orphan) {
        policy = end->deletion->orphan ? KL__SIM_ORPHAN : KL__SIM_BACKGROUND;
    } else if (policy == KL__SIM_BY_DEFAULT) {
        policy = own_policy(end);
    }
    wanted = policy == KL__SIM_ORPHAN       ? ORPHAN
             : policy == KL__SIM_FOREGROUND ? FOREGROUND
                                            : NULL;
    if (is_kind(end->resource->kind, "", "events")) {
        return true;
    }
    if (wanted != NULL && kl__sim_has_finalizer(end->metadata, wanted)) {
        return true;
    }
    kl__sim_drop_finalizer(end->metadata, ORPHAN);
    kl__sim_drop_finalizer(end->metadata, FOREGROUND);
    if (wanted == NULL) {
        return true;
    }
    list = kl__node_get(end->metadata, "finalizers");
    if (!kl__node_is(list, KL_ARRAY)) {
        list = kl__edit_array(end->edit);
        if (!kl__node_put(end->edit, end->metadata, "finalizers", list)) {
            return false;
        }
    }
    return kl__node_append(list, kl__edit_text(end->edit, wanted));
}

/* Marks an object as being deleted, without a grace period; a finalizer keeps
 * it. */
static bool mark_deleted(object_end *end)
{
    const char *given = kl__node_text(end->metadata, "deletionTimestamp");
    int64_t now = kl__sim_clock_unix(&end->sim->clock);

    if (given == NULL && !count_deletion(end)) {
        return false;
    }
    if (given != NULL && kl__sim_clock_parse(given) <= now) {
        return kl__node_put(end->edit, end->metadata,
                            "deletionGracePeriodSeconds",
                            kl__edit_integer(end->edit, 0));
    }
    return put_time(end, now, 0);
}

/* Marks a namespace as being deleted. The controllers that have a finalizer in
 * its spec do the rest. */
static bool end_namespace(object_end *end)
{
    char now[KL__SIM_TIME_SIZE];
    kl__node *status = kl__node_ensure(end->edit, end->root, "status");

    kl__sim_clock_time(&end->sim->clock, now);
    return (kl__node_get(end->metadata, "deletionTimestamp") != NULL ||
            kl__sim_put_text(end->edit, end->metadata, "deletionTimestamp",
                             now)) &&
           status != NULL &&
           kl__sim_put_text(end->edit, status, "phase", "Terminating");
}

/* Marks a definition as being deleted. Its controller then deletes the custom
 * objects, and at last the definition. */
static bool end_definition(object_end *end)
{
    char now[KL__SIM_TIME_SIZE];

    kl__sim_clock_time(&end->sim->clock, now);
    return end->sim->hooks->crd_guard(end->sim, end->edit, NULL) == KL_OK &&
           (kl__node_get(end->metadata, "deletionTimestamp") != NULL ||
            kl__sim_put_text(end->edit, end->metadata, "deletionTimestamp",
                             now));
}

/* True if a grace period or a finalizer keeps the object, as it is changed. */
static bool is_kept(const object_end *end)
{
    const kl__node *spec = kl__node_get(end->root, "spec");

    return kl__node_size(kl__node_get(end->metadata, "finalizers")) != 0 ||
           (end->graceful && end->grace_seconds > 0) ||
           (kl__sim_is_namespace(end->resource->kind) &&
            kl__node_size(kl__node_get(spec, "finalizers")) != 0);
}

/* --- All steps. ----------------------------------------------------------- */

/* Changes the tree of the object for the deletion. Sets *pending if nothing
 * changes. False: out of memory. */
static bool change_deleted(object_end *end, bool *pending)
{
    bool is_namespace = kl__sim_is_namespace(end->resource->kind);

    if (!begin_grace(end, pending) || *pending) {
        return *pending;
    }
    if (!put_finalizer(end)) {
        return false;
    }
    if (is_namespace) {
        return end_namespace(end);
    }
    if (kl__sim_is_crd(end->resource->kind)) {
        return end_definition(end);
    }
    return end->graceful || !is_kept(end) || mark_deleted(end);
}

/* Stores the object, if the deletion has changed it; a dry run does not store
 * it. `fate->shown` gets the last state. */
static kl_code store_deleted(object_end *end, kl__sim_state *state, bool kept,
                             kl__sim_fate *fate, kl_error *err)
{
    kl_sim *sim = end->sim;
    bool dry = end->deletion->dry;
    int64_t version = dry ? state->version : sim->version + 1;
    kl__sim_state *next;
    kl_code code;

    if (!kept && !end->graceful && !kl__sim_is_namespace(end->resource->kind)) {
        fate->shown = kl__sim_state_ref(state);
        return KL_OK;
    }
    next = kl__sim_compose(end->resource->kind, end->edit, version, err);
    if (next == NULL) {
        return KL_ENOMEM;
    }
    if (kl__sim_state_says(next, state)) {
        kl__sim_state_unref(next);
        fate->shown = kl__sim_state_ref(state);
        return KL_OK;
    }
    if (dry) {
        fate->shown = next;
        return KL_OK;
    }
    fate->shown = kl__sim_state_ref(next);
    code = kl__sim_commit(sim, end->resource, next, err);
    if (code != KL_OK) {
        kl__sim_state_unref(fate->shown);
        fate->shown = NULL;
    }
    return code;
}

static kl_code end_object(object_end *end, kl__sim_state *state,
                          kl__sim_fate *fate, kl_error *err)
{
    bool pending = false, kept;
    kl_code code;

    if (!change_deleted(end, &pending)) {
        return kl__sim_no_memory(err);
    }
    if (pending) {
        fate->is_pending = true;
        fate->shown = kl__sim_state_ref(state);
        return KL_OK;
    }
    kept = is_kept(end);
    code = store_deleted(end, state, kept, fate, err);
    if (code != KL_OK || kept) {
        return code;
    }
    if (!end->deletion->dry) {
        code = kl__sim_remove(end->sim, end->resource, state->key, err);
        fate->version = end->sim->version;
    }
    fate->is_gone = code == KL_OK;
    return code;
}

kl_code kl__sim_delete_object(kl_sim *sim, kl__sim_resource *resource,
                              kl__sim_state *state,
                              const kl__sim_deletion *deletion,
                              kl__sim_fate *fate, kl_error *err)
{
    object_end end = {.sim = sim, .resource = resource, .deletion = deletion};
    kl_code code;

    memset(fate, 0, sizeof(*fate));
    end.edit = kl__sim_state_edit(state, err);
    if (end.edit == NULL) {
        return KL_ENOMEM;
    }
    end.root = kl__edit_root(end.edit);
    end.metadata = kl__node_get(end.root, "metadata");
    kl__sim_state_ref(state);
    code = end_object(&end, state, fate, err);
    if (code != KL_OK) {
        kl__sim_state_unref(fate->shown);
        fate->shown = NULL;
    }
    kl__sim_state_unref(state);
    kl__edit_free(end.edit);
    return code;
}
