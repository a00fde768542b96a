/*
 * sim_vet_rbac.c - see sim_vet.h: validates roles and their bindings.
 */
#include "sim/core/vet/sim_vet.h"

#include <string.h>

static const char GROUP[] = "rbac.authorization.k8s.io";

/* --- Bindings. ------------------------------------------------------------ */

static void check_subject(kl__vet *vet, const kl__node *subject,
                          bool is_namespaced)
{
    static const char *const kinds[] = {"ServiceAccount", "User", "Group",
                                        NULL};
    static const char *const groups[] = {GROUP, NULL};
    static const char *const none[] = {"", NULL};
    const char *kind = kl__vet_text(subject, "kind");

    kl__vet_required(vet, subject, "name");
    if (strcmp(kind, kinds[0]) == 0) {
        kl__vet_subdomain(vet, subject, "name");
        kl__vet_unsupported(vet, "apiGroup", kl__vet_text(subject, "apiGroup"),
                            none);
        if (!is_namespaced) {
            kl__vet_required(vet, subject, "namespace");
        }
    } else if (strcmp(kind, kinds[1]) == 0 || strcmp(kind, kinds[2]) == 0) {
        kl__vet_unsupported(vet, "apiGroup", kl__vet_text(subject, "apiGroup"),
                            groups);
    } else {
        kl__vet_unsupported(vet, "kind", kind, kinds);
    }
}

static void check_binding(kl__vet *vet, const kl__node *object,
                          const char *const *kinds, bool is_namespaced)
{
    const kl__node *list = kl__node_get(object, "subjects"), *subject;
    const kl__node *role = kl__node_get(object, "roleRef");
    size_t outer = kl__vet_into(vet, "roleRef"), index = 0;
    kl__node_iter iter = {0};

    kl__vet_enum(vet, role, "apiGroup", (const char *const[]){GROUP, NULL});
    kl__vet_unsupported(vet, "kind", kl__vet_text(role, "kind"), kinds);
    kl__vet_required(vet, role, "name");
    kl__vet_back(vet, outer);
    outer = kl__vet_into(vet, "subjects");
    while ((subject = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_subject(vet, subject, is_namespaced);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

void kl__vet_role_binding(kl__vet *vet, const kl__node *object)
{
    static const char *const kinds[] = {"Role", "ClusterRole", NULL};

    check_binding(vet, object, kinds, true);
}

void kl__vet_cluster_role_binding(kl__vet *vet, const kl__node *object)
{
    static const char *const kinds[] = {"ClusterRole", NULL};

    check_binding(vet, object, kinds, false);
}

/* --- Roles. --------------------------------------------------------------- */

static void check_rule(kl__vet *vet, const kl__node *rule, bool is_namespaced)
{
    const kl__node *urls = kl__node_get(rule, "nonResourceURLs");
    size_t groups = kl__node_size(kl__node_get(rule, "apiGroups"));
    size_t resources = kl__node_size(kl__node_get(rule, "resources"));

    if (kl__node_size(kl__node_get(rule, "verbs")) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "verbs", NULL,
                      "verbs must contain at least one value");
    }
    if (kl__node_size(urls) > 0) {
        if (is_namespaced) {
            kl__vet_value(vet, KL__FIELD_INVALID, "nonResourceURLs", urls,
                          "namespaced rules cannot apply to non-resource URLs");
        }
        if (groups + resources > 0) {
            kl__vet_value(vet, KL__FIELD_INVALID, "nonResourceURLs", urls,
                          "rules cannot apply to both regular resources and "
                          "non-resource URLs");
        }
        return;
    }
    if (groups == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "apiGroups", NULL,
                      "resource rules must supply at least one api group");
    }
    if (resources == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "resources", NULL,
                      "resource rules must supply at least one resource");
    }
}

static void check_rules(kl__vet *vet, const kl__node *object,
                        bool is_namespaced)
{
    const kl__node *list = kl__node_get(object, "rules"), *rule;
    size_t outer = kl__vet_into(vet, "rules"), index = 0;
    kl__node_iter iter = {0};

    while ((rule = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_rule(vet, rule, is_namespaced);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}

void kl__vet_role(kl__vet *vet, const kl__node *object)
{
    check_rules(vet, object, true);
}

void kl__vet_cluster_role(kl__vet *vet, const kl__node *object)
{
    check_rules(vet, object, false);
}
