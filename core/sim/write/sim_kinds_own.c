/*
 * sim_kinds_own.c - what the server sets in objects of single kinds.
 */
#include "sim/write/sim_kinds_own.h"

#include "sim/write/sim_write.h"

#include <string.h>

bool kl__sim_write_is(const kl__sim_write *write, const char *group,
                      const char *plural)
{
    const kl__sim_kind *kind = write->kind;

    return !kl__sim_kind_is(kind, KL__SIM_CUSTOM) &&
           strcmp(kind->plural, plural) == 0 && strcmp(kind->group, group) == 0;
}

/* --- Jobs. ---------------------------------------------------------------- */

static bool put_labels(kl__edit *edit, kl__node *metadata, const char *name,
                       const char *uid)
{
    kl__node *labels = kl__node_ensure(edit, metadata, "labels");

    return labels != NULL &&
           kl__sim_put_text(edit, labels, "batch.kubernetes.io/controller-uid",
                            uid) &&
           kl__sim_put_text(edit, labels, "batch.kubernetes.io/job-name",
                            name) &&
           kl__sim_put_text(edit, labels, "controller-uid", uid) &&
           kl__sim_put_text(edit, labels, "job-name", name);
}

/* A Job's pods are known by its UID, unless it says how itself. */
static bool prepare_job(kl__sim_write *write)
{
    kl__edit *edit = write->edit;
    kl__node *metadata = kl__sim_write_metadata(write);
    kl__node *spec = kl__node_get(kl__sim_write_root(write), "spec");
    kl__node *template = kl__node_get(spec, "template"), *selector;
    const char *uid = kl__node_text(metadata, "uid");
    const char *name = kl__node_text(metadata, "name");

    if (write->old != NULL || !kl__node_is(template, KL_OBJECT) ||
        name == NULL || kl__node_get(spec, "selector") != NULL ||
        kl__node_bool(kl__node_get(spec, "manualSelector"))) {
        return true;
    }
    selector = kl__node_ensure(edit, kl__node_ensure(edit, spec, "selector"),
                               "matchLabels");
    return selector != NULL &&
           kl__sim_put_text(edit, selector,
                            "batch.kubernetes.io/controller-uid", uid) &&
           put_labels(edit, kl__node_ensure(edit, template, "metadata"), name,
                      uid) &&
           put_labels(edit, metadata, name, uid) &&
           (kl__node_get(spec, "manualSelector") != NULL ||
            kl__node_put(edit, spec, "manualSelector",
                         kl__edit_bool(edit, false)));
}

kl_code kl__sim_prepare_kind(kl__sim_write *write, kl_error *err)
{
    if (kl__sim_write_is(write, "", "pods")) {
        return kl__sim_prepare_pod(write, err);
    }
    if (kl__sim_write_is(write, "", "services")) {
        return kl__sim_prepare_service(write, err);
    }
    if (kl__sim_write_is(write, "batch", "jobs")) {
        return prepare_job(write) ? KL_OK : kl__sim_no_memory(err);
    }
    return KL_OK;
}
