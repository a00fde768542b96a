/*
 * sim_vet_quota.c - see sim_vet.h: validates ResourceQuotas and LimitRanges.
 */
#include "sim/core/vet/sim_vet.h"

#include "base/str.h"
#include "sim/core/schema/quantity.h"
#include "sim/core/answer/sim_labels.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- Names of resources. -------------------------------------------------- */

/* Resources that are counted in whole numbers. */
static const char *const counted[] = {"pods",
                                      "resourcequotas",
                                      "services",
                                      "replicationcontrollers",
                                      "secrets",
                                      "configmaps",
                                      "persistentvolumeclaims",
                                      "services.nodeports",
                                      "services.loadbalancers"};
/* Resources that pods use, with requests and limits. The first three are the
 * names that a container may use. */
static const char *const taken[] = {
    "cpu",          "memory",          "ephemeral-storage",
    "requests.cpu", "requests.memory", "requests.ephemeral-storage",
    "limits.cpu",   "limits.memory",   "limits.ephemeral-storage"};

static bool is_huge_page(const char *name)
{
    return strncmp(name, "hugepages-", 10) == 0 ||
           strncmp(name, "requests.hugepages-", 19) == 0;
}

/* True if a quota can limit a resource of that name. */
static bool is_of_quotas(const char *name)
{
    return kl__stramong(counted, COUNT(counted), name) ||
           kl__stramong(taken, COUNT(taken), name) ||
           strcmp(name, "requests.storage") == 0 || is_huge_page(name);
}

static bool is_qualified(kl__vet *vet, const char *member, const char *name)
{
    kl__sim_faults faults = kl__sim_key_faults(name);

    for (size_t i = 0; i < faults.count; i++) {
        kl__vet_fault(vet, KL__FIELD_INVALID, member, name, faults.texts[i]);
    }
    return faults.count == 0;
}

/* Checks the name of a resource, the current value. False: it does not have the
 * form of a name. */
static bool check_resource(kl__vet *vet, const char *name)
{
    if (!is_qualified(vet, NULL, name)) {
        return false;
    }
    if (strchr(name, '/') == NULL && !is_of_quotas(name) &&
        strcmp(name, "storage") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, name,
                      "must be a standard resource type or fully qualified");
    }
    return true;
}

static bool is_extended(const char *name)
{
    return strchr(name, '/') != NULL &&
           strstr(name, "kubernetes.io/") == NULL &&
           strncmp(name, "requests.", 9) != 0;
}

/* --- Amounts of quotas. --------------------------------------------------- */

static void check_amount(kl__vet *vet, const char *name, const char *amount)
{
    char whole[KL__QUANTITY_SIZE];

    check_resource(vet, name);
    if (strchr(name, '/') == NULL && !is_of_quotas(name)) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, name,
                      "must be a standard resource for quota");
    }
    if (kl__quantity_compare(amount, "0") < 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, amount,
                      "must be greater than or equal to 0");
    }
    if ((kl__stramong(counted, COUNT(counted), name) || is_extended(name)) &&
        kl__quantity_canonical(amount, strlen(amount), 0, whole) == NULL &&
        kl__quantity_compare(amount, whole) != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, amount,
                      "must be an integer");
    }
}

