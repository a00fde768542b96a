/*
 * sim_vet_apps.c - see sim_vet.h: validates Deployments, ReplicaSets,
 * DaemonSets and StatefulSets.
 */
#include "sim/core/vet/sim_vet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What differs between the kinds. */
typedef struct workload {
    const char *name;  /* its name in the message about an empty selector */
    const char *title; /* its name in the message about deadlines of pods */
} workload;

/* Checks the selector, which must not be empty. */
static void check_selector(kl__vet *vet, const kl__node *spec,
                           const workload *is)
{
    const kl__node *selector = kl__node_get(spec, "selector");
    char why[80];

    if (!kl__node_is(selector, KL_OBJECT)) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "selector", NULL, "");
        return;
    }
    kl__vet_selector(vet, spec, "selector");
    if (kl__node_size(kl__node_get(selector, "matchLabels")) +
            kl__node_size(kl__node_get(selector, "matchExpressions")) ==
        0) {
        snprintf(why, sizeof(why), "empty selector is invalid for %s",
                 is->name);
        kl__vet_value(vet, KL__FIELD_INVALID, "selector", selector, why);
    }
}

static void check_pods(kl__vet *vet, const kl__node *spec, const workload *is)
{
    static const char *const always[] = {"Always", NULL};
    const kl__node *template = kl__node_get(spec, "template");
    const kl__node *labels =
        kl__node_get(kl__node_get(template, "metadata"), "labels");
    const kl__node *pod = kl__node_get(template, "spec");
    char why[80];

    if (!kl__vet_selects(kl__node_get(spec, "selector"), labels)) {
        kl__vet_value(vet, KL__FIELD_INVALID, "template.metadata.labels",
                      labels, "`selector` does not match template `labels`");
    }
    kl__vet_template(vet, template, kl__node_get(spec, "volumeClaimTemplates"));
    if (*kl__vet_text(pod, "restartPolicy") != '\0') {
        kl__vet_unsupported(vet, "template.spec.restartPolicy",
                            kl__vet_text(pod, "restartPolicy"), always);
    }
    if (kl__node_get(pod, "activeDeadlineSeconds") != NULL) {
        snprintf(why, sizeof(why),
                 "activeDeadlineSeconds in %s is not Supported", is->title);
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN,
                      "template.spec.activeDeadlineSeconds", NULL, why);
    }
}

/* True if a value is absent, 0 or "0%". */
static bool is_zero(const kl__node *value)
{
    const char *text = kl__node_string(value, NULL);

    return text != NULL ? strtol(text, NULL, 10) == 0
                        : kl__node_integer(value) == 0;
}

static void check_rolling(kl__vet *vet, const kl__node *rolling)
{
    const kl__node *least = kl__node_get(rolling, "maxUnavailable");
    const char *text = kl__node_string(least, NULL);

    kl__vet_percent(vet, rolling, "maxUnavailable");
    kl__vet_percent(vet, rolling, "maxSurge");
    if (is_zero(least) && is_zero(kl__node_get(rolling, "maxSurge"))) {
        kl__vet_value(vet, KL__FIELD_INVALID, "maxUnavailable", least,
                      "may not be 0 when `maxSurge` is 0");
    }
    if (text != NULL && strtol(text, NULL, 10) > 100) {
        kl__vet_value(vet, KL__FIELD_INVALID, "maxUnavailable", least,
                      "must not be greater than 100%");
    }
}

static void check_strategy(kl__vet *vet, const kl__node *spec)
{
    const kl__node *strategy = kl__node_get(spec, "strategy");
    const kl__node *rolling = kl__node_get(strategy, "rollingUpdate");
    const char *type = kl__vet_text(strategy, "type");
    size_t outer, mark;

    if (strategy == NULL) {
        return;
    }
    outer = kl__vet_into(vet, "strategy");
    mark = kl__vet_into(vet, "rollingUpdate");
    if (strcmp(type, "Recreate") == 0 && rolling != NULL) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN, NULL, NULL,
                      "may not be specified when strategy `type` is "
                      "'Recreate'");
    } else if (strcmp(type, "RollingUpdate") == 0 && rolling != NULL) {
        check_rolling(vet, rolling);
    }
    kl__vet_back(vet, mark);
    kl__vet_back(vet, outer);
    if (strcmp(type, "Recreate") != 0 && strcmp(type, "RollingUpdate") != 0) {
        kl__vet_fault(vet, KL__FIELD_UNSUPPORTED, "strategy", type,
                      "supported values: \"Recreate\", \"RollingUpdate\"");
    }
}

void kl__vet_deployment(kl__vet *vet, const kl__node *object)
{
    static const workload is = {"deployment", "ReplicaSet"};
    const kl__node *spec = kl__node_get(object, "spec");
    const kl__node *deadline = kl__node_get(spec, "progressDeadlineSeconds");
    size_t mark = kl__vet_into(vet, "spec");

    kl__vet_not_negative(vet, spec, "replicas");
    check_selector(vet, spec, &is);
    check_pods(vet, spec, &is);
    check_strategy(vet, spec);
    kl__vet_not_negative(vet, spec, "minReadySeconds");
    kl__vet_not_negative(vet, spec, "revisionHistoryLimit");
    kl__vet_not_negative(vet, spec, "progressDeadlineSeconds");
    if (deadline != NULL &&
        kl__node_integer(deadline) <=
            kl__node_integer(kl__node_get(spec, "minReadySeconds"))) {
        kl__vet_value(vet, KL__FIELD_INVALID, "progressDeadlineSeconds",
                      deadline, "must be greater than minReadySeconds");
    }
    kl__vet_back(vet, mark);
}

void kl__vet_replica_set(kl__vet *vet, const kl__node *object)
{
    static const workload is = {"deployment", "ReplicaSet"};
    const kl__node *spec = kl__node_get(object, "spec");
    size_t mark = kl__vet_into(vet, "spec");

    kl__vet_not_negative(vet, spec, "replicas");
    kl__vet_not_negative(vet, spec, "minReadySeconds");
    check_selector(vet, spec, &is);
    check_pods(vet, spec, &is);
    kl__vet_back(vet, mark);
}

void kl__vet_daemon_set(kl__vet *vet, const kl__node *object)
{
    static const workload is = {"daemonset", "DaemonSet"};
    const kl__node *spec = kl__node_get(object, "spec");
    size_t mark = kl__vet_into(vet, "spec");

    check_selector(vet, spec, &is);
    check_pods(vet, spec, &is);
    kl__vet_not_negative(vet, spec, "minReadySeconds");
    kl__vet_not_negative(vet, spec, "revisionHistoryLimit");
    kl__vet_back(vet, mark);
}

void kl__vet_stateful_set(kl__vet *vet, const kl__node *object)
{
    static const workload is = {"statefulset", "StatefulSet"};
    const kl__node *spec = kl__node_get(object, "spec");
    const char *order = kl__vet_text(spec, "podManagementPolicy");
    size_t mark = kl__vet_into(vet, "spec");

    if (*order != '\0' && strcmp(order, "OrderedReady") != 0 &&
        strcmp(order, "Parallel") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "podManagementPolicy", order,
                      "must be 'OrderedReady' or 'Parallel'");
    }
    kl__vet_not_negative(vet, spec, "replicas");
    kl__vet_not_negative(vet, spec, "minReadySeconds");
    kl__vet_label(vet, spec, "serviceName");
    check_selector(vet, spec, &is);
    check_pods(vet, spec, &is);
    kl__vet_back(vet, mark);
}
