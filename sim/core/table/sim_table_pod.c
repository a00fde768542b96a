/*
 * sim_table_pod.c - a pod's cells. As in kubectl, the cell STATUS shows a
 * reason of a container, a deletion or a scheduling gate if there is one, else
 * the phase.
 */
#include "sim/core/table/sim_table_row.h"

#include "config/timestamp.h"

#include <stdio.h>
#include <string.h>

enum { REASON_SIZE = 256 };

typedef struct pod_view {
    const kl_value *root;
    const kl_value *spec;
    const kl_value *status;
    char reason[REASON_SIZE];
    int64_t restarts;
    int64_t sidecar_restarts;
    const char *last_restart; /* NULL: never, or unknown */
    const char *last_sidecar_restart;
    size_t total;
    size_t ready;
    bool initializing;
} pod_view;

/* What a loop over the containers has found. */
typedef struct running {
    bool has_running;
    char error[REASON_SIZE];
} running;

static bool is_equal_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void set_reason(pod_view *pod, const char *prefix, const char *reason)
{
    snprintf(pod->reason, sizeof(pod->reason), "%s%s", prefix, reason);
}

static bool is_condition_true(const pod_view *pod, const char *condition)
{
    const kl_value *found = kl__sim_with(
        kl_value_get(pod->status, "conditions"), "type", condition);

    return is_equal_text(kl__sim_text_at(found, "status", ""), "True");
}

/* The state of that name (running, waiting ...) of a container, or NULL. */
static const kl_value *state_of(const kl_value *container, const char *name)
{
    return kl_value_get(kl_value_get(container, "state"), name);
}

static bool is_sidecar(const pod_view *pod, const char *name)
{
    const kl_value *container =
        kl__sim_with(kl_value_get(pod->spec, "initContainers"), "name", name);

    return is_equal_text(kl__sim_text_at(container, "restartPolicy", ""),
                         "Always");
}

/* The later of two timestamps. */
static const char *later(const char *a, const kl_value *container)
{
    const char *b =
        kl__sim_text_at(container, "lastState.terminated.finishedAt", NULL);
    int64_t a_ms, b_ms;

    if (b == NULL || !kl__timestamp_parse(b, &b_ms)) {
        return a;
    }
    return a == NULL || !kl__timestamp_parse(a, &a_ms) || a_ms < b_ms ? b : a;
}

/* Sets the reason in STATUS to that of a container that has ended. */
static void set_terminated(pod_view *pod, const char *prefix,
                           const kl_value *terminated)
{
    const char *reason = kl__sim_text_at(terminated, "reason", "");
    int64_t number = kl_value_integer(kl_value_get(terminated, "signal"));
    const char *what = "Signal";

    if (*reason != '\0') {
        set_reason(pod, prefix, reason);
        return;
    }
    if (number == 0) {
        what = "ExitCode";
        number = kl_value_integer(kl_value_get(terminated, "exitCode"));
    }
    snprintf(pod->reason, sizeof(pod->reason), "%s%s:%lld", prefix, what,
             (long long)number);
}

/* True if this init container has not finished, or has failed; then sets the
 * reason in STATUS. */
static bool is_initializing(pod_view *pod, const kl_value *container,
                            size_t index)
{
    const kl_value *terminated = state_of(container, "terminated");
    const char *waiting =
        kl__sim_text_at(state_of(container, "waiting"), "reason", "");

    if (terminated != NULL &&
        kl_value_integer(kl_value_get(terminated, "exitCode")) == 0) {
        return false;
    }
    if (is_sidecar(pod, kl__sim_text_at(container, "name", "")) &&
        kl_value_bool(kl_value_get(container, "started"))) {
        pod->ready += kl_value_bool(kl_value_get(container, "ready"));
        return false;
    }
    if (terminated != NULL) {
        set_terminated(pod, "Init:", terminated);
    } else if (*waiting != '\0' && !is_equal_text(waiting, "PodInitializing")) {
        set_reason(pod, "Init:", waiting);
    } else {
        snprintf(pod->reason, sizeof(pod->reason), "Init:%zu/%zu", index,
                 kl_value_size(kl_value_get(pod->spec, "initContainers")));
    }
    return true;
}

static void read_init_containers(pod_view *pod)
{
    const kl_value *statuses =
        kl_value_get(pod->status, "initContainerStatuses");
    kl_value_iter iter = {0};
    const kl_value *container;
    size_t index = 0;

    while (!pod->initializing &&
           (container = kl_value_next(statuses, &iter, NULL)) != NULL) {
        int64_t restarts =
            kl_value_integer(kl_value_get(container, "restartCount"));

        pod->restarts += restarts;
        pod->last_restart = later(pod->last_restart, container);
        if (is_sidecar(pod, kl__sim_text_at(container, "name", ""))) {
            pod->sidecar_restarts += restarts;
            pod->last_sidecar_restart =
                later(pod->last_sidecar_restart, container);
        }
        pod->initializing = is_initializing(pod, container, index++);
    }
}

static void read_container(pod_view *pod, const kl_value *container,
                           running *seen)
{
    const kl_value *terminated = state_of(container, "terminated");
    const char *waiting =
        kl__sim_text_at(state_of(container, "waiting"), "reason", "");

    pod->restarts += kl_value_integer(kl_value_get(container, "restartCount"));
    pod->last_restart = later(pod->last_restart, container);
    if (*waiting != '\0') {
        set_reason(pod, "", waiting);
    } else if (terminated != NULL) {
        set_terminated(pod, "", terminated);
        if (kl_value_integer(kl_value_get(terminated, "exitCode")) != 0) {
            memcpy(seen->error, pod->reason, sizeof(seen->error));
        }
    } else if (kl_value_bool(kl_value_get(container, "ready")) &&
               state_of(container, "running") != NULL) {
        seen->has_running = true;
        pod->ready++;
    }
}

