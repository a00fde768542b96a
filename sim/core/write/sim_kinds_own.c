/*
 * sim_kinds_own.c - see sim_kinds_own.h: what the server sets in Jobs, and
 * how writes of single kinds differ.
 */
#include "sim/core/write/sim_kinds_own.h"

#include "sim/core/write/sim_write.h"

#include <string.h>

bool kl__sim_write_is(const kl__sim_write *write, const char *group,
                      const char *plural)
{
    const kl__sim_kind *kind = write->kind;

    return !kl__sim_kind_is(kind, KL__SIM_CUSTOM) &&
           strcmp(kind->plural, plural) == 0 && strcmp(kind->group, group) == 0;
}

/* True if a kind is in the list, which ends with NULL. */
static bool is_kind_among(const kl__sim_kind *kind, const char *const *names)
{
    while (*names != NULL && strcmp(kind->qualified, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

bool kl__sim_put_is_conditional(const kl__sim_kind *kind)
{
    static const char *const kinds[] = {
        "apiservices.apiregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "leases.coordination.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "poddisruptionbudgets.policy",
        "runtimeclasses.node.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        NULL};

    return kl__sim_kind_is(kind, KL__SIM_CUSTOM) || is_kind_among(kind, kinds);
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

/* Adds labels with the Job's UID and name to a new Job and to its pod template,
 * and a selector for them; unless the request has a selector. */
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
