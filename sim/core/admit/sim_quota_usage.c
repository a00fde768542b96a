/*
 * sim_quota_usage.c - see sim_quota.h.
 */
#include "sim/core/admit/sim_quota.h"

#include "base/str.h"
#include "sim/core/schema/quantity.h"
#include "sim/core/schema/amounts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 600 };

static const char REQUESTS[] = "requests.", HUGE_PAGES[] = "hugepages-";
static const char CLASS[] = ".storageclass.storage.k8s.io/";

/* Resources of nodes; quotas count a pod's requests and limits for them. */
static const char *const node_resources[] = {"cpu", "memory",
                                             "ephemeral-storage"};
static const char *const claim_resources[] = {"persistentvolumeclaims",
                                              "requests.storage"};
static const char *const service_resources[] = {
    "services", "services.loadbalancers", "services.nodeports"};
/* Kinds of the core group that also count by their plain name. */
static const char *const plain[] = {"configmaps", "resourcequotas",
                                    "replicationcontrollers", "secrets",
                                    "pods"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_core(const kl__sim_kind *kind, const char *plural)
{
    return !kl__sim_kind_is(kind, KL__SIM_CUSTOM) && *kind->group == '\0' &&
           strcmp(kind->plural, plural) == 0;
}

/* Writes "count/pods", "count/deployments.apps". */
static void name_count(const kl__sim_kind *kind, char *name)
{
    snprintf(name, NAME_SIZE, "count/%s%s%s", kind->plural,
             *kind->group != '\0' ? "." : "", kind->group);
}

/* --- Names. --------------------------------------------------------------- */

/* True for resources such as "nvidia.com/gpu", outside of Kubernetes' own
 * domains. */
static bool is_extended(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash != NULL && strstr(name, "kubernetes.io/") == NULL;
}

static bool counts_for_pods(const char *name)
{
    const char *rest = name;

    if (strncmp(name, REQUESTS, sizeof(REQUESTS) - 1) == 0) {
        rest = name + sizeof(REQUESTS) - 1;
        if (is_extended(rest)) {
            return true;
        }
    } else if (strncmp(name, "limits.", 7) == 0) {
        return kl__stramong(node_resources, COUNT(node_resources), name + 7);
    }
    return kl__stramong(node_resources, COUNT(node_resources), rest) ||
           strncmp(rest, HUGE_PAGES, sizeof(HUGE_PAGES) - 1) == 0;
}

static bool counts_for_claims(const char *name)
{
    const char *class = strstr(name, CLASS);

    return kl__stramong(claim_resources, COUNT(claim_resources),
                        class != NULL ? class + sizeof(CLASS) - 1 : name);
}

bool kl__sim_quota_counts(const kl__sim_kind *kind, const char *resource)
{
    char count[NAME_SIZE];

    name_count(kind, count);
    if (strcmp(resource, count) == 0) {
        return true;
    }
    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM) || *kind->group != '\0') {
        return false;
    }
    if (is_core(kind, "services")) {
        return kl__stramong(service_resources, COUNT(service_resources),
                            resource);
    }
    if (is_core(kind, "persistentvolumeclaims")) {
        return counts_for_claims(resource);
    }
    return (kl__stramong(plain, COUNT(plain), kind->plural) &&
            strcmp(resource, kind->plural) == 0) ||
           (is_core(kind, "pods") && counts_for_pods(resource));
}

kl__node *kl__sim_quota_mask(kl__edit *edit, const kl__sim_kind *kind,
                             const kl__node *list)
{
    kl__node *mask = kl__edit_object(edit);
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;

    while (mask != NULL &&
           (value = kl__node_next(list, &iter, &name, NULL)) != NULL) {
        if (kl__sim_quota_counts(kind, name) &&
            !kl__node_put(edit, mask, name, kl__edit_copy(edit, value))) {
            mask = NULL;
        }
    }
    return mask;
}

/* --- Scopes. -------------------------------------------------------------- */

