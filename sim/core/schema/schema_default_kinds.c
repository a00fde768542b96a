/*
 * schema_default_kinds.c - see schema_default.h: defaults that only an object
 * of a kind gets, but not a value of the same type inside another kind: a Job,
 * but not the job template of a CronJob.
 */
#include "sim/core/schema/schema_default.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/schema_leaf.h"

#include <string.h>

static bool is_given(const kl__node *node, const char *name)
{
    return kl__node_type(kl__node_get(node, name)) != KL_NULL;
}

/* Adds requests that are equal to the limits, for resources without a
 * request. */
static bool container_requests(kl__edit *edit, kl__node *container)
{
    kl__node *resources = kl__node_get(container, "resources");
    kl__node *limits = kl__node_get(resources, "limits");

    return kl__node_size(limits) == 0 ||
           kl__default_members(
               edit, kl__node_ensure(edit, resources, "requests"), limits);
}

/* For a pod with hostNetwork: sets hostPort to containerPort. */
static bool host_ports(kl__edit *edit, kl__node *container)
{
    kl__node *ports = kl__node_get(container, "ports");
    kl__node_iter iter = {0};
    kl__node *port;

    while ((port = kl__node_next(ports, &iter, NULL, NULL)) != NULL) {
        int64_t number = kl__node_integer(kl__node_get(port, "containerPort"));

        if (kl__node_integer(kl__node_get(port, "hostPort")) == 0 &&
            number != 0 &&
            !kl__node_put(edit, port, "hostPort",
                          kl__edit_integer(edit, number))) {
            return false;
        }
    }
    return true;
}

static bool pod_containers(kl__edit *edit, const kl__node *spec,
                           const char *name)
{
    bool host = kl__node_bool(kl__node_get(spec, "hostNetwork"));
    kl__node_iter iter = {0};
    kl__node *container;

    while ((container = kl__node_next(kl__node_get(spec, name), &iter, NULL,
                                      NULL)) != NULL) {
        if (!container_requests(edit, container) ||
            (host && !host_ports(edit, container))) {
            return false;
        }
    }
    return true;
}

static bool default_pod(kl__edit *edit, kl__node *object)
{
    kl__node *spec = kl__node_get(object, "spec");

    return pod_containers(edit, spec, "containers") &&
           pod_containers(edit, spec, "initContainers") &&
           kl__default_json(edit, spec, "enableServiceLinks", "true");
}

static bool service_ports(kl__edit *edit, kl__node *spec)
{
    kl__node_iter iter = {0};
    kl__node *port;

    while ((port = kl__node_next(kl__node_get(spec, "ports"), &iter, NULL,
                                 NULL)) != NULL) {
        const kl__node *target = kl__node_get(port, "targetPort");
        const char *text = kl__node_string(target, NULL);

        if ((text == NULL ? kl__node_integer(target) == 0 : *text == '\0') &&
            !kl__node_put(edit, port, "targetPort",
                          kl__edit_copy(edit, kl__node_get(port, "port")))) {
            return false;
        }
    }
    return true;
}

static bool service_affinity(kl__edit *edit, kl__node *spec)
{
    static const char *const timeout[] = {"sessionAffinityConfig", "clientIP",
                                          "timeoutSeconds", NULL};

    if (!kl__default_is(spec, "sessionAffinity", "ClientIP")) {
        if (kl__default_is(spec, "sessionAffinity", "None") ||
            !is_given(spec, "sessionAffinity")) {
            kl__node_remove(spec, "sessionAffinityConfig");
        }
        return true;
    }
    if (kl__node_type(kl__node_find(spec, timeout)) != KL_NULL) {
        return true;
    }
    kl__node_remove(spec, "sessionAffinityConfig");
    return kl__default_json(edit, spec, "sessionAffinityConfig",
                            "{\"clientIP\":{\"timeoutSeconds\":10800}}");
}

static bool default_service(kl__edit *edit, kl__node *object)
{
    static const char *const ingress[] = {"status", "loadBalancer", "ingress",
                                          NULL};
    kl__node *spec = kl__node_get(object, "spec");
    bool balancer = kl__default_is(spec, "type", "LoadBalancer");
    bool external = kl__default_is(spec, "type", "ExternalName");
    bool reachable =
        balancer || kl__default_is(spec, "type", "NodePort") ||
        (!external && kl__node_size(kl__node_get(spec, "externalIPs")) > 0);
    kl__node_iter iter = {0};
    kl__node *entry;

    if (!service_ports(edit, spec) || !service_affinity(edit, spec) ||
        (reachable &&
         !kl__default_text(edit, spec, "externalTrafficPolicy", "Cluster")) ||
        (!external &&
         !kl__default_text(edit, spec, "internalTrafficPolicy", "Cluster")) ||
        (balancer &&
         !kl__default_json(edit, spec, "allocateLoadBalancerNodePorts",
                           "true"))) {
        return false;
    }
    while (balancer && (entry = kl__node_next(kl__node_find(object, ingress),
                                              &iter, NULL, NULL)) != NULL) {
        if (kl__node_text(entry, "ip") != NULL &&
            !kl__default_text(edit, entry, "ipMode", "VIP")) {
            return false;
        }
    }
    return true;
}

