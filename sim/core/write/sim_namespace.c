/*
 * sim_namespace.c - a stage of a write: refuses new objects in a namespace that
 * does not exist or is being deleted. Also creates objects for the cluster
 * itself.
 */
#include "sim/core/write/sim_pipeline.h"

#include "base/mem.h"
#include "base/str.h"
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
                   ? kl__sim_namespace_add(sim, name_space, err)
                   : kl__sim_refuse_missing(
                         answer, kl__sim_find(sim, "", "namespaces")->kind,
                         name_space, err);
    }
}

kl_code kl__sim_make(kl_sim *sim, const kl__sim_made *made, kl_error *err)
{
    const kl__sim_request request = {.method = "POST",
                                     .target = made->target,
                                     .user_agent = made->agent,
                                     .body = made->body,
                                     .body_length = strlen(made->body)};
    kl__sim_resource *resource = kl__sim_find(sim, made->group, made->plural);
    kl__sim_answer answer = {.sim = sim, .direct = true};
    kl_code code = kl__sim_ask_init(&answer.ask, &request, err);

    if (code != KL_OK) {
        return code;
    }
    code = kl__sim_create(&answer, resource, resource->kind->versions, err);
    if (code == KL_OK && answer.status != 201 && answer.status != 409) {
        code = kl_error_set(err, KL_EINVAL, "%s: %d, not made", made->target,
                            answer.status);
    }
    kl__buf_deinit(&answer.out);
    kl__sim_warnings_deinit(&answer.warnings);
    kl__sim_ask_deinit(&answer.ask);
    return code;
}

/* Creates the namespace as a request would; `body` is its JSON. */
static kl_code create_namespace(kl_sim *sim, const char *name, const char *body,
                                kl_error *err)
{
    const kl__sim_made made = {.group = "",
                               .plural = "namespaces",
                               .target = "/api/v1/namespaces",
                               .agent = "kube-apiserver",
                               .body = body};
    kl_code code = kl__sim_make(sim, &made, err);

    return code == KL_EINVAL
               ? kl_error_set(err, KL_EINVAL,
                              "\"%.253s\" is no name of a namespace: use a-z, "
                              "0-9 and '-'",
                              name)
               : code;
}

kl_code kl__sim_namespace_add(kl_sim *sim, const char *name, kl_error *err)
{
    static const char label[] = "kubernetes.io/metadata.name";
    kl_writer *writer = kl_writer_new();
    const char *body;
    kl_code code;

    if (writer == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a namespace");
    }
    kl_writer_begin_object(writer);
    kl_writer_name(writer, "metadata", 8);
    kl_writer_begin_object(writer);
    kl_writer_name(writer, "name", 4);
    kl_writer_string(writer, name, strlen(name));
    kl_writer_name(writer, "labels", 6);
    kl_writer_begin_object(writer);
    kl_writer_name(writer, label, strlen(label));
    kl_writer_string(writer, name, strlen(name));
    kl_writer_end_object(writer);
    kl_writer_end_object(writer);
    kl_writer_end_object(writer);
    body = kl_writer_finish(writer, NULL, err);
    code = body != NULL ? create_namespace(sim, name, body, err) : KL_ENOMEM;
    kl_writer_free(writer);
    return code;
}
