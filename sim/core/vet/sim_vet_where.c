/*
 * sim_vet_where.c - see sim_vet.h: validates the parts of a PodSpec that decide
 * on which nodes pods may run: affinity, spread, tolerations, gates.
 */
#include "sim/core/vet/sim_vet.h"

#include "sim/core/answer/sim_labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char REQUIRED[] = "requiredDuringSchedulingIgnoredDuringExecution";
static const char PREFERRED[] =
    "preferredDuringSchedulingIgnoredDuringExecution";

/* --- Nodes. --------------------------------------------------------------- */

static void check_field(kl__vet *vet, const kl__node *field)
{
    const char *way = kl__vet_text(field, "operator");
    const char *key = kl__vet_text(field, "key");
    const kl__node *values = kl__node_get(field, "values"), *value;
    size_t outer, index = 0;
    kl__node_iter iter = {0};

    if (strcmp(way, "In") != 0 && strcmp(way, "NotIn") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "operator", way,
                      "not a valid selector operator");
    } else if (kl__node_size(values) != 1) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "values", NULL,
                      "must be only one value when `operator` is 'In' or "
                      "'NotIn' for node field selector");
    }
    if (strcmp(key, "metadata.name") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "key", key,
                      "not a valid field selector key");
        return;
    }
    outer = kl__vet_into(vet, "values");
    while ((value = kl__node_next(values, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        kl__vet_dns(vet, NULL, kl__node_string(value, NULL));
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

static void check_node_term(kl__vet *vet, const kl__node *term)
{
    static const char *const operators[] = {
        "In", "NotIn", "Exists", "DoesNotExist", "Lt", "Gt", NULL};

    kl__vet_expressions(vet, term, operators);
    kl__vet_each(vet, term, "matchFields", check_field);
}

void kl__vet_node_terms(kl__vet *vet, const kl__node *object,
                        const char *member)
{
    const kl__node *selector = kl__node_get(object, member);
    size_t mark;

    if (selector == NULL) {
        return;
    }
    mark = kl__vet_into(vet, member);
    if (kl__node_size(kl__node_get(selector, "nodeSelectorTerms")) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "nodeSelectorTerms", NULL,
                      "must have at least one node selector term");
    }
    kl__vet_each(vet, selector, "nodeSelectorTerms", check_node_term);
    kl__vet_back(vet, mark);
}

/* A weight must be 1 to 100. An absent weight counts as 0. */
static void check_weight(kl__vet *vet, const kl__node *term)
{
    const kl__node *weight = kl__node_get(term, "weight");
    int64_t number = kl__node_integer(weight);

    if (number < 1 || number > 100) {
        size_t mark = kl__vet_into(vet, "weight");
        char shown[32];

        snprintf(shown, sizeof(shown), "%lld", (long long)number);
        kl__vet_shown(vet, KL__FIELD_INVALID, shown,
                      "must be in the range 1-100");
        kl__vet_back(vet, mark);
    }
}

static void check_preferred_node(kl__vet *vet, const kl__node *term)
{
    size_t mark;

    check_weight(vet, term);
    mark = kl__vet_into(vet, "preference");
    check_node_term(vet, kl__node_get(term, "preference"));
    kl__vet_back(vet, mark);
}

/* --- Other pods. ---------------------------------------------------------- */

static void check_keys(kl__vet *vet, const kl__node *term, const char *member)
{
    const kl__node *list = kl__node_get(term, member), *key;
    size_t outer, index = 0;
    kl__node_iter iter = {0};

    if (kl__node_size(list) == 0) {
        return;
    }
    if (kl__node_get(term, "labelSelector") == NULL) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN, member, NULL,
                      "must not be specified when labelSelector is not set");
        return;
    }
    outer = kl__vet_into(vet, member);
    while ((key = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(key, NULL);
        size_t mark = kl__vet_at(vet, index++);

        kl__vet_qualified(vet, NULL, text != NULL ? text : "");
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* Checks matchLabelKeys and mismatchLabelKeys; no key may be in both. */
static void check_both_keys(kl__vet *vet, const kl__node *term)
{
    const kl__node *same = kl__node_get(term, "matchLabelKeys"), *key;
    const kl__node *others = kl__node_get(term, "mismatchLabelKeys");
    size_t outer, index = 0;
    kl__node_iter iter = {0};

    check_keys(vet, term, "matchLabelKeys");
    check_keys(vet, term, "mismatchLabelKeys");
    outer = kl__vet_into(vet, "matchLabelKeys");
    while ((key = kl__node_next(same, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(key, NULL);
        size_t mark = kl__vet_at(vet, index++);

        if (text != NULL && kl__node_holds(others, text)) {
            kl__vet_fault(vet, KL__FIELD_INVALID, NULL, text,
                          "exists in both matchLabelKeys and "
                          "mismatchLabelKeys");
        }
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

static void check_pod_term(kl__vet *vet, const kl__node *term)
{
    const kl__node *list = kl__node_get(term, "namespaces"), *element;
    kl__node_iter iter = {0};

    kl__vet_selector(vet, term, "labelSelector");
    kl__vet_selector(vet, term, "namespaceSelector");
    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);

        kl__vet_label_text(vet, "namespace", text != NULL ? text : "");
    }
    check_both_keys(vet, term);
    if (*kl__vet_text(term, "topologyKey") == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "topologyKey", NULL,
                      "can not be empty");
    }
    kl__vet_qualified(vet, "topologyKey", kl__vet_text(term, "topologyKey"));
}

static void check_preferred_pod(kl__vet *vet, const kl__node *term)
{
    size_t mark;

    check_weight(vet, term);
    mark = kl__vet_into(vet, "podAffinityTerm");
    check_pod_term(vet, kl__node_get(term, "podAffinityTerm"));
    kl__vet_back(vet, mark);
}

void kl__vet_affinity(kl__vet *vet, const kl__node *spec)
{
    static const char *const sides[] = {"podAffinity", "podAntiAffinity"};
    const kl__node *affinity = kl__node_get(spec, "affinity");
    const kl__node *node = kl__node_get(affinity, "nodeAffinity");
    size_t outer = kl__vet_into(vet, "affinity");
    size_t mark = kl__vet_into(vet, "nodeAffinity");

    kl__vet_node_terms(vet, node, REQUIRED);
    kl__vet_each(vet, node, PREFERRED, check_preferred_node);
    kl__vet_back(vet, mark);
    for (size_t i = 0; i < 2; i++) {
        const kl__node *side = kl__node_get(affinity, sides[i]);

        mark = kl__vet_into(vet, sides[i]);
        kl__vet_each(vet, side, REQUIRED, check_pod_term);
        kl__vet_each(vet, side, PREFERRED, check_preferred_pod);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* --- Spread. -------------------------------------------------------------- */

/* The number must be more than 0. An absent number counts as 0. */
static void check_positive(kl__vet *vet, const kl__node *object,
                           const char *member)
{
    int64_t number = kl__node_integer(kl__node_get(object, member));
    size_t mark = kl__vet_into(vet, member);
    char shown[32];

    if (number < 1) {
        snprintf(shown, sizeof(shown), "%lld", (long long)number);
        kl__vet_shown(vet, KL__FIELD_INVALID, shown,
                      "must be greater than zero");
    }
    kl__vet_back(vet, mark);
}

static void check_domains(kl__vet *vet, const kl__node *constraint)
{
    const kl__node *domains = kl__node_get(constraint, "minDomains");
    const char *way = kl__vet_text(constraint, "whenUnsatisfiable");
    char why[200];

    if (domains == NULL) {
        return;
    }
    check_positive(vet, constraint, "minDomains");
    if (strcmp(way, "DoNotSchedule") != 0) {
        snprintf(why, sizeof(why),
                 "can only use minDomains if whenUnsatisfiable=DoNotSchedule, "
                 "not %.60s",
                 way);
        kl__vet_value(vet, KL__FIELD_INVALID, "minDomains", domains, why);
    }
}

/* True if a later constraint has the same key and the same
 * whenUnsatisfiable. */
static bool comes_again(const kl__node *constraint, const kl__node_iter *rest,
                        const kl__node *list)
{
    kl__node_iter iter = *rest;
    const kl__node *other;

    while ((other = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        if (strcmp(kl__vet_text(other, "topologyKey"),
                   kl__vet_text(constraint, "topologyKey")) == 0 &&
            strcmp(kl__vet_text(other, "whenUnsatisfiable"),
                   kl__vet_text(constraint, "whenUnsatisfiable")) == 0) {
            return true;
        }
    }
    return false;
}

static void check_constraint(kl__vet *vet, const kl__node *constraint,
                             bool again)
{
    static const char *const ways[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
    static const char *const policies[] = {"Honor", "Ignore", NULL};
    const char *key = kl__vet_text(constraint, "topologyKey");
    const char *way = kl__vet_text(constraint, "whenUnsatisfiable");
    char both[500];

    check_positive(vet, constraint, "maxSkew");
    if (*key == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "topologyKey", NULL,
                      "can not be empty");
    }
    kl__vet_unsupported(vet, "whenUnsatisfiable", way, ways);
    if (again) {
        snprintf(both, sizeof(both), "{%.320s, %.60s}", key, way);
        kl__vet_fault(vet, KL__FIELD_DUPLICATE,
                      "{topologyKey, whenUnsatisfiable}", both, "");
    }
    check_domains(vet, constraint);
    kl__vet_enum(vet, constraint, "nodeAffinityPolicy", policies);
    kl__vet_enum(vet, constraint, "nodeTaintsPolicy", policies);
    check_keys(vet, constraint, "matchLabelKeys");
    kl__vet_selector(vet, constraint, "labelSelector");
}

static void check_gates(kl__vet *vet, const kl__node *spec)
{
    const kl__node *list = kl__node_get(spec, "schedulingGates"), *gate;
    size_t outer = kl__vet_into(vet, "schedulingGates"), index = 0;
    kl__node_iter iter = {0};
    kl__map seen = {0};

    while ((gate = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);
        const char *name = kl__vet_text(gate, "name");

        kl__vet_qualified(vet, NULL, name);
        kl__vet_unique(vet, &seen, NULL, name);
        kl__vet_back(vet, mark);
    }
    kl__map_deinit(&seen);
    kl__vet_back(vet, outer);
}

void kl__vet_spread(kl__vet *vet, const kl__node *spec)
{
    const kl__node *list = kl__node_get(spec, "topologySpreadConstraints");
    const kl__node *constraint;
    size_t outer, index = 0;
    kl__node_iter iter = {0};

    check_gates(vet, spec);
    outer = kl__vet_into(vet, "topologySpreadConstraints");
    while ((constraint = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_constraint(vet, constraint, comes_again(constraint, &iter, list));
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

/* --- Tolerations. --------------------------------------------------------- */

static void check_value(kl__vet *vet, const char *way, const char *value)
{
    static const char *const known[] = {"Equal", "Exists", NULL};
    static const char *const all[] = {"Equal", "Exists", "Lt", "Gt"};
    kl__sim_faults faults;

    if (*way == '\0' || strcmp(way, "Equal") == 0) {
        faults = kl__sim_value_faults(value);
        if (faults.count != 0) {
            kl__vet_fault(vet, KL__FIELD_INVALID, "operator", value,
                          faults.texts[0]);
        }
    } else if (strcmp(way, "Exists") == 0) {
        if (*value != '\0') {
            kl__vet_fault(vet, KL__FIELD_INVALID, "operator", value,
                          "value must be empty when `operator` is 'Exists'");
        }
    } else if (strcmp(way, all[2]) == 0 || strcmp(way, all[3]) == 0) {
        /* kube-apiserver supports Lt and Gt only with a feature gate, which is
         * off by default; its message names them all the same. */
        kl__vet_fault(vet, KL__FIELD_UNSUPPORTED, "operator", way,
                      "supported values: \"Equal\", \"Exists\", \"Lt\", "
                      "\"Gt\"");
    } else {
        kl__vet_unsupported(vet, "operator", way, known);
    }
}

static void check_toleration(kl__vet *vet, const kl__node *toleration)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule",
                                          "NoExecute", NULL};
    const char *way = kl__vet_text(toleration, "operator");
    const char *key = kl__vet_text(toleration, "key");

    if (*key != '\0') {
        kl__vet_qualified(vet, "key", key);
    } else if (strcmp(way, "Exists") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "operator", way,
                      "operator must be Exists when `key` is empty, which "
                      "means \"match all values and all keys\"");
    }
    if (kl__node_get(toleration, "tolerationSeconds") != NULL &&
        strcmp(kl__vet_text(toleration, "effect"), "NoExecute") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "effect",
                      kl__vet_text(toleration, "effect"),
                      "effect must be 'NoExecute' when `tolerationSeconds` is "
                      "set");
    }
    check_value(vet, way, kl__vet_text(toleration, "value"));
    kl__vet_enum(vet, toleration, "effect", effects);
}

void kl__vet_tolerations(kl__vet *vet, const kl__node *spec)
{
    kl__vet_each(vet, spec, "tolerations", check_toleration);
}