static void check_amounts(kl__vet *vet, const kl__node *object,
                          const char *member)
{
    const kl__node *list = kl__node_get(object, member), *value;
    size_t outer = kl__vet_into(vet, member);
    kl__node_iter iter = {0};
    const char *name;

    while ((value = kl__node_next(list, &iter, &name, NULL)) != NULL) {
        const char *amount = kl__node_string(value, NULL);
        size_t mark = kl__vet_key(vet, name);

        check_amount(vet, name, amount != NULL ? amount : "0");
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* --- Scopes. -------------------------------------------------------------- */

static const char *const scopes[] = {
    "Terminating",          "NotTerminating", "BestEffort",
    "NotBestEffort",        "PriorityClass",  "CrossNamespacePodAffinity",
    "VolumeAttributesClass"};

/* True if a quota with this scope can limit that resource, or if the scope is
 * unknown. */
static bool is_for(const char *scope, const char *resource)
{
    static const char *const compute[] = {"cpu",          "memory",
                                          "limits.cpu",   "limits.memory",
                                          "requests.cpu", "requests.memory"};

    if (!kl__stramong(scopes, COUNT(scopes), scope)) {
        return true;
    }
    if (strcmp(scope, "VolumeAttributesClass") == 0) {
        return strcmp(resource, "persistentvolumeclaims") == 0 ||
               strcmp(resource, "requests.storage") == 0;
    }
    return strcmp(resource, "pods") == 0 ||
           (strcmp(scope, "BestEffort") != 0 &&
            kl__stramong(compute, COUNT(compute), resource));
}

/* Adds an error about `member` for each resource in the quota that does not fit
 * the scope. The message shows `shown`. */
static void check_for(kl__vet *vet, const kl__node *spec, const char *scope,
                      const char *member, const kl__node *shown)
{
    kl__node_iter iter = {0};
    const char *name;

    while (kl__node_next(kl__node_get(spec, "hard"), &iter, &name, NULL) !=
           NULL) {
        if (is_of_quotas(name) && !is_for(scope, name)) {
            kl__vet_value(vet, KL__FIELD_INVALID, member, shown,
                          "unsupported scope applied to resource");
        }
    }
}

/* True if two scopes exclude each other. */
static bool scopes_conflict(const bool *found)
{
    return (found[0] && found[1]) || (found[2] && found[3]);
}

static void note_scope(bool *found, const char *scope)
{
    for (size_t i = 0; i < COUNT(scopes); i++) {
        found[i] |= strcmp(scopes[i], scope) == 0;
    }
}

static void check_scopes(kl__vet *vet, const kl__node *spec)
{
    const kl__node *list = kl__node_get(spec, "scopes"), *element;
    bool found[COUNT(scopes)] = {false};
    kl__node_iter iter = {0};

    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *scope = kl__node_string(element, NULL);

        scope = scope != NULL ? scope : "";
        if (!kl__stramong(scopes, COUNT(scopes), scope)) {
            kl__vet_value(vet, KL__FIELD_INVALID, "scopes", list,
                          "unsupported scope");
        }
        check_for(vet, spec, scope, "scopes", list);
        note_scope(found, scope);
    }
    if (scopes_conflict(found)) {
        kl__vet_value(vet, KL__FIELD_INVALID, "scopes", list,
                      "conflicting scopes");
    }
}

static void check_operator(kl__vet *vet, const kl__node *selector)
{
    const char *way = kl__vet_text(selector, "operator");
    const char *scope = kl__vet_text(selector, "scopeName");
    const kl__node *values = kl__node_get(selector, "values");

    if (strcmp(scope, "PriorityClass") != 0 &&
        strcmp(scope, "VolumeAttributesClass") != 0 &&
        kl__stramong(scopes, COUNT(scopes), scope) &&
        strcmp(way, "Exists") != 0) {
        kl__vet_fault(
            vet, KL__FIELD_INVALID, "operator", way,
            "must be 'Exists' when scope is any of "
            "ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
            "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
            "ResourceQuotaScopeCrossNamespacePodAffinity");
    }
    if (strcmp(way, "In") == 0 || strcmp(way, "NotIn") == 0) {
        if (kl__node_size(values) == 0) {
            kl__vet_fault(vet, KL__FIELD_REQUIRED, "values", NULL,
                          "must be at least one value when `operator` is 'In' "
                          "or 'NotIn' for scope selector");
        }
    } else if (strcmp(way, "Exists") == 0 || strcmp(way, "DoesNotExist") == 0) {
        if (kl__node_size(values) != 0) {
            kl__vet_value(vet, KL__FIELD_INVALID, "values", values,
                          "must be no value when `operator` is 'Exist' or "
                          "'DoesNotExist' for scope selector");
        }
    } else {
        kl__vet_fault(vet, KL__FIELD_INVALID, "operator", way,
                      "not a valid selector operator");
    }
}

static void check_selector(kl__vet *vet, const kl__node *spec)
{
    const kl__node *whole = kl__node_get(spec, "scopeSelector"), *selector;
    const kl__node *list = kl__node_get(whole, "matchExpressions");
    bool found[COUNT(scopes)] = {false};
    size_t outer = kl__vet_into(vet, "scopeSelector");
    kl__node_iter iter = {0};

    kl__vet_into(vet, "matchExpressions");
    while ((selector = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *scope = kl__vet_text(selector, "scopeName");

        if (!kl__stramong(scopes, COUNT(scopes), scope)) {
            kl__vet_fault(vet, KL__FIELD_INVALID, "scopeName", scope,
                          "unsupported scope");
        }
        check_for(vet, spec, scope, NULL, whole);
        check_operator(vet, selector);
        note_scope(found, scope);
    }
    if (scopes_conflict(found)) {
        kl__vet_value(vet, KL__FIELD_INVALID, NULL,
                      kl__node_get(spec, "scopes"), "conflicting scopes");
    }
    kl__vet_back(vet, outer);
}

void kl__vet_quota(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec");
    size_t mark = kl__vet_into(vet, "spec");

    check_amounts(vet, spec, "hard");
    check_scopes(vet, spec);
    check_selector(vet, spec);
    kl__vet_back(vet, mark);
}

void kl__vet_quota_status(kl__vet *vet, const kl__node *object)
{
    const kl__node *status = kl__node_get(object, "status");
    size_t mark = kl__vet_into(vet, "status");

    check_amounts(vet, status, "hard");
    check_amounts(vet, status, "used");
    kl__vet_back(vet, mark);
}

/* --- LimitRanges. --------------------------------------------------------- */

static void check_limit_type(kl__vet *vet, const char *type, kl__map *types)
{
    static const char *const standard[] = {"Pod", "Container",
                                           "PersistentVolumeClaim"};

    if (is_qualified(vet, "type", type) && strchr(type, '/') == NULL &&
        !kl__stramong(standard, COUNT(standard), type)) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "type", type,
                      "must be a standard limit type or fully qualified");
    }
    kl__vet_unique(vet, types, "type", type);
}