static bool is_best_effort(const kl__node *pod)
{
    static const char *const lists[] = {"containers", "initContainers"};
    static const char *const members[] = {"requests", "limits"};
    static const char *const names[] = {"cpu", "memory"};
    const kl__node *spec = kl__node_get(pod, "spec");

    for (size_t i = 0; i < 8; i++) {
        const kl__node *list = kl__node_get(spec, lists[i / 4]), *container;
        kl__node_iter iter = {0};

        while ((container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
            const char *amount =
                kl__amount(kl__node_get(kl__node_get(container, "resources"),
                                        members[i / 2 % 2]),
                           names[i % 2]);

            if (amount != NULL && kl__quantity_compare(amount, "0") > 0) {
                return false;
            }
        }
    }
    return true;
}

/* True if a list of affinity terms reaches into other namespaces. */
static bool terms_cross(const kl__node *terms, bool weighted)
{
    kl__node_iter iter = {0};
    const kl__node *term;

    while ((term = kl__node_next(terms, &iter, NULL, NULL)) != NULL) {
        term = weighted ? kl__node_get(term, "podAffinityTerm") : term;
        if (kl__node_size(kl__node_get(term, "namespaces")) != 0 ||
            kl__node_get(term, "namespaceSelector") != NULL) {
            return true;
        }
    }
    return false;
}

static bool crosses_namespaces(const kl__node *pod)
{
    static const char *const sides[] = {"podAffinity", "podAntiAffinity"};
    const kl__node *affinity =
        kl__node_get(kl__node_get(pod, "spec"), "affinity");

    for (size_t i = 0; i < 2; i++) {
        const kl__node *side = kl__node_get(affinity, sides[i]);

        if (terms_cross(
                kl__node_get(side,
                             "requiredDuringSchedulingIgnoredDuringExecution"),
                false) ||
            terms_cross(
                kl__node_get(side,
                             "preferredDuringSchedulingIgnoredDuringExecution"),
                true)) {
            return true;
        }
    }
    return false;
}

/* True if a name fits In, NotIn, Exists or DoesNotExist; NULL: no name. */
static bool fits_selector(const kl__node *selector, const char *name)
{
    const char *way = kl__node_text(selector, "operator");
    kl__node_iter iter = {0};
    const kl__node *value;
    bool is_listed = false;

    while ((value = kl__node_next(kl__node_get(selector, "values"), &iter, NULL,
                                  NULL)) != NULL) {
        const char *text = kl__node_string(value, NULL);

        is_listed |= name != NULL && text != NULL && strcmp(name, text) == 0;
    }
    return way == NULL || strcmp(way, "Exists") == 0 ? name != NULL
           : strcmp(way, "DoesNotExist") == 0        ? name == NULL
           : strcmp(way, "NotIn") == 0               ? !is_listed
                                                     : is_listed;
}

static const char *or_null(const char *text)
{
    return text != NULL && *text != '\0' ? text : NULL;
}

/* True if a pod is in a scope. `selector` is NULL for a scope of spec.scopes,
 * which is a name only. */
static bool pod_is_in(const char *scope, const kl__node *selector,
                      const kl__node *pod)
{
    const kl__node *spec = kl__node_get(pod, "spec");
    bool ends = kl__node_get(spec, "activeDeadlineSeconds") != NULL;

    if (strcmp(scope, "Terminating") == 0) {
        return ends;
    }
    if (strcmp(scope, "NotTerminating") == 0) {
        return !ends;
    }
    if (strcmp(scope, "BestEffort") == 0) {
        return is_best_effort(pod);
    }
    if (strcmp(scope, "NotBestEffort") == 0) {
        return !is_best_effort(pod);
    }
    if (strcmp(scope, "PriorityClass") == 0) {
        return fits_selector(selector,
                             or_null(kl__node_text(spec, "priorityClassName")));
    }
    return strcmp(scope, "CrossNamespacePodAffinity") == 0 &&
           crosses_namespaces(pod);
}

static bool claim_is_in(const char *scope, const kl__node *selector,
                        const kl__node *claim)
{
    const char *class =
        kl__node_text(kl__node_get(claim, "spec"), "volumeAttributesClassName");

    return strcmp(scope, "VolumeAttributesClass") == 0 &&
           fits_selector(selector, or_null(class));
}

static bool is_in(const char *scope, const kl__node *selector,
                  const kl__sim_kind *kind, const kl__node *object)
{
    if (scope == NULL) {
        return false;
    }
    return is_core(kind, "pods") ? pod_is_in(scope, selector, object)
                                 : is_core(kind, "persistentvolumeclaims") &&
                                       claim_is_in(scope, selector, object);
}

bool kl__sim_quota_selects(const kl__node *spec, const kl__sim_kind *kind,
                           const kl__node *object)
{
    const kl__node *selectors =
        kl__node_get(kl__node_get(spec, "scopeSelector"), "matchExpressions");
    kl__node_iter scopes = {0}, iter = {0};
    const kl__node *scope;

    while ((scope = kl__node_next(kl__node_get(spec, "scopes"), &scopes, NULL,
                                  NULL)) != NULL) {
        if (!is_in(kl__node_string(scope, NULL), NULL, kind, object)) {
            return false;
        }
    }
    while ((scope = kl__node_next(selectors, &iter, NULL, NULL)) != NULL) {
        if (!is_in(kl__node_text(scope, "scopeName"), scope, kind, object)) {
            return false;
        }
    }
    return true;
}

/* --- Usage. --------------------------------------------------------------- */

static bool put_usage(kl__edit *edit, kl__node *usage, const char *name,
                      size_t number)
{
    char text[32], amount[KL__QUANTITY_SIZE] = "0";

    snprintf(text, sizeof(text), "%zu", number);
    kl__quantity_canonical(text, strlen(text), -9, amount);
    return kl__amount_put(edit, usage, name, amount);
}

static bool put_prefixed(kl__edit *edit, kl__node *usage, const char *prefix,
                         const char *name, const char *amount)
{
    const char *const parts[] = {prefix, name, ""};
    char full[NAME_SIZE];

    /* No quota can have such a long name, so it is not counted. */
    return !kl__strjoin(full, sizeof(full), parts) ||
           kl__amount_put(edit, usage, full, amount);
}

/* Adds what a pod requests, under the names that quotas use. */
static bool use_requests(kl__edit *edit, kl__node *usage,
                         const kl__node *requests)
{
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;

    while ((value = kl__node_next(requests, &iter, &name, NULL)) != NULL) {
        const char *amount = kl__node_string(value, NULL);
        bool is_own =
            kl__stramong(node_resources, COUNT(node_resources), name) ||
            strncmp(name, HUGE_PAGES, sizeof(HUGE_PAGES) - 1) == 0;

        if (is_own && !kl__amount_put(edit, usage, name, amount)) {
            return false;
        }
        if ((is_own || is_extended(name)) &&
            !put_prefixed(edit, usage, REQUESTS, name, amount)) {
            return false;
        }
    }
    return true;
}

static bool use_pod(kl__edit *edit, kl__node *usage, const kl__node *pod)
{
    const kl__node *spec = kl__node_get(pod, "spec");
    const char *phase = kl__node_text(kl__node_get(pod, "status"), "phase");
    const kl__node *requests, *limits;

    if (phase != NULL &&
        (strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0)) {
        /* the pod has ended: it counts as an object, but uses nothing */
        return true;
    }
    requests = kl__pod_amounts(edit, spec, "requests", true);
    limits = kl__pod_amounts(edit, spec, "limits", true);
    if (requests == NULL || limits == NULL ||
        !put_usage(edit, usage, "pods", 1) ||
        !use_requests(edit, usage, requests)) {
        return false;
    }
    for (size_t i = 0; i < COUNT(node_resources); i++) {
        const char *amount = kl__amount(limits, node_resources[i]);

        if (amount != NULL &&
            !put_prefixed(edit, usage, "limits.", node_resources[i], amount)) {
            return false;
        }
    }
    return true;
}

static bool use_service(kl__edit *edit, kl__node *usage,
                        const kl__node *service)
{
    const kl__node *spec = kl__node_get(service, "spec");
    const kl__node *ports = kl__node_get(spec, "ports"), *port;
    const kl__node *allocates =
        kl__node_get(spec, "allocateLoadBalancerNodePorts");
    const char *type = kl__node_text(spec, "type");
    bool is_balancer = type != NULL && strcmp(type, "LoadBalancer") == 0;
    size_t count = 0;
    kl__node_iter iter = {0};

    if (is_balancer && allocates != NULL && !kl__node_bool(allocates)) {
        while ((port = kl__node_next(ports, &iter, NULL, NULL)) != NULL) {
            count += kl__node_integer(kl__node_get(port, "nodePort")) != 0;
        }
    } else if (is_balancer || (type != NULL && strcmp(type, "NodePort") == 0)) {
        count = kl__node_size(ports);
    }
    return put_usage(edit, usage, "services", 1) &&
           put_usage(edit, usage, "services.loadbalancers", is_balancer) &&
           put_usage(edit, usage, "services.nodeports", count);
}

static bool use_claim(kl__edit *edit, kl__node *usage, const kl__node *claim)
{
    static const char *const path[] = {"resources", "requests", "storage",
                                       NULL};
    const kl__node *spec = kl__node_get(claim, "spec");
    const char *class = kl__node_text(spec, "storageClassName");
    const char *storage = kl__node_string(kl__node_find(spec, path), NULL);
    char prefix[NAME_SIZE], rounded[KL__QUANTITY_SIZE];

    snprintf(prefix, sizeof(prefix), "%.253s%s", class != NULL ? class : "",
             CLASS);
    if (!put_usage(edit, usage, claim_resources[0], 1) ||
        (or_null(class) != NULL &&
         !put_prefixed(edit, usage, prefix, claim_resources[0], "1"))) {
        return false;
    }
    if (storage == NULL ||
        kl__quantity_canonical(storage, strlen(storage), 0, rounded) != NULL) {
        return true;
    }
    return kl__amount_put(edit, usage, claim_resources[1], rounded) &&
           (or_null(class) == NULL ||
            put_prefixed(edit, usage, prefix, claim_resources[1], rounded));
}

kl__node *kl__sim_quota_usage(kl__edit *edit, const kl__sim_kind *kind,
                              const kl__node *object)
{
    kl__node *usage = kl__edit_object(edit);
    char name[NAME_SIZE];
    bool done = usage != NULL;

    name_count(kind, name);
    done = done && put_usage(edit, usage, name, 1);
    if (done && is_core(kind, "pods")) {
        done = use_pod(edit, usage, object);
    } else if (done && is_core(kind, "services")) {
        done = use_service(edit, usage, object);
    } else if (done && is_core(kind, "persistentvolumeclaims")) {
        done = use_claim(edit, usage, object);
    } else if (done && *kind->group == '\0' &&
               !kl__sim_kind_is(kind, KL__SIM_CUSTOM) &&
               kl__stramong(plain, COUNT(plain), kind->plural)) {
        done = put_usage(edit, usage, kind->plural, 1);
    }
    return done ? usage : NULL;
}
