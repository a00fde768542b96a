/*
 * sim_make.c - see sim_write.h: objects that the cluster creates itself.
 */
#include "sim/core/write/sim_write.h"

#include <string.h>

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
