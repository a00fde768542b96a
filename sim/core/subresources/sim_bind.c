/*
 * sim_bind.c - POST of binding: a scheduler assigns a pod to a node.
 */
#include "sim/core/subresources/sim_below.h"

#include "sim/core/answer/sim_status.h"
#include "sim/core/write/sim_pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *binding_text(const kl__node *object, const char *name)
{
    const char *text = kl__node_text(object, name);

    return text != NULL ? text : "";
}

/* Refuses a Binding that names no node, or another pod than the path. */
static kl_code check_binding_body(kl__sim_answer *answer,
                                  const kl__edit *binding, kl_error *err)
{
    const kl__node *target = kl__node_get(kl__edit_root(binding), "target");
    const char *kind = binding_text(target, "kind");
    kl_code code = kl__sim_below_check(answer, "Binding", binding, err);

    if (code != KL_OK || answer->status != 0) {
        return code;
    }
    if (*kind != '\0' && strcmp(kind, "Node") != 0) {
        return kl__sim_refuse(answer, 500, NULL, err,
                              "target.kind: Unsupported value: \"%.100s\": "
                              "supported values: \"Node\", \"<empty>\"",
                              kind);
    }
    return *binding_text(target, "name") != '\0'
               ? KL_OK
               : kl__sim_refuse(answer, 500, NULL, err,
                                "target.name: Required value");
}

/* Answers 409 if the Binding has a UID or resourceVersion that is not the
 * pod's. */
static kl_code check_precondition(kl__sim_answer *answer,
                                  const kl__sim_state *pod,
                                  const kl__node *binding, kl_error *err)
{
    const kl__node *metadata = kl__node_get(binding, "metadata");
    const char *uid = binding_text(metadata, "uid");
    const char *version = binding_text(metadata, "resourceVersion");
    bool is_other = *uid != '\0' && strcmp(uid, pod->uid) != 0;
    char now[24], why[1024];

    snprintf(now, sizeof(now), "%" PRId64, pod->version);
    if (!is_other && (*version == '\0' || strcmp(version, now) == 0)) {
        return KL_OK;
    }
    snprintf(why, sizeof(why),
             "StorageError: invalid object, Code: 4, Key: /registry/pods/%s, "
             "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s "
             "in precondition: %.100s, %s in object meta: %s",
             pod->key, is_other ? "UID" : "ResourceVersion",
             is_other ? uid : version, is_other ? "UID" : "ResourceVersion",
             is_other ? pod->uid : now);
    return kl__sim_refuse_conflict(answer, answer->kind, pod->name, why, err);
}

/* Answers 409 if the pod cannot get a node: it has one, is being deleted, or
 * has scheduling gates. */
static kl_code check_pod(kl__sim_answer *answer, const kl__sim_state *pod,
                         const kl__node *root, kl_error *err)
{
    const kl__node *spec = kl__node_get(root, "spec");
    kl__sim_status status = {.code = 409,
                             .reason = "Conflict",
                             .has_details = true,
                             .name = pod->name,
                             .kind = "pods/binding"};
    const char *node = binding_text(spec, "nodeName");
    char why[600];

    if (pod->deleting) {
        snprintf(why, sizeof(why),
                 "pod %s is being deleted, cannot be assigned to a host",
                 pod->name);
    } else if (*node != '\0') {
        snprintf(why, sizeof(why), "pod %s is already assigned to node \"%s\"",
                 pod->name, node);
    } else if (kl__node_size(kl__node_get(spec, "schedulingGates")) > 0) {
        snprintf(why, sizeof(why), "pod %s has non-empty .spec.schedulingGates",
                 pod->name);
    } else {
        return KL_OK;
    }
    snprintf(status.message, sizeof(status.message),
             "Operation cannot be fulfilled on pods/binding \"%.253s\": %s",
             pod->name, why);
    return kl__sim_answer_status(answer, &status, err);
}

/* Copies the labels or annotations of the Binding to the pod. */
static bool copy_to_pod(kl__edit *edit, const kl__node *binding,
                        const char *name)
{
    const kl__node *from =
        kl__node_get(kl__node_get(binding, "metadata"), name);
    kl__node *metadata = kl__node_get(kl__edit_root(edit), "metadata"), *to;
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *key;

    if (kl__node_size(from) == 0) {
        return true;
    }
    to = kl__node_ensure(edit, metadata, name);
    while (to != NULL &&
           (value = kl__node_next(from, &iter, &key, NULL)) != NULL) {
        if (!kl__sim_put_copy(edit, to, key, value)) {
            return false;
        }
    }
    return to != NULL;
}

/* Sets the node, and the condition PodScheduled. */
static bool assign_node(kl_sim *sim, kl__edit *edit, const kl__node *binding)
{
    static const char *const scheduled[3] = {"True", NULL, NULL};
    const char *node = binding_text(kl__node_get(binding, "target"), "name");
    kl__node *root = kl__edit_root(edit);
    kl__node *spec = kl__node_ensure(edit, root, "spec");
    kl__node *status = kl__node_ensure(edit, root, "status");
    char now[KL__SIM_TIME_SIZE];

    kl__sim_clock_time(&sim->clock, now);
    kl__node_remove(status, "nominatedNodeName");
    return spec != NULL && status != NULL &&
           kl__sim_put_text(edit, spec, "nodeName", node) &&
           copy_to_pod(edit, binding, "annotations") &&
           copy_to_pod(edit, binding, "labels") &&
           kl__sim_put_condition(edit, status, "PodScheduled", scheduled, now);
}

static kl_code bind_pod(kl__sim_answer *answer, kl__sim_resource *resource,
                        kl__sim_state *pod, const kl__node *binding,
                        kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(pod, err);
    kl_code code = edit != NULL ? check_precondition(answer, pod, binding, err)
                                : KL_ENOMEM;

    if (code == KL_OK && answer->status == 0) {
        code = check_pod(answer, pod, kl__edit_root(edit), err);
    }
    if (code == KL_OK && answer->status == 0) {
        code = assign_node(answer->sim, edit, binding)
                   ? kl__sim_answer_created(answer, err)
                   : kl__sim_no_memory(err);
        if (code == KL_OK && !kl__sim_is_dry(answer)) {
            code = kl__sim_put_back(answer->sim, resource, pod, edit, err);
        }
    }
    kl__edit_free(edit);
    return code;
}

kl_code kl__sim_bind(kl__sim_answer *answer, kl__sim_resource *resource,
                     kl_error *err)
{
    kl__edit *binding;
    kl__sim_state *pod;
    kl_code code = kl__sim_below_body(answer, "Binding", &binding, err);

    if (code == KL_OK && answer->status == 0) {
        code = check_binding_body(answer, binding, err);
    }
    if (code == KL_OK && answer->status == 0) {
        pod = kl__sim_current(answer, resource, &code, err);
        if (pod != NULL) {
            kl__sim_state_ref(pod);
            code = bind_pod(answer, resource, pod, kl__edit_root(binding), err);
            kl__sim_state_unref(pod);
        }
    }
    kl__edit_free(binding);
    return code;
}