/* Copies the labels of the template to an object without labels. *labels gets
 * those of the template, or NULL. */
static bool template_labels(kl__edit *edit, kl__node *object,
                            const kl__node **labels)
{
    static const char *const path[] = {"spec", "template", "metadata", "labels",
                                       NULL};

    *labels = kl__node_find(object, path);
    return kl__default_copy(edit, kl__node_get(object, "metadata"), "labels",
                            *labels);
}

static bool replication_controller(kl__edit *edit, kl__node *object)
{
    const kl__node *labels;

    return template_labels(edit, object, &labels) &&
           kl__default_copy(edit, kl__node_get(object, "spec"), "selector",
                            labels);
}

static bool default_job(kl__edit *edit, kl__node *object)
{
    kl__node *spec = kl__node_get(object, "spec");
    const kl__node *labels;

    if (!is_given(spec, "parallelism") &&
        !kl__default_json(edit, spec, "completions", "1")) {
        return false;
    }
    return template_labels(edit, object, &labels) &&
           kl__default_json(edit, spec, "parallelism", "1") &&
           kl__default_json(
               edit, spec, "backoffLimit",
               is_given(spec, "backoffLimitPerIndex") ? "2147483647" : "6") &&
           kl__default_json(edit, spec, "completionMode", "\"NonIndexed\"") &&
           kl__default_json(edit, spec, "suspend", "false") &&
           kl__default_json(edit, spec, "podReplacementPolicy",
                            is_given(spec, "podFailurePolicy")
                                ? "\"Failed\""
                                : "\"TerminatingOrFailed\"") &&
           kl__default_json(edit, spec, "manualSelector", "false");
}

/* Adds an empty rollingUpdate to an updateStrategy without a type; the
 * constants in it are set later. */
static bool stateful_set(kl__edit *edit, kl__node *object)
{
    kl__node *spec = kl__node_get(object, "spec");
    kl__node *strategy = kl__node_ensure(edit, spec, "updateStrategy");
    kl__node_iter iter = {0};
    kl__node *claim;

    if (strategy == NULL) {
        return false;
    }
    if (!is_given(strategy, "type") &&
        !kl__default_json(edit, strategy, "rollingUpdate", "{}")) {
        return false;
    }
    while ((claim = kl__node_next(kl__node_get(spec, "volumeClaimTemplates"),
                                  &iter, NULL, NULL)) != NULL) {
        if (!kl__default_text(edit, claim, "apiVersion", "v1") ||
            !kl__default_text(edit, claim, "kind", "PersistentVolumeClaim")) {
            return false;
        }
    }
    return kl__default_json(edit, spec, "persistentVolumeClaimRetentionPolicy",
                            "{}");
}

static bool persistent_volume(kl__edit *edit, kl__node *object)
{
    kl__node *spec = kl__node_get(object, "spec");

    return kl__default_text(edit, spec, "persistentVolumeReclaimPolicy",
                            "Retain") &&
           kl__default_text(edit, spec, "volumeMode", "Filesystem");
}

static bool network_policy(kl__edit *edit, kl__node *object)
{
    kl__node *spec = kl__node_get(object, "spec");

    if (kl__node_size(kl__node_get(spec, "policyTypes")) > 0) {
        return true;
    }
    kl__node_remove(spec, "policyTypes");
    return kl__default_json(edit, spec, "policyTypes",
                            kl__node_size(kl__node_get(spec, "egress")) > 0
                                ? "[\"Ingress\",\"Egress\"]"
                                : "[\"Ingress\"]");
}

static bool scaling_rules(kl__edit *edit, kl__node *behavior, const char *name,
                          const char *policies, bool up)
{
    kl__node *rules = kl__node_ensure(edit, behavior, name);

    return rules != NULL &&
           kl__default_json(edit, rules, "policies", policies) &&
           (!up ||
            kl__default_json(edit, rules, "stabilizationWindowSeconds", "0"));
}

