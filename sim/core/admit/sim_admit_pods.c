/*
 * sim_admit_pods.c - admission of Pods, and of the Nodes that they run on:
 * tolerations, priority, and the overhead of a RuntimeClass.
 */
#include "sim/core/admit/sim_admit.h"

#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_kinds_own.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TOLERATION_SECONDS = 300 };

static kl__node *pod_spec_of(const kl__sim_write *write)
{
    return kl__node_get(kl__sim_write_root(write), "spec");
}

/* True for a write of a whole Pod, which a client creates or updates. */
static bool is_pod(const kl__sim_write *write)
{
    return *write->subresource == '\0' && kl__sim_write_is(write, "", "pods") &&
           kl__node_is(pod_spec_of(write), KL_OBJECT);
}

static kl__node *ensure_array(kl__edit *edit, kl__node *object,
                              const char *name)
{
    kl__node *list = kl__node_get(object, name);

    if (!kl__node_is(list, KL_ARRAY)) {
        list = kl__edit_array(edit);
        if (!kl__node_put(edit, object, name, list)) {
            return NULL;
        }
    }
    return list;
}

/* --- Nodes. --------------------------------------------------------------- */

kl_code kl__sim_admit_node(kl__sim_write *write, kl_error *err)
{
    kl__edit *edit = write->edit;
    kl__node *spec, *list, *taint;

    /* If controllers run, the node controller would remove this taint at once,
     * so it is not set. */
    if (!kl__sim_write_is(write, "", "nodes") || write->old != NULL ||
        !write->answer->sim->no_controllers || write->answer->loading) {
        return KL_OK;
    }
    spec = kl__node_ensure(edit, kl__sim_write_root(write), "spec");
    list = spec != NULL ? ensure_array(edit, spec, "taints") : NULL;
    taint = kl__edit_object(edit);
    return list != NULL && taint != NULL &&
                   kl__sim_put_text(edit, taint, "key",
                                    "node.kubernetes.io/not-ready") &&
                   kl__sim_put_text(edit, taint, "effect", "NoSchedule") &&
                   kl__node_append(list, taint)
               ? KL_OK
               : kl__sim_no_memory(err);
}

/* --- Tolerations. --------------------------------------------------------- */

