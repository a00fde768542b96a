/*
 * sim_table_load.c - cells of workloads and of kinds that belong to them: jobs,
 * autoscalers, revisions, quotas, events. See sim_table_row.h.
 */
#include "sim/core/table/sim_table_row.h"

#include "config/timestamp.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_METRICS = 2, METRIC_SIZE = 128, NAME_SIZE = 320 };

static int64_t number_at(const kl_value *root, const char *path)
{
    return kl_value_integer(kl__sim_at(root, path));
}

static void write_ready(const kl__sim_row *row)
{
    kl__sim_cell_printf(row, "%lld/%lld",
                        (long long)number_at(row->root, "status.readyReplicas"),
                        (long long)number_at(row->root, "spec.replicas"));
}

static void write_suspend(const kl__sim_row *row)
{
    const kl_value *value = kl__sim_at(row->root, "spec.suspend");

    kl__sim_cell_text(row, value == NULL          ? "<unset>"
                           : kl_value_bool(value) ? "True"
                                                  : "False");
}

static bool is_condition_true(const kl__sim_row *row, const char *type)
{
    const kl_value *condition =
        kl__sim_with(kl__sim_at(row->root, "status.conditions"), "type", type);

    return strcmp(kl__sim_text_at(condition, "status", ""), "True") == 0;
}

static const char *job_status(const kl__sim_row *row)
{
    static const char *const late[][2] = {
        {"Suspended", "Suspended"},
        {"FailureTarget", "FailureTarget"},
        {"SuccessCriteriaMet", "SuccessCriteriaMet"}};

    if (is_condition_true(row, "Complete")) {
        return "Complete";
    }
    if (is_condition_true(row, "Failed")) {
        return "Failed";
    }
    if (kl__sim_at(row->root, "metadata.deletionTimestamp") != NULL) {
        return "Terminating";
    }
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        if (is_condition_true(row, late[i][0])) {
            return late[i][1];
        }
    }
    return "Running";
}

static const char *job_duration(const kl__sim_row *row, char *age)
{
    const char *start = kl__sim_text_at(row->root, "status.startTime", NULL);
    const char *end = kl__sim_text_at(row->root, "status.completionTime", NULL);
    int64_t start_ms, end_ms;

    if (start == NULL || !kl__timestamp_parse(start, &start_ms)) {
        return "";
    }
    if (end == NULL || !kl__timestamp_parse(end, &end_ms)) {
        end_ms = row->table->now_ms;
    }
    return kl__sim_duration(end_ms - start_ms, age);
}

static void write_job(const kl__sim_row *row)
{
    const kl_value *wanted = kl__sim_at(row->root, "spec.completions");
    long long succeeded = number_at(row->root, "status.succeeded");
    long long parallelism = number_at(row->root, "spec.parallelism");
    char age[KL__SIM_AGE_SIZE];

    kl__sim_cell_text(row, job_status(row));
    if (wanted != NULL) {
        kl__sim_cell_printf(row, "%lld/%lld", succeeded,
                            (long long)kl_value_integer(wanted));
    } else if (parallelism > 1) {
        kl__sim_cell_printf(row, "%lld/1 of %lld", succeeded, parallelism);
    } else {
        kl__sim_cell_printf(row, "%lld/1", succeeded);
    }
    kl__sim_cell_text(row, job_duration(row, age));
}

/* Writes the owner that is marked as controller: "kind.group/name". */
static void write_controller(const kl__sim_row *row)
{
    const kl_value *owners = kl__sim_at(row->root, "metadata.ownerReferences");
    const kl_value *owner;
    kl_value_iter iter = {0};
    char name[NAME_SIZE];

    while ((owner = kl_value_next(owners, &iter, NULL)) != NULL) {
        const char *version = kl__sim_text_at(owner, "apiVersion", "");
        const char *slash = strchr(version, '/');

        if (!kl_value_bool(kl_value_get(owner, "controller"))) {
            continue;
        }
        snprintf(name, sizeof(name), "%s%s%.*s",
                 kl__sim_text_at(owner, "kind", ""), slash != NULL ? "." : "",
                 slash != NULL ? (int)(slash - version) : 0, version);
        kl__sim_lower(name);
        kl__sim_cell_printf(row, "%s/%s", name,
                            kl__sim_text_at(owner, "name", ""));
        return;
    }
    kl__sim_cell_text(row, "<none>");
}

