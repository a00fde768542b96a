/*
 * sim_budgets.c - see sim_budgets.h. The status of a budget says how many more
 * pods may be evicted. It is recounted when a pod changes; an eviction lowers
 * the number by 1 at once.
 */
#include "sim/core/subresources/sim_budgets.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/object.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/subresources/sim_below.h"
#include "sim/core/write/sim_pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSING_SECONDS = 10, PERCENT = 100 };

static kl__sim_resource *budgets_of(kl_sim *sim)
{
    return kl__sim_find(sim, "policy", "poddisruptionbudgets");
}

/* The selector of a budget; the caller frees it. NULL: the budget selects
 * nothing, or out of memory (*code). */
static kl_selector *selector_of(const kl__node *budget, kl_code *code,
                                kl_error *err)
{
    const kl__node *selector =
        kl__node_get(kl__node_get(budget, "spec"), "selector");
    kl__buf text = {0};
    kl_selector *parsed = NULL;

    *code = KL_OK;
    if (selector == NULL) {
        return NULL;
    }
    kl__sim_selector_text(selector, &text);
    if (text.failed) {
        *code = kl__sim_no_memory(err);
    } else {
        parsed = kl_selector_parse(text.length != 0 ? text.bytes : "", NULL);
    }
    kl__buf_deinit(&text);
    return parsed;
}

static bool is_in(const kl__sim_state *state, const char *name_space)
{
    size_t length = kl__sim_state_namespace(state);

    return strlen(name_space) == length &&
           memcmp(state->key, name_space, length) == 0;
}

static bool selects_pod(const kl_selector *selector, const kl__sim_state *pod)
{
    return selector != NULL &&
           kl_selector_matches(
               selector, pod->labels != NULL ? kl_doc_root(pod->labels) : NULL);
}

/* --- Counting. ------------------------------------------------------------ */

typedef struct pod_count {
    int64_t all;
    int64_t healthy;
} pod_count;

/* Counts the selected pods of a namespace; `disrupted` are the pods that are
 * being evicted. It runs at every change of a pod, so it parses no object.
 * False: out of memory. */
static bool count_pods(kl_sim *sim, const kl_selector *selector,
                       const char *name_space, const kl__node *disrupted,
                       pod_count *count)
{
    char *prefix = kl__strprintf("%s/", name_space);
    const kl__sim_node *node;

    if (prefix == NULL) {
        return false;
    }
    node = kl__sim_tree_seek(&kl__sim_find(sim, "", "pods")->items, prefix);
    kl__free(prefix);
    for (; node != NULL && is_in(node->state, name_space);
         node = node->next[0]) {
        const kl__sim_state *pod = node->state;

        if (selects_pod(selector, pod)) {
            count->all++;
            count->healthy += !pod->deleting && pod->ready &&
                              kl__node_get(disrupted, pod->name) == NULL;
        }
    }
    return true;
}

/* Reads a number, or a percentage such as "50%" of `all`, rounded up. */
static int64_t share_of(const kl__node *node, int64_t all)
{
    const char *text = kl__node_string(node, NULL);

    return text != NULL
               ? (strtoll(text, NULL, 10) * all + PERCENT - 1) / PERCENT
               : kl__node_integer(node);
}

static int64_t desired_of(const kl__node *budget, int64_t all)
{
    const kl__node *spec = kl__node_get(budget, "spec");
    const kl__node *most = kl__node_get(spec, "maxUnavailable");
    int64_t desired;

    if (most == NULL) {
        return share_of(kl__node_get(spec, "minAvailable"), all);
    }
    desired = all - share_of(most, all);
    return desired > 0 ? desired : 0;
}

static bool put_count(kl__edit *edit, kl__node *object, const char *name,
                      int64_t number)
{
    return kl__node_put(edit, object, name, kl__edit_integer(edit, number));
}

static int64_t number_in(const kl__node *object, const char *name)
{
    return kl__node_integer(kl__node_get(object, name));
}

