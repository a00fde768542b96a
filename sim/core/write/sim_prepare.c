/*
 * sim_prepare.c - a stage of a write: sets what only the server may set (UID,
 * times, generation), and puts back the parts that this request cannot change:
 * status, or all but status.
 */
#include "sim/core/write/sim_pipeline.h"

#include "sim/core/store/sim_compose.h"
#include "sim/core/store/sim_random.h"
#include "sim/core/write/sim_deletion.h"
#include "sim/core/write/sim_kinds_own.h"
#include "sim/core/write/sim_write.h"

#include <string.h>

/* The members of metadata that an update cannot change. */
static const char *const kept_metadata[] = {
    "name",       "generateName",      "namespace",
    "uid",        "creationTimestamp", "deletionGracePeriodSeconds",
    "generation", "deletionTimestamp"};

static bool is_kind(const kl__sim_kind *kind, const char *group,
                    const char *plural)
{
    return !kl__sim_kind_is(kind, KL__SIM_CUSTOM) &&
           strcmp(kind->group, group) == 0 && strcmp(kind->plural, plural) == 0;
}

/* --- Rules of single kinds. ----------------------------------------------- */

/* Sets spec.finalizers of a namespace. A new namespace gets the finalizer
 * "kubernetes" of its controller; later only the subresource finalize can
 * change the list. */
static bool complete_finalizers(kl__sim_write *write, kl__node *spec)
{
    kl__edit *edit = write->edit;
    const kl__node *old = kl__node_get(
        kl__node_get(kl__sim_write_old(write), "spec"), "finalizers");
    kl__node *list;

    if (write->old != NULL) {
        return strcmp(write->subresource, "finalize") == 0 ||
               kl__sim_put_copy(edit, spec, "finalizers", old);
    }
    list = kl__node_get(spec, "finalizers");
    if (!kl__node_is(list, KL_ARRAY)) {
        list = kl__edit_array(edit);
        if (!kl__node_put(edit, spec, "finalizers", list)) {
            return false;
        }
    }
    return kl__sim_has_finalizer(spec, "kubernetes") ||
           kl__node_append(list, kl__edit_text(edit, "kubernetes"));
}

static bool complete_namespace(kl__sim_write *write)
{
    kl__edit *edit = write->edit;
    kl__node *root = kl__sim_write_root(write);
    kl__node *metadata = kl__sim_write_metadata(write);
    const char *name = kl__node_text(metadata, "name");
    kl__node *labels = kl__node_ensure(edit, metadata, "labels");
    kl__node *spec = kl__node_ensure(edit, root, "spec");

    if (labels == NULL || spec == NULL ||
        !kl__sim_put_text(edit, labels, "kubernetes.io/metadata.name", name) ||
        !complete_finalizers(write, spec)) {
        return false;
    }
    return write->old != NULL ||
           kl__sim_put_text(edit, kl__node_ensure(edit, root, "status"),
                            "phase", "Active");
}

/* Sets the phase of a new Pod, volume or claim to Pending. A load may set
 * another phase. */
static bool complete_phase(kl__sim_write *write)
{
    const kl__sim_kind *kind = write->kind;
    kl__node *status;

    if (write->old != NULL || (!is_kind(kind, "", "pods") &&
                               !is_kind(kind, "", "persistentvolumes") &&
                               !is_kind(kind, "", "persistentvolumeclaims"))) {
        return true;
    }
    status = kl__node_ensure(write->edit, kl__sim_write_root(write), "status");
    return status != NULL &&
           ((write->answer->loading && kl__node_get(status, "phase") != NULL) ||
            kl__sim_put_text(write->edit, status, "phase", "Pending"));
}

static kl_code complete_metadata(kl__sim_write *write, kl_error *err)
{
    if (kl__sim_is_crd(write->kind)) {
        return write->answer->sim->hooks->crd_complete(write, err);
    }
    if (kl__sim_is_namespace(write->kind)) {
        return complete_namespace(write) ? KL_OK : kl__sim_no_memory(err);
    }
    if (!complete_phase(write)) {
        return kl__sim_no_memory(err);
    }
    return kl__sim_prepare_kind(write, err);
}

