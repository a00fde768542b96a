/*
 * sim_pods.c - what a Pod gets from the server and its admission: tolerations,
 * a priority, its class of service; and what its subresources reach.
 */
#include "sim/write/sim_kinds_own.h"

#include "sim/write/sim_write.h"

#include <stdio.h>
#include <string.h>

enum { TOLERATION_SECONDS = 300 };

static kl__node *spec_of(const kl__sim_write *write)
{
    return kl__node_get(kl__sim_write_root(write), "spec");
}

/* --- Tolerations. --------------------------------------------------------- */

static bool tolerates(const kl__node *list, const char *key)
{
    const kl__node *toleration;
    kl__node_iter iter = {0};

    while ((toleration = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *given = kl__node_text(toleration, "key");
        const char *effect = kl__node_text(toleration, "effect");

        if ((given == NULL || *given == '\0' || strcmp(given, key) == 0) &&
            (effect == NULL || *effect == '\0' ||
             strcmp(effect, "NoExecute") == 0)) {
            return true;
        }
    }
    return false;
}

static bool tolerate(kl__edit *edit, kl__node *spec, const char *key)
{
    kl__node *list = kl__node_get(spec, "tolerations"), *toleration;

    if (tolerates(list, key)) {
        return true;
    }
    if (!kl__node_is(list, KL_ARRAY)) {
        list = kl__edit_array(edit);
        if (!kl__node_put(edit, spec, "tolerations", list)) {
            return false;
        }
    }
    toleration = kl__edit_object(edit);
    return toleration != NULL &&
           kl__sim_put_text(edit, toleration, "key", key) &&
           kl__sim_put_text(edit, toleration, "operator", "Exists") &&
           kl__sim_put_text(edit, toleration, "effect", "NoExecute") &&
           kl__node_put(edit, toleration, "tolerationSeconds",
                        kl__edit_integer(edit, TOLERATION_SECONDS)) &&
           kl__node_append(list, toleration);
}

/* --- Priority. ------------------------------------------------------------ */

typedef struct pod_priority {
    int64_t value;
    char preemption[32];
} pod_priority;

/* The priority of a class; false: there is none. */
static kl_code read_class(kl_sim *sim, const char *name, pod_priority *priority,
                          bool *found, kl_error *err)
{
    const kl__sim_resource *classes =
        kl__sim_find(sim, "scheduling.k8s.io", "priorityclasses");
    const kl__sim_node *node = kl__sim_tree_find(&classes->items, name);
    const char *preemption;
    kl__edit *edit;

    *found = true;
    if (node == NULL) {
        bool is_node = strcmp(name, "system-node-critical") == 0;

        *found = is_node || strcmp(name, "system-cluster-critical") == 0;
        priority->value = is_node ? 2000001000 : 2000000000;
        return KL_OK;
    }
    edit = kl__sim_state_edit(node->state, err);
    if (edit == NULL) {
        return KL_ENOMEM;
    }
    priority->value =
        kl__node_integer(kl__node_get(kl__edit_root(edit), "value"));
    preemption = kl__node_text(kl__edit_root(edit), "preemptionPolicy");
    if (preemption != NULL) {
        snprintf(priority->preemption, sizeof(priority->preemption), "%s",
                 preemption);
    }
    kl__edit_free(edit);
    return KL_OK;
}

/* 403 of a class that there is not. */
static kl_code refuse_class(kl__sim_write *write, const char *format,
                            const char *name, kl_error *err)
{
    char why[400];
    const char *pod = kl__node_text(kl__sim_write_metadata(write), "name");
    kl__sim_status status = {.code = 403,
                             .reason = "Forbidden",
                             .has_details = true,
                             .name = pod,
                             .kind = "pods"};

    snprintf(why, sizeof(why), format, name);
    snprintf(status.message, sizeof(status.message),
             "pods \"%.253s\" is forbidden: %s", pod != NULL ? pod : "", why);
    return kl__sim_answer_status(write->answer, &status, err);
}

static kl_code prioritize(kl__sim_write *write, kl__node *spec, kl_error *err)
{
    const char *name = kl__node_text(spec, "priorityClassName");
    pod_priority priority = {0, "PreemptLowerPriority"};
    bool found = true;

    if (name != NULL && *name != '\0') {
        kl_code code =
            read_class(write->answer->sim, name, &priority, &found, err);

        if (code != KL_OK) {
            return code;
        }
    }
    if (!found) {
        return refuse_class(
            write, "no PriorityClass with name %.253s was found", name, err);
    }
    return kl__node_put(write->edit, spec, "priority",
                        kl__edit_integer(write->edit, priority.value)) &&
                   (kl__node_get(spec, "preemptionPolicy") != NULL ||
                    kl__sim_put_text(write->edit, spec, "preemptionPolicy",
                                     priority.preemption))
               ? KL_OK
               : kl__sim_no_memory(err);
}

/* Whether a Pod's class of runtimes is there; else the answer says so. */
static kl_code find_runtime(kl__sim_write *write, const kl__node *spec,
                            kl_error *err)
{
    const char *name = kl__node_text(spec, "runtimeClassName");
    const kl__sim_resource *classes =
        kl__sim_find(write->answer->sim, "node.k8s.io", "runtimeclasses");

    if (name == NULL || *name == '\0' || write->answer->loading ||
        kl__sim_tree_find(&classes->items, name) != NULL) {
        return KL_OK;
    }
    return refuse_class(
        write, "pod rejected: RuntimeClass \"%.253s\" not found", name, err);
}

/* --- Class of service. ---------------------------------------------------- */

/* Whether a container's limits of cpu and memory are all set, and are what it
 * requests; *any: it asks for something at all. */
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

    for (size_t i = 0; i < 2; i++) {
        const kl__node *list = kl__node_get(spec, lists[i]), *container;
        kl__node_iter iter = {0};

        while ((container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
            guaranteed &= is_guaranteed(container, &any);
        }
    }
    return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

/* --- All of it. ----------------------------------------------------------- */

/* Who asks for less than no time to end gets the least that there is. */
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
        !tolerate(edit, spec, "node.kubernetes.io/not-ready") ||
        !tolerate(edit, spec, "node.kubernetes.io/unreachable") ||
        (kl__node_get(status, "qosClass") == NULL &&
         !kl__sim_put_text(edit, status, "qosClass", class_of(spec)))) {
        return kl__sim_no_memory(err);
    }
    return find_runtime(write, spec, err) != KL_OK ? KL_ENOMEM
           : kl__sim_write_goes_on(write) ? prioritize(write, spec, err)
                                          : KL_OK;
}

/* A write of a part: the rest of the object stays as it is. */
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