/* The condition DisruptionAllowed, or NULL. */
static kl__node *condition_of(const kl__node *status)
{
    const kl__node *list = kl__node_get(status, "conditions");
    kl__node_iter iter = {0};
    kl__node *condition;

    while ((condition = kl__node_next(list, &iter, NULL, NULL)) != NULL &&
           !kl__streq(kl__node_text(condition, "type"), "DisruptionAllowed")) {
    }
    return condition;
}

static bool put_allowed(kl_sim *sim, kl__edit *edit, kl__node *status,
                        int64_t allowed)
{
    const char *const texts[3] = {
        allowed > 0 ? "True" : "False",
        allowed > 0 ? "SufficientPods" : "InsufficientPods", NULL};
    char now[KL__SIM_TIME_SIZE];

    kl__sim_clock_time(&sim->clock, now);
    return put_count(edit, status, "disruptionsAllowed", allowed) &&
           kl__sim_put_condition(edit, status, "DisruptionAllowed", texts,
                                 now) &&
           put_count(edit, condition_of(status), "observedGeneration",
                     number_in(status, "observedGeneration"));
}

/* Removes pods that are gone or being deleted from status.disruptedPods. False:
 * out of memory. */
static bool forget_gone(kl_sim *sim, kl__node *status, const char *name_space)
{
    const kl__sim_resource *pods = kl__sim_find(sim, "", "pods");
    kl__node *disrupted = kl__node_get(status, "disruptedPods");
    kl__node_iter iter = {0};
    const char *name;

    while (kl__node_next(disrupted, &iter, &name, NULL) != NULL) {
        char *key = kl__sim_key(name_space, name);
        const kl__sim_node *node;

        if (key == NULL) {
            return false;
        }
        node = kl__sim_tree_find(&pods->items, key);
        kl__free(key);
        if (node == NULL || node->state->deleting) {
            kl__node_drop(&iter);
        }
    }
    if (disrupted != NULL && kl__node_size(disrupted) == 0) {
        kl__node_remove(status, "disruptedPods");
    }
    return true;
}

static bool fill_budget_status(kl_sim *sim, kl__edit *edit,
                               const pod_count *count)
{
    kl__node *root = kl__edit_root(edit);
    kl__node *status = kl__node_ensure(edit, root, "status");
    const kl__node *metadata = kl__node_get(root, "metadata");
    int64_t desired = desired_of(root, count->all);
    int64_t allowed = count->healthy - desired;

    return status != NULL &&
           put_count(edit, status, "observedGeneration",
                     number_in(metadata, "generation")) &&
           put_allowed(sim, edit, status,
                       allowed > 0 && count->all > 0 ? allowed : 0) &&
           put_count(edit, status, "currentHealthy", count->healthy) &&
           put_count(edit, status, "desiredHealthy", desired) &&
           put_count(edit, status, "expectedPods", count->all);
}

static kl_code settle_budget(kl_sim *sim, kl__sim_state *state,
                             const char *name, kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    kl_selector *selector;
    kl__node *status;
    pod_count count = {0};
    kl_code code;

    if (edit == NULL) {
        return KL_ENOMEM;
    }
    status = kl__node_get(kl__edit_root(edit), "status");
    selector = selector_of(kl__edit_root(edit), &code, err);
    if (code == KL_OK &&
        (!forget_gone(sim, status, name) ||
         !count_pods(sim, selector, name, kl__node_get(status, "disruptedPods"),
                     &count))) {
        code = kl__sim_no_memory(err);
    }
    if (code == KL_OK) {
        code = fill_budget_status(sim, edit, &count)
                   ? kl__sim_put_as(sim, budgets_of(sim), state, edit,
                                    &kl__sim_status_controller, err)
                   : kl__sim_no_memory(err);
    }
    kl_selector_free(selector);
    kl__edit_free(edit);
    return code;
}