/* --- New objects. --------------------------------------------------------- */

/* True if a new object keeps the status that the request has. A Node does: a
 * kubelet creates its Node together with the status. */
static bool keeps_status(const kl__sim_write *write)
{
    return write->answer->loading || !write->served->has_status ||
           is_kind(write->kind, "", "nodes");
}

static bool identify_object(kl__sim_write *write)
{
    char uid[KL__SIM_UID_SIZE], now[KL__SIM_TIME_SIZE];
    bool loading = write->answer->loading;
    kl__edit *edit = write->edit;
    kl__node *metadata = kl__sim_write_metadata(write);
    const char *given = kl__node_text(metadata, "uid");
    bool fresh = !loading || given == NULL || *given == '\0';

    kl__sim_random_uid(uid);
    kl__sim_clock_time(&write->answer->sim->clock, now);
    kl__node_remove(metadata, "deletionTimestamp");
    kl__node_remove(metadata, "deletionGracePeriodSeconds");
    if ((fresh && !kl__sim_put_text(edit, metadata, "uid", uid)) ||
        !kl__sim_put_text(edit, metadata, "namespace",
                          write->answer->ask.route.name_space)) {
        return false;
    }
    return (loading && kl__node_text(metadata, "creationTimestamp") != NULL) ||
           kl__sim_put_text(edit, metadata, "creationTimestamp", now);
}

static bool count_first(kl__sim_write *write)
{
    kl__node *metadata = kl__sim_write_metadata(write);

    if (write->answer->loading &&
        kl__node_integer(kl__node_get(metadata, "generation")) != 0) {
        return true;
    }
    if (!kl__sim_kind_is(write->kind, KL__SIM_GENERATION)) {
        return true;
    }
    return kl__node_put(write->edit, metadata, "generation",
                        kl__edit_integer(write->edit, 1));
}

static kl_code prepare_new(kl__sim_write *write, kl_error *err)
{
    if (!keeps_status(write)) {
        kl__node_remove(kl__sim_write_root(write), "status");
    }
    return identify_object(write) && count_first(write)
               ? complete_metadata(write, err)
               : kl__sim_no_memory(err);
}

/* --- Existing objects. ---------------------------------------------------- */

/* Keeps a member of metadata as it was. */
static bool keep_member(kl__sim_write *write, kl__node *metadata,
                        const char *name)
{
    return kl__sim_put_copy(
        write->edit, metadata, name,
        kl__node_get(kl__node_get(kl__sim_write_old(write), "metadata"), name));
}

/* Keeps the qosClass of a Pod, if its new status lacks it. */
static bool keep_class(kl__sim_write *write, kl__node *status)
{
    const kl__node *old = kl__node_get(kl__sim_write_old(write), "status");
    const char *given = kl__node_text(status, "qosClass");

    return status == NULL || (given != NULL && *given != '\0') ||
           kl__sim_put_copy(write->edit, status, "qosClass",
                            kl__node_get(old, "qosClass"));
}

/* Takes from a write of status only what it may change: the status, and for
 * most built-in kinds the metadata, except for the labels of a Deployment and
 * the owners of a Pod. */
static bool take_status(kl__sim_write *write)
{
    kl__edit *edit = write->edit;
    kl__node *root = kl__sim_write_root(write);
    kl__node *status = kl__node_remove(root, "status");
    kl__node *metadata = kl__node_remove(root, "metadata");
    kl__node *whole = kl__edit_copy(edit, kl__sim_write_old(write));

    if (whole == NULL) {
        return false;
    }
    if ((is_kind(write->kind, "apps", "deployments") &&
         !keep_member(write, metadata, "labels")) ||
        (is_kind(write->kind, "", "pods") &&
         !(keep_member(write, metadata, "ownerReferences") &&
           keep_class(write, status)))) {
        return false;
    }
    kl__edit_set_root(edit, whole);
    kl__node_remove(whole, "status");
    return (status == NULL || kl__node_put(edit, whole, "status", status)) &&
           (kl__sim_kind_is(write->kind, KL__SIM_CUSTOM) ||
            kl__node_put(edit, whole, "metadata", metadata));
}