static void write_scale_target(const kl__sim_row *row)
{
    kl__sim_cell_printf(
        row, "%s/%s",
        kl__sim_text_at(row->root, "spec.scaleTargetRef.kind", ""),
        kl__sim_text_at(row->root, "spec.scaleTargetRef.name", ""));
}

/* The name of the member that belongs to a type of metric: "resource" for
 * "Resource". */
static void part_name(const char *type, char *part, size_t size)
{
    snprintf(part, size, "%s", type);
    if (*part != '\0') {
        part[0] = (char)tolower((unsigned char)part[0]);
    }
}

/* Writes "cpu: 10%/80%": current and target percentage of the requested
 * amount. */
static void write_share(const kl_value *spec, const kl_value *status,
                        char *text)
{
    const kl_value *now = kl__sim_at(status, "current.averageUtilization");
    const kl_value *wanted = kl__sim_at(spec, "target.averageUtilization");
    char current[32] = "<unknown>", target[32] = "<auto>";

    if (now != NULL) {
        snprintf(current, sizeof(current), "%lld%%",
                 (long long)kl_value_integer(now));
    }
    if (wanted != NULL) {
        snprintf(target, sizeof(target), "%lld%%",
                 (long long)kl_value_integer(wanted));
    }
    snprintf(text, METRIC_SIZE, "%.40s: %s/%s",
             kl__sim_text_at(spec, "name", ""), current, target);
}

static void write_metric(const kl_value *spec, const kl_value *status,
                         char *text)
{
    const char *type = kl__sim_text_at(spec, "type", "");
    char part[32], room[2][KL__SIM_SCALAR_SIZE];
    const char *wanted, *now;
    bool is_resource, is_average;

    part_name(type, part, sizeof(part));
    spec = kl_value_get(spec, part);
    status = kl_value_get(status, part);
    is_resource = strstr(type, "Resource") != NULL;
    is_average = kl__sim_at(spec, "target.averageValue") != NULL;
    if (is_resource && !is_average) {
        write_share(spec, status, text);
        return;
    }
    wanted = kl__sim_scalar(
        kl__sim_at(spec, is_average ? "target.averageValue" : "target.value"),
        room[0]);
    now = kl__sim_scalar(kl__sim_at(status, is_average ? "current.averageValue"
                                                       : "current.value"),
                         room[1]);
    snprintf(text, METRIC_SIZE, "%.40s%s%.30s/%.30s%s",
             is_resource ? kl__sim_text_at(spec, "name", "") : "",
             is_resource ? ": " : "", *now != '\0' ? now : "<unknown>",
             *wanted != '\0' ? wanted : "0",
             is_average && !is_resource && strcmp(type, "Pods") != 0 ? " (avg)"
                                                                     : "");
}

static void write_metrics(const kl__sim_row *row)
{
    const kl_value *specs = kl__sim_at(row->root, "spec.metrics");
    const kl_value *statuses = kl__sim_at(row->root, "status.currentMetrics");
    size_t count = kl_value_size(specs);
    char text[METRIC_SIZE];
    kl__buf all = {0};

    for (size_t i = 0; i < count && i < MAX_METRICS; i++) {
        write_metric(kl_value_at(specs, i), kl_value_at(statuses, i), text);
        kl__sim_join(&all, ", ", text);
    }
    if (count > MAX_METRICS) {
        kl__buf_printf(&all, " + %zu more...", count - MAX_METRICS);
    } else if (count == 0) {
        kl__buf_puts(&all, "<none>");
    }
    kl__sim_cell_take(row, &all);
}

/* Writes "pods: 1/10, ...": used and allowed amounts of a quota. `limits`: of
 * the resources "limits.*"; else of all others. */