/* Checks the names of resources in a member. */
static void check_names(kl__vet *vet, const kl__node *limit, const char *member)
{
    const char *type = kl__vet_text(limit, "type");
    bool contains = strcmp(type, "Pod") == 0 || strcmp(type, "Container") == 0;
    size_t outer = kl__vet_into(vet, member);
    kl__node_iter iter = {0};
    const char *name;

    while (kl__node_next(kl__node_get(limit, member), &iter, &name, NULL) !=
           NULL) {
        size_t mark = kl__vet_key(vet, name);

        if (check_resource(vet, name) && contains &&
            strchr(name, '/') == NULL && !kl__stramong(taken, 3, name) &&
            strncmp(name, "hugepages-", 10) != 0) {
            kl__vet_fault(vet, KL__FIELD_INVALID, NULL, name,
                          "must be a standard resource for containers");
        }
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* For each resource of a limit, the amount `low` must not exceed the amount
 * `high`. Otherwise the error is about `member`, and shows the amount
 * `shown`. */
static const struct {
    const char *low;
    const char *high;
    const char *member;
    const char *shown;
    const char *words;
} orders[] = {
    {"min", "max", "min", "min", "min value %s is greater than max value %s"},
    {"min", "defaultRequest", "defaultRequest", "defaultRequest",
     "min value %s is greater than default request value %s"},
    {"defaultRequest", "max", "defaultRequest", "defaultRequest",
     "default request value %s is greater than max value %s"},
    {"defaultRequest", "default", "defaultRequest", "defaultRequest",
     "default request value %s is greater than default limit value %s"},
    {"min", "default", "default", "min",
     "min value %s is greater than default value %s"},
    {"default", "max", "default", "max",
     "default value %s is greater than max value %s"}};

static const char *amount_of(const kl__node *limit, const char *member,
                             const char *name)
{
    return kl__node_text(kl__node_get(limit, member), name);
}

static void refuse_resource(kl__vet *vet, const char *member, const char *name,
                            const char *shown, const char *why)
{
    size_t outer = kl__vet_into(vet, member);
    size_t mark = kl__vet_key(vet, name);

    kl__vet_fault(vet, KL__FIELD_INVALID, NULL, shown, why);
    kl__vet_back(vet, mark);
    kl__vet_back(vet, outer);
}

static void check_ratio(kl__vet *vet, const kl__node *limit, const char *name)
{
    const char *ratio = amount_of(limit, "maxLimitRequestRatio", name);
    const char *least = amount_of(limit, "min", name);
    const char *most = amount_of(limit, "max", name);
    char why[200];
    double room;

    if (ratio == NULL) {
        return;
    }
    if (kl__quantity_compare(ratio, "1") < 0) {
        snprintf(why, sizeof(why), "ratio %s is less than 1", ratio);
        refuse_resource(vet, "maxLimitRequestRatio", name, ratio, why);
    }
    if (least == NULL || most == NULL) {
        return;
    }
    room = kl__quantity_real(most) / kl__quantity_real(least);
    if (kl__quantity_real(ratio) > room) {
        snprintf(why, sizeof(why), "ratio %s is greater than max/min = %f",
                 ratio, room);
        refuse_resource(vet, "maxLimitRequestRatio", name, ratio, why);
    }
}

/* Compares the amounts of one resource with each other. */
static void check_orders(kl__vet *vet, const kl__node *limit, const char *name)
{
    char why[300];

    for (size_t i = 0; i < COUNT(orders); i++) {
        const char *low = amount_of(limit, orders[i].low, name);
        const char *high = amount_of(limit, orders[i].high, name);

        if (low != NULL && high != NULL &&
            kl__quantity_compare(low, high) > 0) {
            /* The format string is a constant in the table `orders`. */
            snprintf(why, sizeof(why), orders[i].words, low, high);
            refuse_resource(vet, orders[i].member, name,
                            amount_of(limit, orders[i].shown, name), why);
        }
    }
    check_ratio(vet, limit, name);
}

static void check_limit(kl__vet *vet, const kl__node *limit)
{
    static const char *const members[] = {
        "max", "min", "default", "defaultRequest", "maxLimitRequestRatio"};
    const char *type = kl__vet_text(limit, "type");
    bool is_pod = strcmp(type, "Pod") == 0;
    kl__map seen = {0};

    for (size_t i = 0; i < COUNT(members); i++) {
        if (is_pod && (i == 2 || i == 3)) {
            if (kl__node_size(kl__node_get(limit, members[i])) != 0) {
                kl__vet_fault(vet, KL__FIELD_FORBIDDEN, members[i], NULL,
                              "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        if (i == 4 && strcmp(type, "PersistentVolumeClaim") == 0 &&
            amount_of(limit, "min", "storage") == NULL &&
            amount_of(limit, "max", "storage") == NULL) {
            kl__vet_fault(vet, KL__FIELD_REQUIRED, "limits", NULL,
                          "either minimum or maximum storage value is "
                          "required, but neither was provided");
        }
        check_names(vet, limit, members[i]);
    }
    for (size_t i = 0; i < COUNT(members); i++) {
        kl__node_iter iter = {0};
        const char *name;

        while (!(is_pod && (i == 2 || i == 3)) &&
               kl__node_next(kl__node_get(limit, members[i]), &iter, &name,
                             NULL) != NULL) {
            if (kl__map_get(&seen, name) == NULL) {
                vet->errors->failed |= !kl__map_put(&seen, name, &seen, NULL);
                check_orders(vet, limit, name);
            }
        }
    }
    kl__map_deinit(&seen);
}

void kl__vet_limit_range(kl__vet *vet, const kl__node *object)
{
    const kl__node *list = kl__node_get(kl__node_get(object, "spec"), "limits");
    size_t outer = kl__vet_into(vet, "spec"), index = 0;
    kl__node_iter iter = {0};
    const kl__node *limit;
    kl__map types = {0};

    kl__vet_into(vet, "limits");
    while ((limit = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_limit_type(vet, kl__vet_text(limit, "type"), &types);
        check_limit(vet, limit);
        kl__vet_back(vet, mark);
    }
    kl__map_deinit(&types);
    kl__vet_back(vet, outer);
}
