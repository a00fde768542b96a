/*
 * sim_pods.c - what the server sets in a Pod: its quality of service; and which
 * fields its subresources can change.
 */
#include "sim/core/write/sim_kinds_own.h"

#include "sim/core/write/sim_write.h"

#include <string.h>

static kl__node *spec_of(const kl__sim_write *write)
{
    return kl__node_get(kl__sim_write_root(write), "spec");
}

/* --- Quality of service. -------------------------------------------------- */

/* True if a container (or the pod itself) has limits of cpu and memory that
 * equal its requests. Sets *any if it has any limit or request of these. */
static bool is_guaranteed(const kl__node *container, bool *any)
{
    static const char *const names[] = {"cpu", "memory"};
    const kl__node *resources = kl__node_get(container, "resources");
    const kl__node *limits = kl__node_get(resources, "limits");
    const kl__node *requests = kl__node_get(resources, "requests");
    bool guaranteed = true;

    for (size_t i = 0; i < 2; i++) {
        const kl__node *limit = kl__node_get(limits, names[i]);
        const kl__node *request = kl__node_get(requests, names[i]);

        *any |= limit != NULL || request != NULL;
        guaranteed &= limit != NULL &&
                      (request == NULL || kl__node_equal(limit, request));
    }
    return guaranteed;
}

static const char *class_of(const kl__node *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    bool any = false, guaranteed = true;
    bool is_whole = kl__node_get(spec, "resources") != NULL;

    if (is_whole) {
        guaranteed = is_guaranteed(spec, &any);
    }
    for (size_t i = 0; i < 2 && !is_whole; i++) {
        const kl__node *list = kl__node_get(spec, lists[i]), *container;
        kl__node_iter iter = {0};

        while ((container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
            guaranteed &= is_guaranteed(container, &any);
        }
    }
    return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

/* --- Writes of a Pod. ----------------------------------------------------- */

/* Replaces a negative grace period by 1 second, the shortest. */
static bool mend_grace(kl__edit *edit, kl__node *spec)
{
    static const char name[] = "terminationGracePeriodSeconds";

    return kl__node_integer(kl__node_get(spec, name)) >= 0 ||
           kl__node_put(edit, spec, name, kl__edit_integer(edit, 1));
}

static kl_code prepare_new(kl__sim_write *write, kl_error *err)
{
    kl__edit *edit = write->edit;
    kl__node *spec = spec_of(write);
    kl__node *status =
        kl__node_ensure(edit, kl__sim_write_root(write), "status");

    if (status == NULL || !mend_grace(edit, spec) ||
        (kl__node_get(status, "qosClass") == NULL &&
         !kl__sim_put_text(edit, status, "qosClass", class_of(spec)))) {
        return kl__sim_no_memory(err);
    }
    return KL_OK;
}

/* Replaces the new object by the old one, except for the one member of spec
 * that the subresource may write. */
static kl_code keep_but(kl__sim_write *write, const char *member, kl_error *err)
{
    kl__node *part = kl__node_remove(spec_of(write), member);
    kl__node *whole = kl__edit_copy(write->edit, kl__sim_write_old(write));

    if (whole == NULL) {
        return kl__sim_no_memory(err);
    }
    kl__edit_set_root(write->edit, whole);
    return part == NULL ||
                   kl__node_put(write->edit, kl__node_get(whole, "spec"),
                                member, part)
               ? KL_OK
               : kl__sim_no_memory(err);
}

kl_code kl__sim_prepare_pod(kl__sim_write *write, kl_error *err)
{
    if (write->old == NULL) {
        return spec_of(write) != NULL ? prepare_new(write, err) : KL_OK;
    }
    if (strcmp(write->subresource, "ephemeralcontainers") == 0) {
        return keep_but(write, "ephemeralContainers", err);
    }
    return strcmp(write->subresource, "resize") == 0
               ? keep_but(write, "containers", err)
               : KL_OK;
}
