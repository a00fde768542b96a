/*
 * sim_bind.c - a scheduler's word: which node a pod is to run on.
 */
#include "sim/subresources/sim_below.h"

#include "sim/answer/sim_status.h"
#include "sim/write/sim_pipeline.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const kl__node *object, const char *name)
{
    const char *text = kl__node_text(object, name);

    return text != NULL ? text : "";
}

/* Whether a Binding names a node, and the pod of the path. */
static kl_code check(kl__sim_answer *answer, const kl__node *binding,
                     kl_error *err)
{
    const kl__node *target = kl__node_get(binding, "target");
    const char *name = text_of(kl__node_get(binding, "metadata"), "name");
    const char *kind = text_of(target, "kind");

    if (*name != '\0' && strcmp(name, answer->ask.route.name) != 0) {
        return kl__sim_refuse(answer, 400, "BadRequest", err,
                              "name in URL does not match name in Binding "
                              "object");
    }
    if (*kind != '\0' && strcmp(kind, "Node") != 0) {
        return kl__sim_refuse(answer, 500, NULL, err,
                              "target.kind: Unsupported value: \"%.100s\": "
                              "supported values: \"Node\", \"<empty>\"",
                              kind);
    }
    return *text_of(target, "name") != '\0'
               ? KL_OK
               : kl__sim_refuse(answer, 500, NULL, err,
                                "target.name: Required value");
}

static kl_code refuse(kl__sim_answer *answer, const char *name, const char *why,
                      kl_error *err)
{
    kl__sim_status status = {.code = 409,
                             .reason = "Conflict",
                             .has_details = true,
                             .name = name,
                             .kind = "pods/binding"};

    snprintf(status.message, sizeof(status.message),
             "Operation cannot be fulfilled on pods/binding \"%.253s\": %s",
             name, why);
    return kl__sim_answer_status(answer, &status, err);
}

/* Sets the node, and that it is set. */
static bool assign(kl_sim *sim, kl__edit *edit, const char *node)
{
    static const char *const scheduled[3] = {"True", NULL, NULL};
    kl__node *root = kl__edit_root(edit);
    kl__node *spec = kl__node_ensure(edit, root, "spec");
    kl__node *status = kl__node_ensure(edit, root, "status");
    char now[KL__SIM_TIME_SIZE];

    kl__sim_clock_time(&sim->clock, now);
    return spec != NULL && status != NULL &&
           kl__sim_put_text(edit, spec, "nodeName", node) &&
           kl__sim_put_condition(edit, status, "PodScheduled", scheduled, now);
}

static kl_code bind(kl__sim_answer *answer, kl__sim_resource *resource,
                    kl__sim_state *state, const char *node, kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    const char *before;
    char why[600];
    kl_code code;

    if (edit == NULL) {
        return KL_ENOMEM;
    }
    before = text_of(kl__node_get(kl__edit_root(edit), "spec"), "nodeName");
    if (state->deleting) {
        snprintf(why, sizeof(why),
                 "pod %s is being deleted, cannot be assigned to a host",
                 state->name);
        code = refuse(answer, state->name, why, err);
    } else if (*before != '\0') {
        snprintf(why, sizeof(why), "pod %s is already assigned to node \"%s\"",
                 state->name, before);
        code = refuse(answer, state->name, why, err);
    } else {
        code = assign(answer->sim, edit, node)
                   ? kl__sim_answer_created(answer, err)
                   : kl__sim_no_memory(err);
        if (code == KL_OK && !kl__sim_is_dry(answer)) {
            code = kl__sim_put_back(answer->sim, resource, state, edit, err);
        }
    }
    kl__edit_free(edit);
    return code;
}

kl_code kl__sim_bind(kl__sim_answer *answer, kl__sim_resource *resource,
                     kl_error *err)
{
    kl__edit *binding;
    kl__sim_state *state;
    kl_code code = kl__sim_below_body(answer, "Binding", &binding, err);

    if (code == KL_OK && answer->status == 0) {
        code = check(answer, kl__edit_root(binding), err);
    }
    if (code == KL_OK && answer->status == 0) {
        state = kl__sim_current(answer, resource, &code, err);
        if (state != NULL) {
            kl__sim_state_ref(state);
            code = bind(
                answer, resource, state,
                text_of(kl__node_get(kl__edit_root(binding), "target"), "name"),
                err);
            kl__sim_state_unref(state);
        }
    }
    kl__edit_free(binding);
    return code;
}