static bool default_autoscaler(kl__edit *edit, kl__node *object)
{
    kl__node *behavior = kl__node_get(kl__node_get(object, "spec"), "behavior");

    return !kl__node_is(behavior, KL_OBJECT) ||
           (scaling_rules(edit, behavior, "scaleUp",
                          "[{\"type\":\"Pods\",\"value\":4,"
                          "\"periodSeconds\":15},{\"type\":\"Percent\","
                          "\"value\":100,\"periodSeconds\":15}]",
                          true) &&
            scaling_rules(edit, behavior, "scaleDown",
                          "[{\"type\":\"Percent\",\"value\":100,"
                          "\"periodSeconds\":15}]",
                          false));
}

/* Moves the members of stringData to data, encoded in base64. */
static bool default_secret(kl__edit *edit, kl__node *object)
{
    kl__node *texts = kl__node_remove(object, "stringData");
    kl__node *bytes;
    kl__node_iter iter = {0};
    const kl__node *text;
    const char *name;
    size_t length;

    if (kl__node_size(texts) == 0) {
        return true;
    }
    bytes = kl__edit_object(edit);
    while (bytes != NULL &&
           (text = kl__node_next(texts, &iter, &name, &length)) != NULL) {
        if (!kl__node_add_n(edit, bytes, name, length,
                            kl__leaf_base64(edit, text))) {
            return false;
        }
    }
    return kl__default_members(edit, bytes, kl__node_get(object, "data")) &&
           kl__node_put(edit, object, "data", bytes);
}

/* Sets podCIDR and podCIDRs from each other. If the first of podCIDRs is not
 * podCIDR, then podCIDR replaces the list. */
static bool default_node(kl__edit *edit, kl__node *object)
{
    kl__node *spec = kl__node_get(object, "spec");
    const char *range = kl__node_text(spec, "podCIDR");
    kl__node *ranges = kl__node_get(spec, "podCIDRs");
    const char *first = kl__node_string(kl__node_at(ranges, 0), NULL);

    if (range == NULL || *range == '\0') {
        return first == NULL || kl__default_text(edit, spec, "podCIDR", first);
    }
    if (first != NULL && strcmp(first, range) == 0) {
        return true;
    }
    ranges = kl__edit_array(edit);
    return ranges != NULL &&
           kl__node_append(ranges, kl__edit_text(edit, range)) &&
           kl__node_put(edit, spec, "podCIDRs", ranges);
}

/* Sets the label that has the namespace's name as its value. */
static bool name_space(kl__edit *edit, kl__node *object)
{
    kl__node *metadata = kl__node_get(object, "metadata");
    const char *name = kl__node_text(metadata, "name");

    return name == NULL || *name == '\0' ||
           kl__node_put(edit, kl__node_ensure(edit, metadata, "labels"),
                        "kubernetes.io/metadata.name",
                        kl__edit_text(edit, name));
}

/* Sets `singular` and `listKind`, which are made from the kind. */
static bool default_definition(kl__edit *edit, kl__node *object)
{
    kl__node *names = kl__node_get(kl__node_get(object, "spec"), "names");
    const char *kind = kl__node_text(names, "kind");
    char *lower, *list;
    bool done;

    if (kind == NULL || *kind == '\0') {
        return true;
    }
    lower = kl__strdup(kind);
    list = kl__strprintf("%sList", kind);
    for (char *at = lower; at != NULL && *at != '\0'; at++) {
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
    }
    done = lower != NULL && list != NULL &&
           kl__default_text(edit, names, "singular", lower) &&
           kl__default_text(edit, names, "listKind", list);
    kl__free(lower);
    kl__free(list);
    return done;
}

typedef struct rule {
    const char *type;
    bool (*complete)(kl__edit *edit, kl__node *object);
} rule;

static const rule rules[] = {
    {"io.k8s.api.core.v1.Namespace", name_space},
    {"io.k8s.api.core.v1.Node", default_node},
    {"io.k8s.api.core.v1.Secret", default_secret},
    {"io.k8s.api.core.v1.Pod", default_pod},
    {"io.k8s.api.core.v1.Service", default_service},
    {"io.k8s.api.core.v1.ReplicationController", replication_controller},
    {"io.k8s.api.core.v1.PersistentVolume", persistent_volume},
    {"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
     "CustomResourceDefinition",
     default_definition},
    {"io.k8s.api.apps.v1.StatefulSet", stateful_set},
    {"io.k8s.api.batch.v1.Job", default_job},
    {"io.k8s.api.networking.v1.NetworkPolicy", network_policy},
    {"io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler", default_autoscaler},
};

bool kl__default_kind(kl__edit *edit, kl__node *object,
                      const kl__schema *schema)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (strcmp(schema->name, rules[i].type) == 0) {
            return (kl__schema_get(schema, "spec", 4) != NULL &&
                    !kl__node_is(kl__node_get(object, "spec"), KL_OBJECT)) ||
                   rules[i].complete(edit, object);
        }
    }
    return true;
}