kl_code kl__sim_budgets_settle(kl_sim *sim, const char *name, kl_error *err)
{
    const kl__sim_resource *budgets = budgets_of(sim);
    kl_code code = KL_OK;

    for (const kl__sim_node *node = budgets->items.first[0];
         node != NULL && code == KL_OK; node = node->next[0]) {
        if (is_in(node->state, name) && !node->state->deleting) {
            kl__sim_state *state = kl__sim_state_ref(node->state);

            code = settle_budget(sim, state, name, err);
            kl__sim_state_unref(state);
        }
    }
    return code;
}

/* --- Evictions. ----------------------------------------------------------- */

static kl_code refuse_eviction(kl__sim_answer *answer, int retry_after_seconds,
                               const char *why, kl_error *err)
{
    kl__sim_status status = {
        .code = 429,
        .reason = "TooManyRequests",
        .has_details = true,
        .retry_after_seconds = retry_after_seconds,
        .message = "Cannot evict pod as it would violate the pod's disruption "
                   "budget."};

    kl__sim_cause_add(&status, "DisruptionBudget", NULL, "%s", why);
    return kl__sim_answer_status(answer, &status, err);
}

/* Explains why a budget allows no disruption. */
static void explain_budget(const kl__node *budget, const char *name,
                           char why[512])
{
    const kl__node *status = kl__node_get(budget, "status");
    const kl__node *condition = condition_of(status);
    const char *reason = kl__node_text(condition, "reason");
    const char *message = kl__node_text(condition, "message");
    bool is_told = kl__streq(kl__node_text(condition, "status"), "False") &&
                   message != NULL && *message != '\0';
    int64_t wanted = number_in(status, "desiredHealthy");
    int64_t healthy = number_in(status, "currentHealthy");

    if (is_told && kl__streq(reason, "SyncFailed")) {
        snprintf(why, 512,
                 "The disruption budget %.253s does not allow evicting pods "
                 "currently because it failed sync: %.100s",
                 name, message);
    } else if (healthy <= wanted) {
        snprintf(why, 512,
                 "The disruption budget %.253s needs %" PRId64
                 " healthy pods and has %" PRId64 " currently",
                 name, wanted, healthy);
    } else if (is_told) {
        snprintf(why, 512,
                 "The disruption budget %.253s does not allow evicting pods "
                 "currently (%.60s): %.100s",
                 name, reason != NULL ? reason : "", message);
    } else {
        snprintf(why, 512,
                 "The disruption budget %.253s does not allow evicting pods "
                 "currently",
                 name);
    }
}

/* Counts the eviction of a pod in the budget, whose tree is `edit`; or answers
 * 429. `tries`: does not count. */
static kl_code take_disruption(kl__sim_answer *answer, kl__sim_state *budget,
                               kl__edit *edit, const char *pod, bool tries,
                               kl_error *err)
{
    kl__node *root = kl__edit_root(edit);
    kl__node *status = kl__node_ensure(edit, root, "status"), *disrupted;
    int64_t allowed = number_in(status, "disruptionsAllowed");
    char why[512], now[KL__SIM_TIME_SIZE];

    if (number_in(status, "observedGeneration") <
        number_in(kl__node_get(root, "metadata"), "generation")) {
        snprintf(why, sizeof(why),
                 "The disruption budget %s is still being processed by the "
                 "server.",
                 budget->name);
        return refuse_eviction(answer, PROCESSING_SECONDS, why, err);
    }
    if (allowed <= 0) {
        explain_budget(root, budget->name, why);
        return refuse_eviction(answer, 0, why, err);
    }
    if (tries) {
        return KL_OK;
    }
    kl__sim_clock_time(&answer->sim->clock, now);
    disrupted = kl__node_ensure(edit, status, "disruptedPods");
    if (disrupted == NULL || !kl__sim_put_text(edit, disrupted, pod, now) ||
        !(allowed > 1
              ? put_count(edit, status, "disruptionsAllowed", allowed - 1)
              : put_allowed(answer->sim, edit, status, 0))) {
        return kl__sim_no_memory(err);
    }
    return kl__sim_put_as(answer->sim, budgets_of(answer->sim), budget, edit,
                          &kl__sim_server, err);
}