static bool has_toleration(const kl__node *list, const char *key)
{
    const kl__node *toleration;
    kl__node_iter iter = {0};

    while ((toleration = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *given = kl__node_text(toleration, "key");
        const char *effect = kl__node_text(toleration, "effect");

        if ((given == NULL || *given == '\0' || strcmp(given, key) == 0) &&
            (effect == NULL || *effect == '\0' ||
             strcmp(effect, "NoExecute") == 0)) {
            return true;
        }
    }
    return false;
}

static bool add_toleration(kl__edit *edit, kl__node *spec, const char *key)
{
    kl__node *list = ensure_array(edit, spec, "tolerations");
    kl__node *toleration = kl__edit_object(edit);

    return list != NULL && toleration != NULL &&
           kl__sim_put_text(edit, toleration, "key", key) &&
           kl__sim_put_text(edit, toleration, "operator", "Exists") &&
           kl__sim_put_text(edit, toleration, "effect", "NoExecute") &&
           kl__node_put(edit, toleration, "tolerationSeconds",
                        kl__edit_integer(edit, TOLERATION_SECONDS)) &&
           kl__node_append(list, toleration);
}

kl_code kl__sim_admit_tolerations(kl__sim_write *write, kl_error *err)
{
    static const char *const keys[] = {"node.kubernetes.io/not-ready",
                                       "node.kubernetes.io/unreachable"};
    const kl__node *before;
    bool tolerated[2];

    if (!is_pod(write)) {
        return KL_OK;
    }
    before = kl__node_get(pod_spec_of(write), "tolerations");
    for (size_t i = 0; i < 2; i++) {
        tolerated[i] = has_toleration(before, keys[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        if (!tolerated[i] &&
            !add_toleration(write->edit, pod_spec_of(write), keys[i])) {
            return kl__sim_no_memory(err);
        }
    }
    return KL_OK;
}

/* --- Priority. ------------------------------------------------------------ */

typedef struct pod_priority {
    char name[260];
    int64_t value;
    char preemption[32]; /* "": the class has none */
} pod_priority;

static kl_code read_class(const kl__sim_state *state, pod_priority *priority,
                          bool *is_default, kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    const kl__node *root = edit != NULL ? kl__edit_root(edit) : NULL;
    const char *preemption = kl__node_text(root, "preemptionPolicy");

    if (edit == NULL) {
        return KL_ENOMEM;
    }
    snprintf(priority->name, sizeof(priority->name), "%s", state->name);
    priority->value = kl__node_integer(kl__node_get(root, "value"));
    snprintf(priority->preemption, sizeof(priority->preemption), "%s",
             preemption != NULL ? preemption : "");
    *is_default = kl__node_bool(kl__node_get(root, "globalDefault"));
    kl__edit_free(edit);
    return KL_OK;
}

static const kl__sim_tree *classes_of(kl_sim *sim)
{
    return &kl__sim_find(sim, "scheduling.k8s.io", "priorityclasses")->items;
}

/* Fills `priority` from the default PriorityClass, for pods that name none; of
 * several defaults, from the one with the lowest value. If there is no default
 * class, `priority` does not change. */
static kl_code find_default(kl_sim *sim, pod_priority *priority, bool *found,
                            kl_error *err)
{
    const kl__sim_node *node = classes_of(sim)->first[0];
    kl_code code = KL_OK;

    *found = false;
    for (; code == KL_OK && node != NULL; node = node->next[0]) {
        pod_priority one;
        bool is_default = false;

        if (strstr(node->state->text, "\"globalDefault\"") == NULL) {
            continue; /* cheap test first: few classes have this member */
        }
        code = read_class(node->state, &one, &is_default, err);
        if (code == KL_OK && is_default &&
            (!*found || one.value < priority->value)) {
            *priority = one;
            *found = true;
        }
    }
    return code;
}

/* Finds the class of a pod; refuses the pod if the class does not exist. */
static kl_code choose_class(kl__sim_write *write, pod_priority *priority,
                            kl_error *err)
{
    kl_sim *sim = write->answer->sim;
    const char *name = kl__node_text(pod_spec_of(write), "priorityClassName");
    const kl__sim_node *node;
    bool found;
    char why[400];

    if (name == NULL || *name == '\0') {
        return find_default(sim, priority, &found, err);
    }
    node = kl__sim_tree_find(classes_of(sim), name);
    if (node != NULL) {
        return read_class(node->state, priority, &found, err);
    }
    snprintf(why, sizeof(why), "no PriorityClass with name %.253s was found",
             name);
    return kl__sim_admit_forbid(write, why, err);
}

/* Refuses a pod whose priority or policy differs from its class's. */
static kl_code check_priority(kl__sim_write *write,
                              const pod_priority *priority, kl_error *err)
{
    const kl__node *value = kl__node_get(pod_spec_of(write), "priority");
    const char *preemption =
        kl__node_text(pod_spec_of(write), "preemptionPolicy");
    char why[400];

    if (write->answer->loading) {
        return KL_OK;
    }
    if (value != NULL && kl__node_integer(value) != priority->value) {
        snprintf(why, sizeof(why),
                 "the integer value of priority (%" PRId64 ") must not be "
                 "provided in pod spec; priority admission controller computed "
                 "%" PRId64 " from the given PriorityClass name",
                 kl__node_integer(value), priority->value);
        return kl__sim_admit_forbid(write, why, err);
    }
    if (preemption != NULL && *priority->preemption != '\0' &&
        strcmp(preemption, priority->preemption) != 0) {
        snprintf(why, sizeof(why),
                 "the string value of PreemptionPolicy (%.60s) must not be "
                 "provided in pod spec; priority admission controller computed "
                 "%s from the given PriorityClass name",
                 preemption, priority->preemption);
        return kl__sim_admit_forbid(write, why, err);
    }
    return KL_OK;
}

/* Keeps a priority that an update leaves out. */
static bool keep_priority(kl__sim_write *write)
{
    static const char *const names[] = {"priority", "preemptionPolicy"};
    const kl__node *old = kl__node_get(kl__sim_write_old(write), "spec");

    for (size_t i = 0; i < 2; i++) {
        if (kl__node_get(pod_spec_of(write), names[i]) == NULL &&
            !kl__sim_put_copy(write->edit, pod_spec_of(write), names[i],
                              kl__node_get(old, names[i]))) {
            return false;
        }
    }
    return true;
}

kl_code kl__sim_admit_priority(kl__sim_write *write, kl_error *err)
{
    pod_priority priority = {"", 0, "PreemptLowerPriority"};
    kl__edit *edit = write->edit;
    kl__node *spec = pod_spec_of(write);
    kl_code code;

    if (!is_pod(write)) {
        return KL_OK;
    }
    if (write->old != NULL) {
        return keep_priority(write) ? KL_OK : kl__sim_no_memory(err);
    }
    code = choose_class(write, &priority, err);
    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code = check_priority(write, &priority, err);
    }
    if (code != KL_OK || !kl__sim_write_goes_on(write)) {
        return code;
    }
    return kl__sim_put_text(edit, spec, "priorityClassName", priority.name) &&
                   kl__node_put(edit, spec, "priority",
                                kl__edit_integer(edit, priority.value)) &&
                   (*priority.preemption == '\0' ||
                    kl__sim_put_text(edit, spec, "preemptionPolicy",
                                     priority.preemption))
               ? KL_OK
               : kl__sim_no_memory(err);
}

kl_code kl__sim_admit_default_class(kl__sim_write *write, kl_error *err)
{
    pod_priority priority = {0};
    bool found = false;
    kl_code code;
    char why[400];

    if (!kl__sim_write_is(write, "scheduling.k8s.io", "priorityclasses") ||
        write->answer->loading ||
        !kl__node_bool(
            kl__node_get(kl__sim_write_root(write), "globalDefault"))) {
        return KL_OK;
    }
    code = find_default(write->answer->sim, &priority, &found, err);
    if (code != KL_OK || !found ||
        (write->old != NULL && strcmp(write->old->name, priority.name) == 0)) {
        return code;
    }
    snprintf(why, sizeof(why),
             "PriorityClass %s is already marked as default. Only one default "
             "can exist",
             priority.name);
    return kl__sim_admit_forbid(write, why, err);
}

/* --- RuntimeClass. -------------------------------------------------------- */

/* Sets the class's overhead; refuses a pod with another overhead. */
static kl_code take_overhead(kl__sim_write *write, const kl__node *class,
                             kl_error *err)
{
    const kl__node *fixed =
        kl__node_get(kl__node_get(class, "overhead"), "podFixed");
    const kl__node *own = kl__node_get(pod_spec_of(write), "overhead");

    if (fixed == NULL) {
        return own == NULL ? KL_OK
                           : kl__sim_admit_forbid(
                                 write,
                                 "pod rejected: Pod Overhead set without "
                                 "corresponding RuntimeClass defined Overhead",
                                 err);
    }
    if (kl__node_size(own) != 0 && !kl__node_equal(own, fixed)) {
        return kl__sim_admit_forbid(write,
                                    "pod rejected: Pod's Overhead doesn't "
                                    "match RuntimeClass's defined Overhead",
                                    err);
    }
    return kl__sim_put_copy(write->edit, pod_spec_of(write), "overhead", fixed)
               ? KL_OK
               : kl__sim_no_memory(err);
}

static kl_code take_selector(kl__sim_write *write, const kl__node *selector,
                             kl_error *err)
{
    kl__node *own = NULL;
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *key;
    char why[1200];

    while ((value = kl__node_next(selector, &iter, &key, NULL)) != NULL) {
        const char *wanted = kl__node_string(value, NULL), *given;

        own = kl__node_ensure(write->edit, pod_spec_of(write), "nodeSelector");
        given = kl__node_text(own, key);
        if (given != NULL && strcmp(given, wanted) != 0) {
            snprintf(why, sizeof(why),
                     "conflict: runtimeClass.scheduling.nodeSelector[%.300s] = "
                     "%.63s; pod.spec.nodeSelector[%.300s] = %.63s",
                     key, wanted, key, given);
            return kl__sim_admit_forbid(write, why, err);
        }
        if (own == NULL || !kl__sim_put_copy(write->edit, own, key, value)) {
            return kl__sim_no_memory(err);
        }
    }
    return KL_OK;
}

/* Appends tolerations of the class that the pod lacks. */
static bool take_tolerations(kl__sim_write *write, const kl__node *more)
{
    kl__node *list;
    kl__node_iter iter = {0};
    const kl__node *toleration;

    if (kl__node_size(more) == 0) {
        return true;
    }
    list = ensure_array(write->edit, pod_spec_of(write), "tolerations");
    while ((toleration = kl__node_next(more, &iter, NULL, NULL)) != NULL) {
        kl__node_iter others = {0};
        const kl__node *other;
        bool is_there = false;

        while ((other = kl__node_next(list, &others, NULL, NULL)) != NULL) {
            is_there |= kl__node_equal(other, toleration);
        }
        if (!is_there &&
            !kl__node_append(list, kl__edit_copy(write->edit, toleration))) {
            return false;
        }
    }
    return true;
}

static kl_code take_class(kl__sim_write *write, const kl__sim_state *state,
                          kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    const kl__node *class = edit != NULL ? kl__edit_root(edit) : NULL;
    const kl__node *scheduling = kl__node_get(class, "scheduling");
    kl_code code = edit != NULL ? take_overhead(write, class, err) : KL_ENOMEM;

    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code =
            take_selector(write, kl__node_get(scheduling, "nodeSelector"), err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(write) &&
        !take_tolerations(write, kl__node_get(scheduling, "tolerations"))) {
        code = kl__sim_no_memory(err);
    }
    kl__edit_free(edit);
    return code;
}

kl_code kl__sim_admit_runtime(kl__sim_write *write, kl_error *err)
{
    const char *name;
    const kl__sim_node *node;
    char why[400];

    if (!is_pod(write) || write->old != NULL || write->answer->loading) {
        return KL_OK;
    }
    name = kl__node_text(pod_spec_of(write), "runtimeClassName");
    if (name == NULL) {
        return take_overhead(write, NULL, err);
    }
    node = kl__sim_tree_find(
        &kl__sim_find(write->answer->sim, "node.k8s.io", "runtimeclasses")
             ->items,
        name);
    if (node != NULL) {
        return take_class(write, node->state, err);
    }
    snprintf(why, sizeof(why),
             "pod rejected: RuntimeClass \"%.253s\" not found", name);
    return kl__sim_admit_forbid(write, why, err);
}
