/*
 * sim_api.c - the router: finds the user of a request, the resource that its
 * path names, and the verb that answers it. sim_course.c calls it with the
 * cluster's mutex held.
 */
#include "sim/core/sim_course.h"

#include "sim/core/access/sim_access.h"
#include "sim/core/answer/sim_list.h"
#include "sim/core/answer/sim_options.h"
#include "sim/core/answer/sim_plan.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/discovery/sim_discovery.h"
#include "sim/core/life/sim_settle.h"
#include "sim/core/store/sim_clock.h"
#include "sim/core/subresources/sim_below.h"
#include "sim/core/write/sim_expire.h"
#include "sim/core/write/sim_write.h"

#include <string.h>

static kl_code get_object(kl__sim_answer *answer, kl__sim_resource *resource,
                          kl_error *err)
{
    kl__sim_view view = {answer->kind, answer->ask.route.version, false, 0};
    kl_code code = KL_OK;
    kl__sim_state *state;

    if (!kl__sim_options_await(answer, &code, err)) {
        return code;
    }
    state = kl__sim_current(answer, resource, &code, err);

    return state != NULL ? kl__sim_answer_object(answer, 200, &view, state, err)
                         : code;
}

/* --- Subresources. -------------------------------------------------------- */

/* Answers requests that a kubelet would answer (log, exec ...). There is none,
 * so they are refused; only the log of a pod without a node is empty. */
static kl_code ask_kubelet(kl__sim_answer *answer, kl__sim_resource *resource,
                           kl_error *err)
{
    kl_code code = KL_OK;
    kl__sim_state *state = kl__sim_current(answer, resource, &code, err);
    bool is_pod = strcmp(resource->kind->plural, "pods") == 0;
    bool is_log = strcmp(answer->ask.route.subresource, "log") == 0;
    const kl__sim_field *node;

    if (state == NULL) {
        return code;
    }
    if (strcmp(answer->ask.route.subresource, "proxy") == 0 && is_pod) {
        return kl__sim_refuse(answer, 400, "BadRequest", err,
                              "address not allowed");
    }
    node = is_pod ? kl__sim_kind_field(resource->kind, "spec.nodeName") : NULL;
    if (node != NULL && *state->fields[node - resource->kind->fields] == '\0') {
        if (is_log) {
            answer->status = 204;
            answer->content_type = "";
            return KL_OK;
        }
        return kl__sim_refuse(answer, 400, "BadRequest", err,
                              "pod %s does not have a host assigned",
                              state->name);
    }
    return kl__sim_refuse(answer, 500, NULL, err,
                          "no preferred addresses found; known addresses: []");
}

/* Answers a subresource that reads or writes the object itself. */
static kl_code ask_object(kl__sim_answer *answer, kl__sim_resource *resource,
                          const kl__sim_version *served, kl_error *err)
{
    const char *method = answer->ask.method;
    kl__sim_view view = {resource->kind, answer->ask.route.version, false, 0};
    kl__sim_state *state;
    kl_code code = KL_OK;

    if (strcmp(method, "PUT") == 0) {
        return kl__sim_update(answer, resource, served, err);
    }
    if (strcmp(method, "PATCH") == 0) {
        return kl__sim_patch(answer, resource, served, err);
    }
    state = kl__sim_current(answer, resource, &code, err);
    return state != NULL ? kl__sim_answer_object(answer, 200, &view, state, err)
                         : code;
}

/* The row of the table of subresources for a built-in kind, or NULL. */
static const kl__sim_subresource *find_subresource(const kl__sim_kind *kind,
                                                   const char *name)
{
    const kl__sim_subresource *row = kl__sim_subresources;

    while (row->name != NULL && (kl__sim_kind_is(kind, KL__SIM_CUSTOM) ||
                                 strcmp(row->group, kind->group) != 0 ||
                                 strcmp(row->plural, kind->plural) != 0 ||
                                 strcmp(row->name, name) != 0)) {
        row++;
    }
    return row->name != NULL ? row : NULL;
}

/* True if the subresource has the verb of the method. */
static bool takes_method_of(const kl__sim_subresource *row, const char *method)
{
    static const char *const verbs[][2] = {{"GET", "get"},
                                           {"POST", "create"},
                                           {"PUT", "update"},
                                           {"PATCH", "patch"},
                                           {"DELETE", "delete"}};

    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(method, verbs[i][0]) == 0) {
            return strstr(row->verbs, verbs[i][1]) != NULL;
        }
    }
    return false;
}

/* Answers a request for a subresource other than status. KL_ENOMEM. */
static kl_code dispatch_below(kl__sim_answer *answer,
                              kl__sim_resource *resource,
                              const kl__sim_version *served, kl_error *err)
{
    const char *name = answer->ask.route.subresource;
    const kl__sim_subresource *row = find_subresource(resource->kind, name);

    if (served->scale != NULL && strcmp(name, "scale") == 0) {
        return kl__sim_scale(answer, resource, served, err);
    }
    if (row == NULL) {
        return kl__sim_kind_is(resource->kind, KL__SIM_CUSTOM)
                   ? kl__sim_refuse_missing(answer, resource->kind,
                                            answer->ask.route.name, err)
                   : kl__sim_refuse_path(answer, err);
    }
    if (!takes_method_of(row, answer->ask.method)) {
        return kl__sim_refuse_method(answer, err);
    }
    if (strcmp(name, "scale") == 0) {
        return kl__sim_scale(answer, resource, served, err);
    }
    if (strcmp(name, "binding") == 0) {
        return kl__sim_bind(answer, resource, err);
    }
    if (strcmp(name, "eviction") == 0) {
        return kl__sim_evict(answer, resource, err);
    }
    if (strcmp(name, "token") == 0) {
        return kl__sim_refuse_method(answer, err);
    }
    if (*row->of_group == '\0' &&
        strcmp(row->of_kind, resource->kind->kind) == 0 &&
        strcmp(name, "log") != 0) {
        return ask_object(answer, resource, served, err);
    }
    return ask_kubelet(answer, resource, err);
}

