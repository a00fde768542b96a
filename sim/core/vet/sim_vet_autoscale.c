/*
 * sim_vet_autoscale.c - see sim_vet.h: validates HorizontalPodAutoscalers.
 */
#include "sim/core/vet/sim_vet.h"

#include "sim/core/schema/quantity.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Checks a reference to the object that is scaled or measured. */
static void check_target(kl__vet *vet, const kl__node *spec, const char *member)
{
    const kl__node *target = kl__node_get(spec, member);
    const char *version = kl__vet_text(target, "apiVersion");
    size_t mark = kl__vet_into(vet, member);

    kl__vet_required(vet, target, "kind");
    kl__vet_required(vet, target, "name");
    if (strcmp(member, "scaleTargetRef") == 0 && strchr(version, '/') == NULL &&
        strcmp(kl__vet_text(target, "kind"), "ReplicationController") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "apiVersion", version,
                      "apiVersion must specify API group");
    }
    kl__vet_back(vet, mark);
}

/* --- Metrics. ------------------------------------------------------------- */

static void check_positive(kl__vet *vet, const kl__node *target,
                           const char *member)
{
    const char *amount = kl__node_text(target, member);

    if (amount != NULL && kl__quantity_compare(amount, "0") <= 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, amount,
                      "must be positive");
    }
}

static void check_aim(kl__vet *vet, const kl__node *target)
{
    const char *type = kl__vet_text(target, "type");
    const kl__node *use = kl__node_get(target, "averageUtilization");

    if (*type == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "type", NULL,
                      "must specify a metric target type");
    }
    if (strcmp(type, "Utilization") != 0 && strcmp(type, "Value") != 0 &&
        strcmp(type, "AverageValue") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "type", type,
                      "must be either Utilization, Value, or AverageValue");
    }
    check_positive(vet, target, "value");
    check_positive(vet, target, "averageValue");
    if (use != NULL && kl__node_integer(use) < 1) {
        kl__vet_value(vet, KL__FIELD_INVALID, "averageUtilization", use,
                      "must be greater than 0");
    }
}

static void check_metric_name(kl__vet *vet, const kl__node *source)
{
    const kl__node *metric = kl__node_get(source, "metric");
    const char *name = kl__vet_text(metric, "name");
    size_t mark = kl__vet_into(vet, "metric");

    if (*name == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "name", NULL,
                      "must specify a metric name");
    } else if (strchr(name, '/') != NULL) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "name", name,
                      "may not contain '/'");
    }
    kl__vet_back(vet, mark);
}

/* The metric must name a resource. */
static void check_resource_name(kl__vet *vet, const kl__node *source)
{
    if (*kl__vet_text(source, "name") == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "name", NULL,
                      "must specify a resource name");
    }
}

static void check_container_name(kl__vet *vet, const kl__node *source)
{
    check_resource_name(vet, source);
    if (*kl__vet_text(source, "container") == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "container", NULL,
                      "must specify a container");
    }
    kl__vet_label(vet, source, "container");
}

static void check_described_object(kl__vet *vet, const kl__node *source)
{
    check_target(vet, source, "describedObject");
    check_metric_name(vet, source);
}

/* A type of metric, and the rules for its target: it must have the member `one`
 * or the member `other`; for some types not both. */
typedef struct metric_sort {
    const char *type;
    const char *member;
    void (*check)(kl__vet *vet, const kl__node *source);
    const char *one;
    const char *other;   /* NULL: only `one` is possible */
    const char *missing; /* the message if neither is set */
    /* the message if both are set; NULL: both may be set */
    const char *extra;
    const char *member_extra; /* the member that this message is about */
} metric_sort;

static const char RAW[] =
    "must set either a target raw value or a target utilization";
static const char BOTH_RAW[] =
    "may not set both a target raw value and a target utilization";
static const metric_sort sorts[] = {
    {"Object", "object", check_described_object, "averageValue", "value",
     "must set either a target value or averageValue", NULL, NULL},
    {"External", "external", check_metric_name, "averageValue", "value",
     "must set either a target value for metric or a per-pod target",
     "may not set both a target value for metric and a per-pod target",
     "value"},
    {"Pods", "pods", check_metric_name, "averageValue", NULL,
     "must specify a positive target averageValue", NULL, NULL},
    {"Resource", "resource", check_resource_name, "averageUtilization",
     "averageValue", RAW, BOTH_RAW, "averageValue"},
    {"ContainerResource", "containerResource", check_container_name,
     "averageUtilization", "averageValue", RAW, BOTH_RAW, "averageValue"}};

enum { SORTS = sizeof(sorts) / sizeof(sorts[0]) };

static void check_metric_source(kl__vet *vet, const kl__node *metric,
                                const metric_sort *sort)
{
    const kl__node *source = kl__node_get(metric, sort->member);
    const kl__node *target = kl__node_get(source, "target");
    bool one = kl__node_get(target, sort->one) != NULL;
    bool other =
        sort->other != NULL && kl__node_get(target, sort->other) != NULL;
    size_t mark = kl__vet_into(vet, sort->member), inner;

    sort->check(vet, source);
    inner = kl__vet_into(vet, "target");
    check_aim(vet, target);
    if (!one && !other) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, sort->one, NULL, sort->missing);
    }
    if (one && other && sort->extra != NULL) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN, sort->member_extra, NULL,
                      sort->extra);
    }
    kl__vet_back(vet, inner);
    kl__vet_back(vet, mark);
}

