/*
 * sim_evict.c - eviction: the deletion of a pod that its disruption budget
 * allows.
 */
#include "sim/subresources/sim_below.h"

#include "base/mem.h"
#include "sim/answer/sim_status.h"
#include "sim/subresources/sim_budgets.h"
#include "sim/write/sim_deletion.h"
#include "sim/write/sim_pipeline.h"

#include <string.h>

static const char *text_of(const kl__node *object, const char *name)
{
    const char *text = kl__node_text(object, name);

    return text != NULL ? text : "";
}

/* Reads the deleteOptions of an Eviction: how long, and whether at all. */
static void read_options(const kl__sim_answer *answer, const kl__node *eviction,
                         kl__sim_deletion *deletion)
{
    const kl__node *options = kl__node_get(eviction, "deleteOptions");
    const kl__node *grace = kl__node_get(options, "gracePeriodSeconds");

    *deletion = (kl__sim_deletion){
        .has_grace = kl__node_is(grace, KL_INTEGER),
        .grace_seconds = kl__node_integer(grace),
        .dry = kl__sim_is_dry(answer) ||
               kl__node_size(kl__node_get(options, "dryRun")) != 0};
}

/* Marks the pod as one that an eviction has ended. */
static kl_code mark(kl_sim *sim, kl__sim_resource *resource,
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

static kl_code evict(kl__sim_answer *answer, kl__sim_resource *resource,
                     kl__sim_state *state, const kl__sim_deletion *deletion,
                     kl_error *err)
{
    kl_sim *sim = answer->sim;
    kl__sim_fate fate = {0};
    kl_code code = kl__sim_budget_take(answer, state, deletion->dry, err);

    if (code != KL_OK || answer->status != 0) {
        return code;
    }
    code = kl__sim_answer_created(answer, err);
    if (code != KL_OK || deletion->dry) {
        return code;
    }
    code = mark(sim, resource, state, err);
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
    kl__sim_deletion deletion;
    kl__sim_state *state;
    const char *name;
    kl_code code = kl__sim_below_body(answer, "Eviction", &eviction, err);

    if (code != KL_OK || answer->status != 0) {
        return code;
    }
    name = text_of(kl__node_get(kl__edit_root(eviction), "metadata"), "name");
    if (*name != '\0' && strcmp(name, answer->ask.route.name) != 0) {
        code = kl__sim_refuse(answer, 400, "BadRequest", err,
                              "name in URL does not match name in Eviction "
                              "object");
    } else {
        state = kl__sim_current(answer, resource, &code, err);
        if (state != NULL) {
            read_options(answer, kl__edit_root(eviction), &deletion);
            kl__sim_state_ref(state);
            code = evict(answer, resource, state, &deletion, err);
            kl__sim_state_unref(state);
        }
    }
    kl__edit_free(eviction);
    return code;
}