/* --- Objects and collections. --------------------------------------------- */

/* Requests for one object. */
static kl_code dispatch_one(kl__sim_answer *answer, kl__sim_resource *resource,
                            const kl__sim_version *served, kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    const char *method = answer->ask.method;

    if (route->subresource != NULL &&
        (strcmp(route->subresource, "status") != 0 || !served->has_status)) {
        return dispatch_below(answer, resource, served, err);
    }
    if (strcmp(method, "GET") == 0) {
        return get_object(answer, resource, err);
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
                            const kl__sim_version *served, kl_error *err)
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
        return kl__sim_create(answer, resource, served, err);
    }
    if (strcmp(verb, "deletecollection") == 0 && !is_everywhere &&
        !kl__sim_kind_is(kind, KL__SIM_NO_COLLECTION)) {
        return kl__sim_delete_all(answer, resource, err);
    }
    return kl__sim_refuse_method(answer, err);
}

/* Chooses the form of the answer (object, Table ...) from the Accept header.
 * False: the answer is a refusal already (*code). */
static bool take_form(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    bool is_watch = strcmp(kl__sim_verb(&answer->ask), "watch") == 0;

    return kl__sim_accept(
        answer, KL__SIM_SHAPES | (is_watch ? KL__SIM_STREAM : 0), code, err);
}

static kl_code dispatch_resource(kl__sim_answer *answer, kl_error *err)
{
    bool is_review = false;
    kl_code code = kl__sim_review(answer, &is_review, err);
    const kl__sim_route *route = &answer->ask.route;
    kl__sim_resource *resource =
        kl__sim_find(answer->sim, route->group, route->plural);
    const kl__sim_version *served = NULL;
    bool is_namespaced;

    if (code != KL_OK || is_review) {
        return code;
    }
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
        return kl__sim_kind_is(resource->kind, KL__SIM_CUSTOM)
                   ? kl__sim_refuse_page(answer, err)
                   : kl__sim_refuse_path(answer, err);
    }
    answer->kind = kl__sim_kind_ref(resource->kind);
    if (kl__sim_kind_is(resource->kind, KL__SIM_VIRTUAL)) {
        /* Objects of this kind are never stored (reviews, Bindings). All that
         * such a kind allows was answered before. */
        return kl__sim_refuse_method(answer, err);
    }
    if (served->warning != NULL && /* of a deprecated version */
        kl__sim_warn(answer, served->warning, err) != KL_OK) {
        return KL_ENOMEM;
    }
    if (!take_form(answer, &code, err)) {
        return code;
    }
    return route->name != NULL && !route->watches
               ? dispatch_one(answer, resource->home, served, err)
               : dispatch_all(answer, resource->home, served, err);
}

/* If the request is POST .../bindings, changes its route to pods/NAME/binding,
 * the same operation; the NAME is in the body. */
static void route_binding(kl__sim_ask *ask)
{
    kl__sim_route *route = &ask->route;
    const char *name;

    if (route->plural == NULL || route->name != NULL || ask->doc == NULL ||
        *route->group != '\0' || strcmp(route->plural, "bindings") != 0 ||
        strcmp(ask->method, "POST") != 0) {
        return;
    }
    name =
        kl__sim_text(kl_value_get(kl_doc_root(ask->doc), "metadata"), "name");
    if (name != NULL) {
        route->plural = "pods";
        route->name = name;
        route->subresource = "binding";
    }
}

kl_code kl__sim_dispatch(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    kl_code code = KL_OK;

    kl__sim_compact_in_time(answer->sim);
    if (kl__sim_expire(answer->sim)) {
        kl__sim_settle(answer->sim, NULL);
    }
    if (kl__sim_plan_answer(answer, &code, err)) {
        return code;
    }
    if (!kl__sim_deadline_check(answer, &code, err) ||
        !kl__sim_let_in(answer, &code, err)) {
        return code;
    }
    if (answer->too_large || ask->body_length > KL__SIM_MAX_BODY) {
        return kl__sim_refuse(answer, 413, "RequestEntityTooLarge", err,
                              "Request entity too large: limit is %d",
                              (int)KL__SIM_MAX_BODY);
    }
    if (!ask->sound || ask->route.plural == NULL) {
        return kl__sim_discover(answer, err);
    }
    answer->sim->loading = answer->loading;
    route_binding(&answer->ask);
    kl__sim_crd_settle(answer->sim, NULL); /* KL_ENOMEM: it runs again later */
    code = dispatch_resource(answer, err);
    if (code == KL_OK) {
        kl__sim_crd_settle(answer->sim, NULL);
    }
    if (code == KL_OK && answer->status != 0 && !answer->loading) {
        /* The answer is complete. If memory runs out now, the rest of this work
         * is done after the next request. */
        kl__sim_settle(answer->sim, NULL);
    }
    return code;
}
