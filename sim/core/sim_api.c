/*
 * sim_api.c - the router: finds the user of a request, the resource that its
 * path names, and the verb that answers it. sim_course.c calls it with the
 * cluster's mutex held.
 */
#include "sim/core/answer/sim_answer.h"

#include "sim/core/access/sim_access.h"
#include "sim/core/answer/sim_deadline.h"
#include "sim/core/answer/sim_list.h"
#include "sim/core/answer/sim_options.h"
#include "sim/core/answer/sim_plan.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/discovery/sim_discovery.h"
#include "sim/core/life/sim_settle.h"
#include "sim/core/store/sim_compact.h"
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

/* Requests for one object. */
static kl_code dispatch_one(kl__sim_answer *answer, kl__sim_resource *resource,
                            const kl__sim_version *served, kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    const char *method = answer->ask.method;

    if (route->subresource != NULL &&
        (strcmp(route->subresource, "status") != 0 || !served->has_status)) {
        return kl__sim_below(answer, resource, served, err);
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

/* A deprecated version of a kind adds a Warning header to every answer. */
static kl_code warn_deprecated(kl__sim_answer *answer, const kl__sim_kind *kind,
                               const kl__sim_version *served, kl_error *err)
{
    static const char *const rows[][2] = {
        {"endpoints", "v1 Endpoints is deprecated in v1.33+; use "
                      "discovery.k8s.io/v1 EndpointSlice"},
        {"componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"},
    };

    if (served->warning != NULL) {
        return kl__sim_warn(answer, served->warning, err);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (*kind->group == '\0' && strcmp(kind->plural, rows[i][0]) == 0) {
            return kl__sim_warn(answer, rows[i][1], err);
        }
    }
    return KL_OK;
}

/* Chooses the form of the answer (JSON, YAML, Table ...) from the
 * Accept header. False: the answer is a refusal already (*code). */
static bool take_form(kl__sim_answer *answer, const kl__sim_kind *kind,
                      kl_code *code, kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    unsigned takes = KL__SIM_SHAPES;

    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        takes |= KL__SIM_NO_ROUTER;
    }
    if (strcmp(kl__sim_verb(&answer->ask), "watch") == 0) {
        takes |= KL__SIM_STREAM;
    }
    if (strcmp(answer->ask.method, "GET") == 0 &&
        (route->name == NULL || route->watches)) {
        takes |= KL__SIM_MAY_WATCH;
    }
    return kl__sim_accept(answer, takes, code, err);
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
    if (warn_deprecated(answer, resource->kind, served, err) != KL_OK) {
        return KL_ENOMEM;
    }
    if (!take_form(answer, resource->kind, &code, err)) {
        return code;
    }
    return route->name != NULL && !route->watches
               ? dispatch_one(answer, resource->home, served, err)
               : dispatch_all(answer, resource->home, served, err);
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
    kl__sim_below_route(&answer->ask);
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
