/*
 * sim_api.c - from a request to the verb that answers it: who asks, what is
 * meant, whether it is served. The cluster's mutex is held.
 */
#include "sim/sim_answer.h"

#include "sim/sim_discovery.h"
#include "sim/sim_faults.h"
#include "sim/sim_list.h"
#include "sim/sim_status.h"
#include "sim/sim_write.h"

#include <string.h>

/* Health and version are for everyone, as with a real one's defaults. */
static bool is_public(const kl__sim_ask *ask)
{
    static const char *const paths[] = {"version", "healthz", "livez",
                                        "readyz"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (ask->segment_count == 1 &&
            strcmp(ask->segments[0], paths[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_let_in(const kl__sim_answer *answer)
{
    const char *token = answer->sim->token;
    const char *given = answer->ask.authorization;

    return token == NULL || answer->direct || is_public(&answer->ask) ||
           (strncmp(given, "Bearer ", 7) == 0 && strcmp(given + 7, token) == 0);
}

/* Whether JSON is among what the client takes. */
static bool takes_json(const char *accept)
{
    return *accept == '\0' || strstr(accept, "application/json") != NULL ||
           strstr(accept, "*/*") != NULL ||
           strstr(accept, "application/*") != NULL;
}

static kl_code refuse_accept(kl__sim_answer *answer, kl_error *err)
{
    kl__sim_status status = {
        .code = 406,
        .reason = "NotAcceptable",
        .has_details = true,
        .message = "406: Not Acceptable\n\nAvailable representations: "
                   "application/json, application/json;stream=watch"};

    return kl__sim_answer_status(answer, &status, err);
}

static kl_code get(kl__sim_answer *answer, kl__sim_resource *resource,
                   kl_error *err)
{
    kl__sim_view view = {resource->kind, answer->ask.route.version, false, 0};
    kl_code code = KL_OK;
    kl__sim_state *state = kl__sim_current(answer, resource, &code, err);

    return state != NULL ? kl__sim_answer_object(answer, 200, &view, state, err)
                         : code;
}

/* Requests for one object. */
static kl_code dispatch_one(kl__sim_answer *answer, kl__sim_resource *resource,
                            const kl__sim_version *served, kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    const char *method = answer->ask.method;

    if (route->subresource != NULL &&
        (strcmp(route->subresource, "status") != 0 || !served->has_status)) {
        return kl__sim_refuse_path(answer, err);
    }
    if (strcmp(method, "GET") == 0) {
        return get(answer, resource, err);
    }
    if (strcmp(method, "PUT") == 0) {
        return kl__sim_update(answer, resource, served, err);
    }
    if (strcmp(method, "PATCH") == 0) {
        return kl__sim_patch(answer, resource, served, err);
    }
    if (strcmp(method, "DELETE") == 0 && route->subresource == NULL) {
        return kl__sim_delete(answer, resource, err);
    }
    return kl__sim_refuse_method(answer, err);
}

/* Requests for a collection. */
static kl_code dispatch_all(kl__sim_answer *answer, kl__sim_resource *resource,
                            kl_error *err)
{
    const kl__sim_kind *kind = resource->kind;
    const char *verb = kl__sim_verb(&answer->ask);
    bool is_everywhere = kl__sim_kind_is(kind, KL__SIM_NAMESPACED) &&
                         answer->ask.route.name_space == NULL;

    if (strcmp(verb, "list") == 0) {
        return kl__sim_list(answer, resource, err);
    }
    if (strcmp(verb, "watch") == 0) {
        return kl__sim_watch_open(answer, resource, err);
    }
    if (strcmp(verb, "create") == 0 && !is_everywhere) {
        return kl__sim_create(answer, resource, err);
    }
    if (strcmp(verb, "deletecollection") == 0 && !is_everywhere &&
        !kl__sim_kind_is(kind, KL__SIM_NO_COLLECTION)) {
        return kl__sim_delete_all(answer, resource, err);
    }
    return kl__sim_refuse_method(answer, err);
}

static kl_code dispatch_resource(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    kl__sim_resource *resource =
        kl__sim_find(answer->sim, route->group, route->plural);
    const kl__sim_version *served = NULL;
    bool is_namespaced;

    if (resource != NULL) {
        served = kl__sim_kind_version(resource->kind, route->version,
                                      strlen(route->version));
    }
    if (served == NULL) {
        return kl__sim_refuse_unserved(answer, err);
    }
    is_namespaced = kl__sim_kind_is(resource->kind, KL__SIM_NAMESPACED);
    if ((route->name_space != NULL && !is_namespaced) ||
        (route->name != NULL && route->name_space == NULL && is_namespaced)) {
        return kl__sim_refuse_path(answer, err);
    }
    answer->kind = kl__sim_kind_ref(resource->kind);
    return route->name != NULL && !route->watches
               ? dispatch_one(answer, resource, served, err)
               : dispatch_all(answer, resource, err);
}

kl_code kl__sim_dispatch(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    kl_code code = KL_OK;

    if (!answer->direct && kl__sim_fail_next(answer, &code, err)) {
        return code;
    }
    if (!is_let_in(answer)) {
        return kl__sim_refuse(answer, 401, "Unauthorized", err, "Unauthorized");
    }
    if (answer->too_large || ask->body_length > KL__SIM_MAX_BODY) {
        return kl__sim_refuse(answer, 413, "RequestEntityTooLarge", err,
                              "Request entity too large: limit is %d",
                              (int)KL__SIM_MAX_BODY);
    }
    if (!ask->sound || ask->route.plural == NULL) {
        return kl__sim_discover(answer, err);
    }
    return takes_json(ask->accept) ? dispatch_resource(answer, err)
                                   : refuse_accept(answer, err);
}