static void read_containers(pod_view *pod)
{
    const kl_value *statuses = kl_value_get(pod->status, "containerStatuses");
    running seen = {false, ""};

    pod->restarts = pod->sidecar_restarts;
    pod->last_restart = pod->last_sidecar_restart;
    for (size_t i = kl_value_size(statuses); i > 0; i--) {
        read_container(pod, kl_value_at(statuses, i - 1), &seen);
    }
    if (!is_equal_text(pod->reason, "Completed")) {
        return;
    }
    if (seen.has_running && is_condition_true(pod, "Ready")) {
        set_reason(pod, "", "Running");
    } else if (*seen.error != '\0') {
        set_reason(pod, "", seen.error);
    } else if (seen.has_running) {
        set_reason(pod, "", "NotReady");
    }
}

static void read_phase(pod_view *pod)
{
    const kl_value *scheduled = kl__sim_with(
        kl_value_get(pod->status, "conditions"), "type", "PodScheduled");
    const char *reason = kl__sim_text_at(pod->status, "reason", "");

    set_reason(pod, "",
               *reason != '\0' ? reason
                               : kl__sim_text_at(pod->status, "phase", ""));
    if (is_equal_text(kl__sim_text_at(scheduled, "reason", ""),
                      "SchedulingGated")) {
        set_reason(pod, "", "SchedulingGated");
    }
}

static void read_deletion(pod_view *pod)
{
    const char *phase = kl__sim_text_at(pod->status, "phase", "");

    if (kl__sim_at(pod->root, "metadata.deletionTimestamp") == NULL) {
        return;
    }
    if (is_equal_text(kl__sim_text_at(pod->status, "reason", ""), "NodeLost")) {
        set_reason(pod, "", "Unknown");
    } else if (!is_equal_text(phase, "Failed") &&
               !is_equal_text(phase, "Succeeded")) {
        set_reason(pod, "", "Terminating");
    }
}

static void count_containers(pod_view *pod)
{
    const kl_value *init = kl_value_get(pod->spec, "initContainers");
    kl_value_iter iter = {0};
    const kl_value *container;

    pod->total = kl_value_size(kl_value_get(pod->spec, "containers"));
    while ((container = kl_value_next(init, &iter, NULL)) != NULL) {
        pod->total += is_equal_text(
            kl__sim_text_at(container, "restartPolicy", ""), "Always");
    }
}

static void write_gates(const kl__sim_row *row, const pod_view *pod)
{
    const kl_value *gates = kl_value_get(pod->spec, "readinessGates");
    kl_value_iter iter = {0};
    const kl_value *gate;
    size_t open = 0;

    if (kl_value_size(gates) == 0) {
        kl__sim_cell_text(row, "<none>");
        return;
    }
    while ((gate = kl_value_next(gates, &iter, NULL)) != NULL) {
        open +=
            is_condition_true(pod, kl__sim_text_at(gate, "conditionType", ""));
    }
    kl__sim_cell_printf(row, "%zu/%zu", open, kl_value_size(gates));
}

/* Writes a text, which is not NULL; "<none>" if it is "". */
static void write_or_none(const kl__sim_row *row, const char *text)
{
    kl__sim_cell_text(row, *text != '\0' ? text : "<none>");
}

static void write_restarts(const kl__sim_row *row, const pod_view *pod)
{
    char age[KL__SIM_AGE_SIZE];

    if (pod->restarts != 0 && pod->last_restart != NULL) {
        kl__sim_cell_printf(row, "%lld (%s ago)", (long long)pod->restarts,
                            kl__sim_age(row, pod->last_restart, age));
    } else {
        kl__sim_cell_printf(row, "%lld", (long long)pod->restarts);
    }
}

void kl__sim_cells_pod(const kl__sim_row *row)
{
    pod_view pod = {.root = row->root,
                    .spec = kl_value_get(row->root, "spec"),
                    .status = kl_value_get(row->root, "status")};
    char age[KL__SIM_AGE_SIZE];

    read_phase(&pod);
    count_containers(&pod);
    read_init_containers(&pod);
    if (!pod.initializing || is_condition_true(&pod, "Initialized")) {
        read_containers(&pod);
    }
    read_deletion(&pod);
    kl__sim_cell_text(row, kl__sim_text_at(row->root, "metadata.name", ""));
    kl__sim_cell_printf(row, "%zu/%zu", pod.ready, pod.total);
    kl__sim_cell_text(row, pod.reason);
    write_restarts(row, &pod);
    kl__sim_cell_text(
        row,
        kl__sim_age(
            row, kl__sim_text_at(row->root, "metadata.creationTimestamp", NULL),
            age));
    write_or_none(
        row, kl__sim_text_at(kl_value_at(kl_value_get(pod.status, "podIPs"), 0),
                             "ip", ""));
    write_or_none(row, kl__sim_text_at(pod.spec, "nodeName", ""));
    write_or_none(row, kl__sim_text_at(pod.status, "nominatedNodeName", ""));
    write_gates(row, &pod);
}