/* Puts the old status back, in a write that is not one of status. Only for
 * kinds with the subresource status. */
static bool keep_status(kl__sim_write *write)
{
    kl__node *root = kl__sim_write_root(write);

    if (!write->served->has_status ||
        (write->answer->loading && write->says_status)) {
        return true;
    }
    return kl__sim_put_copy(write->edit, root, "status",
                            kl__node_get(kl__sim_write_old(write), "status"));
}

/* Puts back the metadata that an update cannot change. */
static bool keep_metadata(kl__sim_write *write)
{
    const kl__node *old = kl__node_get(kl__sim_write_old(write), "metadata");
    kl__node *metadata = kl__sim_write_metadata(write);
    size_t count = sizeof(kept_metadata) / sizeof(kept_metadata[0]);

    for (size_t i = 0; i < count; i++) {
        if (!kl__sim_put_copy(write->edit, metadata, kept_metadata[i],
                              kl__node_get(old, kept_metadata[i]))) {
            return false;
        }
    }
    return true;
}

/* True for members whose changes do not raise the generation. */
static bool is_apart(const kl__sim_write *write, const char *name)
{
    return strcmp(name, "kind") == 0 || strcmp(name, "apiVersion") == 0 ||
           strcmp(name, "metadata") == 0 ||
           (strcmp(name, "status") == 0 && write->served->has_status);
}

/* True if a member has changed that raises the generation. */
static bool is_changed(const kl__sim_write *write)
{
    const kl__node *sides[2] = {kl__sim_write_old(write),
                                kl__sim_write_root(write)};

    for (int side = 0; side < 2; side++) {
        kl__node_iter iter = {0};
        const kl__node *value;
        const char *name;

        while ((value = kl__node_next(sides[side], &iter, &name, NULL)) !=
               NULL) {
            if (!is_apart(write, name) &&
                !kl__node_equal(value, kl__node_get(sides[1 - side], name))) {
                return true;
            }
        }
    }
    return false;
}

/* True if annotations or labels have changed that raise the generation: the
 * annotations of a Deployment, and the labels of an EndpointSlice. */
static bool is_annotated(const kl__sim_write *write)
{
    const char *name =
        is_kind(write->kind, "apps", "deployments") ? "annotations"
        : is_kind(write->kind, "discovery.k8s.io", "endpointslices") ? "labels"
                                                                     : NULL;

    return name != NULL &&
           !kl__node_equal(
               kl__node_get(kl__sim_write_metadata(write), name),
               kl__node_get(kl__node_get(kl__sim_write_old(write), "metadata"),
                            name));
}

static bool count_change(kl__sim_write *write)
{
    kl__node *metadata = kl__sim_write_metadata(write);
    int64_t generation = kl__node_integer(kl__node_get(metadata, "generation"));

    /* The generation of a PriorityClass stays 1. */
    return !kl__sim_kind_is(write->kind, KL__SIM_GENERATION) ||
           is_kind(write->kind, "scheduling.k8s.io", "priorityclasses") ||
           (!is_changed(write) && !is_annotated(write)) ||
           kl__node_put(write->edit, metadata, "generation",
                        kl__edit_integer(write->edit, generation + 1));
}

static kl_code prepare_change(kl__sim_write *write, kl_error *err)
{
    kl_code code = KL_OK;

    if (kl__sim_write_is_status(write)) {
        return take_status(write) && keep_metadata(write)
                   ? KL_OK
                   : kl__sim_no_memory(err);
    }
    kl__sim_check_kept(write);
    if (!keep_status(write) || !keep_metadata(write)) {
        return kl__sim_no_memory(err);
    }
    code = complete_metadata(write, err);
    if (code != KL_OK || !kl__sim_write_goes_on(write)) {
        return code;
    }
    return count_change(write) ? KL_OK : kl__sim_no_memory(err);
}

kl_code kl__sim_prepare(kl__sim_write *write, kl_error *err)
{
    return write->old != NULL ? prepare_change(write, err)
                              : prepare_new(write, err);
}
