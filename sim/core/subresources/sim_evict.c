/*
 * sim_evict.c - POST of eviction: deletes a pod if its disruption budget allows
 * it.
 */
#include "sim/core/subresources/sim_below.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/subresources/sim_budgets.h"
#include "sim/core/write/sim_deletion.h"
#include "sim/core/write/sim_pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Refuses deleteOptions that an Eviction cannot have. */
static kl_code check_eviction_options(kl__sim_answer *answer,
                                      const kl__node *options, kl_error *err)
{
    static const char member[] =
        "ignoreStoreReadErrorWithClusterBreakingPotential";
    const kl__node *dry = kl__node_get(options, "dryRun");
    const char *way = kl__node_string(kl__node_at(dry, 0), NULL);
    kl__sim_status status = {
        .group = "policy", .kind = "Eviction", .name = answer->ask.route.name};

    if (kl__node_bool(kl__node_get(options, member))) {
        kl__sim_cause_add(&status, "FieldValueInvalid",
                          "deleteOptions.ignoreStoreReadErrorWithCluster"
                          "BreakingPotential",
                          "Invalid value: true: can not be set for pod "
                          "eviction, try after removing the option");
        return kl__sim_refuse_invalid(answer, &status, "Eviction.policy", err);
    }
    if (kl__node_size(dry) > 0 && kl__sim_is_dry(answer) &&
        (kl__node_size(dry) > 1 || !kl__streq(way, "All"))) {
        return kl__sim_refuse(answer, 500, NULL, err,
                              "Non-matching dry-run options in request and "
                              "content: [All] and [%.100s]",
                              way != NULL ? way : "");
    }
    return KL_OK;
}

/* Reads the deleteOptions: grace period and dry run. */
static void read_options(const kl__sim_answer *answer, const kl__node *options,
                         kl__sim_deletion *deletion)
{
    const kl__node *grace = kl__node_get(options, "gracePeriodSeconds");
    const kl__node *wanted = kl__node_get(options, "preconditions");

    *deletion = (kl__sim_deletion){
        .has_grace = kl__node_is(grace, KL_INTEGER),
        .grace_seconds = kl__node_integer(grace),
        .uid = kl__node_text(wanted, "uid"),
        .version = kl__node_text(wanted, "resourceVersion"),
        .dry = kl__sim_is_dry(answer) ||
               kl__node_size(kl__node_get(options, "dryRun")) != 0};
}

/* Answers 409 if the options have a UID or resourceVersion that is not the
 * pod's. A dry run does not check this. */
static kl_code check_precondition(kl__sim_answer *answer,
                                  const kl__sim_state *pod,
                                  const kl__sim_deletion *deletion,
                                  kl_error *err)
{
    const char *uid = deletion->uid, *version = deletion->version;
    bool is_other = uid != NULL && *uid != '\0' && strcmp(uid, pod->uid) != 0;
    kl__sim_status status = {.code = 409,
                             .reason = "Conflict",
                             .has_details = true,
                             .name = pod->name,
                             .kind = "Pod"};
    char now[24];

    snprintf(now, sizeof(now), "%" PRId64, pod->version);
    if (deletion->dry || (!is_other && (version == NULL || *version == '\0' ||
                                        strcmp(version, now) == 0))) {
        return KL_OK;
    }
    snprintf(status.message, sizeof(status.message),
             "Operation cannot be fulfilled on Pod \"%s\": the %s in the "
             "precondition (%.100s) does not match the %s in record (%s). The "
             "object might have been %s",
             pod->name, is_other ? "UID" : "ResourceVersion",
             is_other ? uid : version, is_other ? "UID" : "ResourceVersion",
             is_other ? pod->uid : now,
             is_other ? "deleted and then recreated" : "modified");
    return kl__sim_answer_status(answer, &status, err);
}

/* Sets the condition DisruptionTarget, which says that the pod ends because of
 * an eviction. */
static kl_code mark_evicted(kl_sim *sim, kl__sim_resource *resource,
                            kl__sim_state *state, kl_error *err)
{
    static const char *const target[3] = {"True", "EvictionByEvictionAPI",
                                          "Eviction API: evicting"};
    kl__edit *edit = kl__sim_state_edit(state, err);
    kl__node *status =
        edit != NULL ? kl__node_ensure(edit, kl__edit_root(edit), "status")
                     : NULL;
    char now[KL__SIM_TIME_SIZE];
    kl_code code = KL_ENOMEM;

    kl__sim_clock_time(&sim->clock, now);
    if (status != NULL &&
        kl__sim_put_condition(edit, status, "DisruptionTarget", target, now)) {
        code = kl__sim_put_back(sim, resource, state, edit, err);
    }
    kl__edit_free(edit);
    return code == KL_OK ? KL_OK : kl__sim_no_memory(err);
}

static kl_code evict_pod(kl__sim_answer *answer, kl__sim_resource *resource,
                         kl__sim_state *state, const kl__sim_deletion *deletion,
                         kl_error *err)
{
    kl_sim *sim = answer->sim;
    kl__sim_fate fate = {0};
    kl_code code = kl__sim_budget_take(answer, state, deletion->dry, err);

    if (code == KL_OK && answer->status == 0) {
        code = check_precondition(answer, state, deletion, err);
    }
    if (code != KL_OK || answer->status != 0) {
        return code;
    }
    code = kl__sim_answer_created(answer, err);
    if (code != KL_OK || deletion->dry) {
        return code;
    }
    code = mark_evicted(sim, resource, state, err);
    if (code == KL_OK) {
        code = kl__sim_delete_object(
            sim, resource,
            kl__sim_tree_find(&resource->items, state->key)->state, deletion,
            &fate, err);
        kl__sim_state_unref(fate.shown);
    }
    if (code != KL_OK) {
        answer->status = 0;
    }
    return code;
}

kl_code kl__sim_evict(kl__sim_answer *answer, kl__sim_resource *resource,
                      kl_error *err)
{
    kl__edit *eviction;
    const kl__node *options;
    kl__sim_deletion deletion;
    kl__sim_state *state;
    kl_code code = kl__sim_below_body(answer, "Eviction", &eviction, err);

    if (code != KL_OK || answer->status != 0) {
        return code;
    }
    options = kl__node_get(kl__edit_root(eviction), "deleteOptions");
    code = kl__sim_below_check(answer, "Eviction", eviction, err);
    if (code == KL_OK && answer->status == 0) {
        code = check_eviction_options(answer, options, err);
    }
    if (code == KL_OK && answer->status == 0) {
        state = kl__sim_current(answer, resource, &code, err);
        if (state != NULL) {
            read_options(answer, options, &deletion);
            kl__sim_state_ref(state);
            code = evict_pod(answer, resource, state, &deletion, err);
            kl__sim_state_unref(state);
        }
    }
    kl__edit_free(eviction);
    return code;
}
