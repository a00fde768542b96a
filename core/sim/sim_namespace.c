/*
 * sim_namespace.c - the life of namespaces: what is in one that is deleted goes
 * with it, and it goes last.
 */
#include "sim/sim_write.h"

#include "base/mem.h"
#include "base/str.h"

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

/* Creates the namespace as a request would; `body` is its JSON. */
static kl_code add(kl_sim *sim, const char *name, const char *body,
                   kl_error *err)
{
    const kl__sim_request request = {.method = "POST",
                                     .target = "/api/v1/namespaces",
                                     .body = body,
                                     .body_length = strlen(body)};
    kl__sim_answer answer = {.sim = sim, .direct = true};
    kl_code code = kl__sim_ask_init(&answer.ask, &request, err);

    if (code != KL_OK) {
        return code;
    }
    code = kl__sim_create(&answer, kl__sim_find(sim, "", "namespaces"), err);
    if (code == KL_OK && answer.status != 201) {
        code = kl_error_set(err, KL_EINVAL,
                            "\"%.253s\" is no name of a namespace: use a-z, "
                            "0-9 and '-'",
                            name);
    }
    kl__buf_deinit(&answer.out);
    kl__sim_ask_deinit(&answer.ask);
    return code;
}

kl_code kl__sim_namespace_add(kl_sim *sim, const char *name, kl_error *err)
{
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
    kl_writer_end_object(writer);
    kl_writer_end_object(writer);
    body = kl_writer_finish(writer, NULL, err);
    code = body != NULL ? add(sim, name, body, err) : KL_ENOMEM;
    kl_writer_free(writer);
    return code;
}

/* The first object of a resource in a namespace, or NULL. */
static kl__sim_state *first_in(const kl__sim_resource *resource,
                               const char *prefix)
{
    kl__sim_node *node = kl__sim_tree_seek(&resource->items, prefix);

    return node != NULL &&
                   strncmp(node->state->key, prefix, strlen(prefix)) == 0
               ? node->state
               : NULL;
}

/* Whether a finalizer keeps the object, which then is marked as deleted. */
static kl_code delete_member(kl_sim *sim, kl__sim_resource *resource,
                             const kl__sim_state *state, bool *is_kept,
                             kl_error *err)
{
    kl_doc *doc = kl_doc_parse(state->text, state->length, err);
    const kl_value *metadata;
    bool is_deleting;

    if (doc == NULL) {
        return KL_ENOMEM;
    }
    metadata = kl_value_get(kl_doc_root(doc), "metadata");
    *is_kept = kl_value_size(kl_value_get(metadata, "finalizers")) != 0;
    is_deleting = kl__sim_text(metadata, "deletionTimestamp") != NULL;
    kl_doc_unref(doc);
    if (*is_kept) {
        return is_deleting
                   ? KL_OK
                   : kl__sim_mark_deleted(sim, resource, state->key, err);
    }
    /* Not kl__sim_remove: that would come back here for each object. */
    if (kl__sim_resource_remove(resource, state->key, sim->version + 1, err) !=
        KL_OK) {
        return KL_ENOMEM;
    }
    sim->version++;
    kl__cond_broadcast(&sim->wake);
    return KL_OK;
}

/* Deletes what a resource has in a namespace; *left counts what is kept. */
static kl_code empty_resource(kl_sim *sim, kl__sim_resource *resource,
                              const char *prefix, size_t *left, kl_error *err)
{
    kl__sim_state *state = first_in(resource, prefix);
    kl_code code = KL_OK;

    while (state != NULL && code == KL_OK) {
        char *next = kl__strprintf("%s\001", state->key);
        kl__sim_node *node;
        bool is_kept = false;

        if (next == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a name");
        }
        kl__sim_state_ref(state);
        code = delete_member(sim, resource, state, &is_kept, err);
        kl__sim_state_unref(state);
        *left += is_kept;
        node = kl__sim_tree_seek(&resource->items, next);
        kl__free(next);
        state = node != NULL &&
                        strncmp(node->state->key, prefix, strlen(prefix)) == 0
                    ? node->state
                    : NULL;
    }
    return code;
}

kl_code kl__sim_namespace_empty(kl_sim *sim, const char *name, kl_error *err)
{
    kl__sim_resource *namespaces = kl__sim_find(sim, "", "namespaces");
    char *prefix = kl__strprintf("%s/", name);
    size_t left = 0;
    kl_code code = KL_OK;

    if (prefix == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a name");
    }
    for (kl__list *node = sim->resources.next;
         node != &sim->resources && code == KL_OK; node = node->next) {
        kl__sim_resource *resource =
            KL__CONTAINER(node, kl__sim_resource, node);

        if (kl__sim_kind_is(resource->kind, KL__SIM_NAMESPACED)) {
            code = empty_resource(sim, resource, prefix, &left, err);
        }
    }
    kl__free(prefix);
    if (code == KL_OK && left == 0) {
        code = kl__sim_resource_remove(namespaces, name, sim->version + 1, err);
        sim->version += code == KL_OK;
        kl__cond_broadcast(&sim->wake);
    }
    return code;
}