static void write_quota_part(const kl__sim_row *row, bool limits)
{
    const kl_value *hard = kl__sim_at(row->root, "status.hard");
    const kl_value *used = kl__sim_at(row->root, "status.used");
    kl_value_iter iter = {0};
    const kl_value *key, *value;
    kl__buf text = {0};

    while ((value = kl_value_next(hard, &iter, &key)) != NULL) {
        const char *name = kl_value_string(key, NULL);
        char room[2][KL__SIM_SCALAR_SIZE];

        if ((strncmp(name, "limits.", 7) == 0) != limits) {
            continue;
        }
        kl__buf_puts(&text, text.length != 0 ? ", " : "");
        kl__buf_printf(&text, "%s: %s/%s", name,
                       kl__sim_scalar(kl_value_get(used, name), room[0]),
                       kl__sim_scalar(value, room[1]));
    }
    kl__sim_cell_take(row, &text);
}

static void write_quota(const kl__sim_row *row)
{
    write_quota_part(row, false);
    write_quota_part(row, true);
}

/* Writes the component that reported an event, and its host. */
static void write_source(const kl__sim_row *row)
{
    const char *component = kl__sim_text_at(row->root, "source.component", "");
    const char *host = kl__sim_text_at(row->root, "source.host", "");

    if (*component == '\0') {
        component = kl__sim_text_at(row->root, "reportingComponent", "");
    }
    if (*host == '\0') {
        host = kl__sim_text_at(row->root, "reportingInstance", "");
    }
    kl__sim_cell_printf(row, "%s%s%s", component, *host != '\0' ? ", " : "",
                        host);
}

/* A member that has different names in the two groups of Events. */
static const kl_value *either_member(const kl__sim_row *row, const char *core,
                                     const char *events)
{
    const kl_value *value = kl__sim_at(row->root, core);

    return value != NULL ? value : kl__sim_at(row->root, events);
}

static void write_message(const kl__sim_row *row)
{
    const char *text =
        kl_value_string(either_member(row, "message", "note"), NULL);
    size_t length;
    kl__buf trimmed = {0};

    text = text != NULL ? text : "";
    text += strspn(text, " \t\r\n");
    length = strlen(text);
    while (length != 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    kl__buf_append(&trimmed, text, length);
    kl__sim_cell_take(row, &trimmed);
}

static void write_event_object(const kl__sim_row *row)
{
    const kl_value *object = either_member(row, "involvedObject", "regarding");
    const char *name = kl__sim_text_at(object, "name", "");
    char kind[NAME_SIZE];

    snprintf(kind, sizeof(kind), "%s", kl__sim_text_at(object, "kind", ""));
    kl__sim_lower(kind);
    kl__sim_cell_printf(row, "%s%s%s", kind, *name != '\0' ? "/" : "", name);
    kl__sim_cell_text(row, kl__sim_text_at(object, "fieldPath", ""));
}

static void write_event(const kl__sim_row *row)
{
    const char *first = kl_value_string(
        either_member(row, "firstTimestamp", "deprecatedFirstTimestamp"), NULL);
    const char *last = kl_value_string(
        either_member(row, "lastTimestamp", "deprecatedLastTimestamp"), NULL);
    const kl_value *series = kl__sim_at(row->root, "series");
    int64_t count =
        kl_value_integer(either_member(row, "count", "deprecatedCount"));
    char age[2][KL__SIM_AGE_SIZE];

    first =
        first != NULL ? first : kl__sim_text_at(row->root, "eventTime", NULL);
    last = last != NULL ? last : first;
    if (kl_value_type(series) == KL_OBJECT) {
        last = kl__sim_text_at(series, "lastObservedTime", NULL);
        count = number_at(series, "count");
    } else if (count == 0) {
        count = 1;
    }
    kl__sim_cell_text(row, kl__sim_age(row, last, age[0]));
    kl__sim_cell_text(row, kl__sim_text_at(row->root, "type", ""));
    kl__sim_cell_text(row, kl__sim_text_at(row->root, "reason", ""));
    write_event_object(row);
    write_source(row);
    write_message(row);
    kl__sim_cell_text(row, kl__sim_age(row, first, age[1]));
    kl__sim_cell_integer(row, count);
    kl__sim_cell_text(row, kl__sim_text_at(row->root, "metadata.name", ""));
}

const kl__sim_special kl__sim_specials_load[] = {
    {"pod", kl__sim_cells_pod},       {"ready", write_ready},
    {"suspend", write_suspend},       {"job", write_job},
    {"controller", write_controller}, {"scale_target", write_scale_target},
    {"metrics", write_metrics},       {"quota", write_quota},
    {"event", write_event},           {NULL, NULL}};
