/*
 * sim_requests.c - see sim_requests.h. A request is kept as text; it is parsed
 * only when a test reads the record.
 */
#include "sim/core/answer/sim_requests.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/writer.h"

#include <string.h>

static void forget_request(kl__sim_asked *asked)
{
    kl__free(asked->method);
    kl__free(asked->target);
    kl__free(asked->user_agent);
    kl__free(asked->content_type);
    kl_doc_unref(asked->body);
    memset(asked, 0, sizeof(*asked));
}

void kl__sim_requests_add(kl_sim *sim, const kl__sim_ask *ask, int status)
{
    kl__sim_asked asked = {.method = kl__strdup(ask->method),
                           .target = kl__strdup(ask->target),
                           .user_agent = kl__strdup(ask->user_agent),
                           .content_type = kl__strdup(ask->content_type),
                           .run = ask->run,
                           .at_ms = kl__sim_clock_unix(&sim->clock),
                           .status = status};

    if (asked.method == NULL || asked.target == NULL ||
        asked.user_agent == NULL || asked.content_type == NULL) {
        forget_request(&asked);
        return;
    }
    if (ask->doc != NULL && ask->body_length <= KL__SIM_MAX_KEPT) {
        asked.body = kl_doc_ref(ask->doc);
    }
    forget_request(&sim->asked[sim->asked_next]);
    sim->asked[sim->asked_next] = asked;
    sim->asked_next = (sim->asked_next + 1) % KL__SIM_MAX_REQUESTS;
    if (sim->asked_count < KL__SIM_MAX_REQUESTS) {
        sim->asked_count++;
    }
}

void kl__sim_requests_forget(kl_sim *sim)
{
    for (size_t i = 0; i < KL__SIM_MAX_REQUESTS; i++) {
        forget_request(&sim->asked[i]);
    }
    sim->asked_count = sim->asked_next = 0;
}

/* Writes a member, if there is a value. */
static void put_request_member(kl_writer *writer, const char *name,
                               const char *value)
{
    if (value != NULL && *value != '\0') {
        kl_writer_name(writer, name, strlen(name));
        kl_writer_string(writer, value, strlen(value));
    }
}

/* Writes the first value of each parameter: the server uses that one. */
static void put_query(kl_writer *writer, const kl__sim_ask *ask)
{
    kl_writer_name(writer, "query", strlen("query"));
    kl_writer_begin_object(writer);
    for (size_t i = 0; i < ask->parameter_count; i++) {
        const kl__sim_parameter *parameter = &ask->parameters[i];

        if (kl__sim_parameter_get(ask, parameter->name) == parameter->value) {
            kl_writer_name(writer, parameter->name, strlen(parameter->name));
            kl_writer_string(writer, parameter->value,
                             strlen(parameter->value));
        }
    }
    kl_writer_end_object(writer);
}

static void put_route(kl_writer *writer, const kl__sim_ask *ask)
{
    const kl__sim_route *route = &ask->route;

    put_request_member(writer, "verb", kl__sim_verb(ask));
    if (route->plural != NULL) {
        put_request_member(writer, "group", route->group);
        put_request_member(writer, "version", route->version);
        put_request_member(writer, "resource", route->plural);
        put_request_member(writer, "subresource", route->subresource);
        put_request_member(writer, "namespace", route->name_space);
        put_request_member(writer, "name", route->name);
    }
}

static kl_code put_request(kl_writer *writer, const kl__sim_asked *asked,
                           kl_error *err)
{
    const kl__sim_request request = {.method = asked->method,
                                     .target = asked->target};
    const char *query = strchr(asked->target, '?');
    size_t path =
        query != NULL ? (size_t)(query - asked->target) : strlen(asked->target);
    kl__sim_ask ask;

    if (kl__sim_ask_init(&ask, &request, err) != KL_OK) {
        return KL_ENOMEM;
    }
    kl_writer_begin_object(writer);
    put_request_member(writer, "method", asked->method);
    put_request_member(writer, "target", asked->target);
    kl_writer_name(writer, "status", strlen("status"));
    kl_writer_integer(writer, asked->status);
    kl_writer_name(writer, "path", strlen("path"));
    kl_writer_string(writer, asked->target, path);
    put_query(writer, &ask);
    put_route(writer, &ask);
    put_request_member(writer, "user_agent", asked->user_agent);
    if (asked->run != 0) {
        kl_writer_name(writer, "run", strlen("run"));
        kl_writer_integer(writer, asked->run);
    }
    kl_writer_name(writer, "at", strlen("at"));
    kl_writer_real(writer, (double)asked->at_ms / 1000);
    put_request_member(writer, "content_type", asked->content_type);
    if (asked->body != NULL) {
        kl_writer_name(writer, "body", strlen("body"));
        kl_writer_value(writer, kl_doc_root(asked->body));
    }
    kl_writer_end_object(writer);
    kl__sim_ask_deinit(&ask);
    return KL_OK;
}

static kl_code put_requests(kl_sim *sim, kl_writer *writer, kl_error *err)
{
    size_t first = sim->asked_next + KL__SIM_MAX_REQUESTS - sim->asked_count;
    kl_code code = KL_OK;

    kl_writer_begin_array(writer);
    for (size_t i = 0; i < sim->asked_count && code == KL_OK; i++) {
        code = put_request(
            writer, &sim->asked[(first + i) % KL__SIM_MAX_REQUESTS], err);
    }
    kl_writer_end_array(writer);
    return code;
}

char *kl_sim_requests(kl_sim *sim, kl_error *err)
{
    kl_writer *writer;
    const char *json = NULL;
    char *copy = NULL;
    kl_code code;

    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return NULL;
    }
    writer = kl_writer_new();
    if (writer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for the requests");
        return NULL;
    }
    kl__mutex_lock(&sim->mutex);
    code = put_requests(sim, writer, err);
    kl__mutex_unlock(&sim->mutex);
    if (code == KL_OK) {
        json = kl_writer_finish(writer, NULL, err);
    }
    if (json != NULL) {
        copy = kl__strdup(json);
        if (copy == NULL) {
            kl_error_set(err, KL_ENOMEM, "out of memory for the requests");
        }
    }
    kl_writer_free(writer);
    return copy;
}

void kl_sim_requests_clear(kl_sim *sim)
{
    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&sim->mutex);
    kl__sim_requests_forget(sim);
    kl__mutex_unlock(&sim->mutex);
}