static void check_metric(kl__vet *vet, const kl__node *metric)
{
    static const char *const types[] = {
        "ContainerResource", "External", "Object", "Pods", "Resource", NULL};
    const char *type = kl__vet_text(metric, "type");
    const metric_sort *own = NULL;
    size_t count = 0;

    if (*type == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "type", NULL,
                      "must specify a metric source type");
    }
    kl__vet_unsupported(vet, "type", type, types);
    for (size_t i = 0; i < SORTS; i++) {
        if (strcmp(sorts[i].type, type) == 0) {
            own = &sorts[i];
        }
        if (kl__node_get(metric, sorts[i].member) != NULL && count++ == 0) {
            check_metric_source(vet, metric, &sorts[i]);
        }
    }
    if (own != NULL && kl__node_get(metric, own->member) == NULL) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, own->member, NULL,
                      "must populate information for the given metric source");
    }
    for (size_t i = 0; i < SORTS && count > 1; i++) {
        if (&sorts[i] != own && kl__node_get(metric, sorts[i].member) != NULL) {
            kl__vet_fault(vet, KL__FIELD_FORBIDDEN, sorts[i].member, NULL,
                          "must populate the given metric source only");
        }
    }
}

static void check_metrics(kl__vet *vet, const kl__node *spec)
{
    const kl__node *least = kl__node_get(spec, "minReplicas"), *metric;
    const kl__node *list = kl__node_get(spec, "metrics");
    kl__node_iter iter = {0};
    bool is_outside = false;

    kl__vet_each(vet, spec, "metrics", check_metric);
    while ((metric = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        is_outside |= strcmp(kl__vet_text(metric, "type"), "Object") == 0 ||
                      strcmp(kl__vet_text(metric, "type"), "External") == 0;
    }
    if (least != NULL && kl__node_integer(least) == 0 && !is_outside) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN, "metrics", NULL,
                      "must specify at least one Object or External metric to "
                      "support scaling to zero replicas");
    }
}

/* --- Behavior. ------------------------------------------------------------ */

static void check_number(kl__vet *vet, const kl__node *policy,
                         const char *member, int64_t most)
{
    int64_t number = kl__node_integer(kl__node_get(policy, member));
    size_t mark = kl__vet_into(vet, member);
    char shown[32], why[60];

    snprintf(shown, sizeof(shown), "%lld", (long long)number);
    if (number <= 0) {
        kl__vet_shown(vet, KL__FIELD_INVALID, shown,
                      "must be greater than zero");
    } else if (number > most) {
        snprintf(why, sizeof(why), "must be less than or equal to %lld",
                 (long long)most);
        kl__vet_shown(vet, KL__FIELD_INVALID, shown, why);
    }
    kl__vet_back(vet, mark);
}

static void check_policy(kl__vet *vet, const kl__node *policy)
{
    static const char *const types[] = {"Percent", "Pods", NULL};

    kl__vet_unsupported(vet, "type", kl__vet_text(policy, "type"), types);
    check_number(vet, policy, "value", INT32_MAX);
    check_number(vet, policy, "periodSeconds", 1800);
}

static void check_rules(kl__vet *vet, const kl__node *rules)
{
    static const char *const choices[] = {"Disabled", "Max", "Min", NULL};
    static const char member[] = "stabilizationWindowSeconds";
    const kl__node *window = kl__node_get(rules, member);
    int64_t seconds = kl__node_integer(window);

    if (window != NULL && (seconds < 0 || seconds > 3600)) {
        kl__vet_value(vet, KL__FIELD_INVALID, member, window,
                      seconds < 0 ? "must be greater than or equal to zero"
                                  : "must be less than or equal to 3600");
    }
    kl__vet_enum(vet, rules, "selectPolicy", choices);
    if (kl__node_size(kl__node_get(rules, "policies")) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "policies", NULL,
                      "must specify at least one Policy");
    }
    kl__vet_each(vet, rules, "policies", check_policy);
}

static void check_behavior(kl__vet *vet, const kl__node *spec)
{
    static const char *const ways[] = {"scaleUp", "scaleDown"};
    const kl__node *behavior = kl__node_get(spec, "behavior");
    size_t outer = kl__vet_into(vet, "behavior");

    for (size_t i = 0; i < 2; i++) {
        const kl__node *rules = kl__node_get(behavior, ways[i]);
        size_t mark = kl__vet_into(vet, ways[i]);

        if (rules != NULL) {
            check_rules(vet, rules);
        }
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* --- Objects. ------------------------------------------------------------- */

void kl__vet_autoscaler(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec");
    const kl__node *least = kl__node_get(spec, "minReplicas");
    const kl__node *most = kl__node_get(spec, "maxReplicas");
    int64_t number = kl__node_integer(most);
    size_t mark = kl__vet_into(vet, "spec");
    kl__edit *edit = kl__edit_new(NULL);

    if (edit == NULL) {
        vet->errors->failed = true;
    } else if (most == NULL) {
        most = kl__edit_integer(edit, 0);
    }
    if (least != NULL && kl__node_integer(least) < 1) {
        kl__vet_value(vet, KL__FIELD_INVALID, "minReplicas", least,
                      "must be greater than or equal to 1");
    }
    if (number == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "maxReplicas", NULL,
                      "must be set and greater than 0");
    } else if (number < 0) {
        kl__vet_value(vet, KL__FIELD_INVALID, "maxReplicas", most,
                      "must be greater than or equal to 1");
    }
    if (least != NULL && number < kl__node_integer(least)) {
        kl__vet_value(vet, KL__FIELD_INVALID, "maxReplicas", most,
                      "must be greater than or equal to `minReplicas`");
    }
    check_target(vet, spec, "scaleTargetRef");
    check_metrics(vet, spec);
    check_behavior(vet, spec);
    kl__edit_free(edit);
    kl__vet_back(vet, mark);
}