/* True if a pod does not run: it has not started, has ended, or is being
 * deleted. Its eviction disrupts nothing. */
static bool is_idle(const kl__sim_state *pod, const char *phase)
{
    return pod->deleting || phase == NULL || strcmp(phase, "Pending") == 0 ||
           strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

/* True if a pod may be evicted without asking its budget: it does not run; or
 * it is not ready, and its budget allows that always or has enough other
 * healthy pods. */
static bool is_free(const kl__sim_state *pod, const kl__node *tree,
                    const kl__node *budget)
{
    const kl__node *status = kl__node_get(budget, "status");
    const char *phase = kl__node_text(kl__node_get(tree, "status"), "phase");
    const char *policy = kl__node_text(kl__node_get(budget, "spec"),
                                       "unhealthyPodEvictionPolicy");

    if (is_idle(pod, phase)) {
        return true;
    }
    if (pod->ready) {
        return false;
    }
    if (policy != NULL && strcmp(policy, "AlwaysAllow") == 0) {
        return true;
    }
    return number_in(status, "desiredHealthy") > 0 &&
           number_in(status, "currentHealthy") >=
               number_in(status, "desiredHealthy");
}

static kl_code take_from(kl__sim_answer *answer, kl__sim_state *budget,
                         const kl__sim_state *pod, bool tries, kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(budget, err);
    kl__edit *tree = edit != NULL ? kl__sim_state_edit(pod, err) : NULL;
    kl_code code = KL_OK;

    if (tree == NULL) {
        code = KL_ENOMEM;
    } else if (!is_free(pod, kl__edit_root(tree), kl__edit_root(edit))) {
        code = take_disruption(answer, budget, edit, pod->name, tries, err);
    }
    kl__edit_free(tree);
    kl__edit_free(edit);
    return code;
}

/* Finds a budget of a pod, and counts all its budgets. */
static kl_code find_budgets(kl_sim *sim, const kl__sim_state *pod,
                            kl__sim_state **budget, size_t *count,
                            kl_error *err)
{
    char *name_space = kl__strndup(pod->key, kl__sim_state_namespace(pod));
    kl_code code = name_space != NULL ? KL_OK : kl__sim_no_memory(err);

    for (const kl__sim_node *node = budgets_of(sim)->items.first[0];
         node != NULL && code == KL_OK; node = node->next[0]) {
        kl__edit *edit;
        kl_selector *selector;

        if (!is_in(node->state, name_space)) {
            continue;
        }
        edit = kl__sim_state_edit(node->state, err);
        if (edit == NULL) {
            code = KL_ENOMEM;
            break;
        }
        selector = selector_of(kl__edit_root(edit), &code, err);
        if (selects_pod(selector, pod)) {
            *budget = node->state;
            *count += 1;
        }
        kl_selector_free(selector);
        kl__edit_free(edit);
    }
    kl__free(name_space);
    return code;
}

kl_code kl__sim_budget_take(kl__sim_answer *answer, const kl__sim_state *pod,
                            bool tries, kl_error *err)
{
    kl__sim_state *budget = NULL;
    size_t count = 0;
    kl_code code = find_budgets(answer->sim, pod, &budget, &count, err);

    if (code != KL_OK || count == 0) {
        return code;
    }
    if (count > 1) {
        return kl__sim_refuse(answer, 500, NULL, err,
                              "This pod has more than one PodDisruptionBudget, "
                              "which the eviction subresource does not "
                              "support.");
    }
    kl__sim_state_ref(budget);
    code = take_from(answer, budget, pod, tries, err);
    kl__sim_state_unref(budget);
    return code;
}
