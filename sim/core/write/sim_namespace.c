/*
 * sim_namespace.c - a stage of a write: refuses new objects in a namespace that
 * does not exist or is being deleted.
 */
#include "sim/core/write/sim_pipeline.h"

#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>

int kl__sim_namespace_phase(kl_sim *sim, const char *name)
{
    kl__sim_resource *namespaces = kl__sim_find(sim, "", "namespaces");
    kl__sim_node *node = kl__sim_tree_find(&namespaces->items, name);
    const kl__sim_field *phase;

    if (node == NULL) {
        return KL__SIM_ABSENT;
    }
    phase = kl__sim_kind_field(namespaces->kind, "status.phase");
    return strcmp(node->state->fields[phase - namespaces->kind->fields],
                  "Terminating") == 0
               ? KL__SIM_TERMINATING
               : KL__SIM_ACTIVE;
}

/* The name of the new object, for messages. */
static const char *name_of(const kl__sim_write *write)
{
    const char *name = kl__node_text(kl__sim_write_metadata(write), "name");

    return name != NULL ? name : "";
}

static kl_code refuse_terminating(kl__sim_write *write, kl_error *err)
{
    const kl__sim_kind *kind = write->kind;
    const char *name_space = write->answer->ask.route.name_space;
    const char *name = name_of(write);
    kl__sim_status status = {.code = 403,
                             .reason = "Forbidden",
                             .has_details = true,
                             .name = name,
                             .group = kind->group,
                             .kind = kind->plural};

    kl__sim_cause_add(&status, "NamespaceTerminating", "metadata.namespace",
                      "namespace %s is being terminated", name_space);
    snprintf(status.message, sizeof(status.message),
             "%s \"%.253s\" is forbidden: unable to create new content in "
             "namespace %.253s because it is being terminated",
             kind->qualified, name, name_space);
    return kl__sim_answer_status(write->answer, &status, err);
}

kl_code kl__sim_enter_namespace(kl__sim_write *write, kl_error *err)
{
    kl__sim_answer *answer = write->answer;
    const char *name_space = answer->ask.route.name_space;
    kl_sim *sim = answer->sim;

    if (write->old != NULL || name_space == NULL) {
        return KL_OK;
    }
    switch (kl__sim_namespace_phase(sim, name_space)) {
    case KL__SIM_ACTIVE:
        return KL_OK;
    case KL__SIM_TERMINATING:
        return refuse_terminating(write, err);
    default:
        /* A load creates a missing namespace. */
        return answer->loading
                   ? sim->hooks->namespace_add(sim, name_space, err)
                   : kl__sim_refuse_missing(
                         answer, kl__sim_find(sim, "", "namespaces")->kind,
                         name_space, err);
    }
}
