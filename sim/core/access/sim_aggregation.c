/*
 * sim_aggregation.c - the controller of aggregated ClusterRoles: a role with an
 * aggregationRule gets the rules of all roles that its selectors select.
 * sim_settle.c calls it after a change of a ClusterRole.
 */
#include "sim/core/access/sim_access.h"
#include "sim/core/access/sim_rbac.h"
#include "sim/core/life/sim_settle.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_write.h"

#include <string.h>

/* True if one of the selectors selects the role. */
static bool is_selected(const kl_value *selectors, const kl_value *role)
{
    const kl_value *labels =
        kl_value_get(kl_value_get(role, "metadata"), "labels");
    kl_value_iter iter = {0};
    const kl_value *selector;

    while ((selector = kl_value_next(selectors, &iter, NULL)) != NULL) {
        if (kl__sim_labels_fit(selector, labels)) {
            return true;
        }
    }
    return false;
}

static bool has_rule(const kl__node *rules, const kl__node *rule)
{
    kl__node_iter iter = {0};
    const kl__node *known;

    while ((known = kl__node_next(rules, &iter, NULL, NULL)) != NULL) {
        if (kl__node_equal(known, rule)) {
            return true;
        }
    }
    return false;
}

/* Appends the rules of a role that are not in `rules` yet. */
static bool add_rules(kl__edit *edit, kl__node *rules, const kl_value *role)
{
    kl_value_iter iter = {0};
    const kl_value *rule;

    while ((rule = kl_value_next(kl_value_get(role, "rules"), &iter, NULL)) !=
           NULL) {
        kl__node *copy = kl__edit_value(edit, rule);

        if (copy == NULL ||
            (!has_rule(rules, copy) && !kl__node_append(rules, copy))) {
            return false;
        }
    }
    return true;
}

/* The rules of all roles that the selectors select; NULL: out of memory. */
static kl__node *collect_rules(const kl__sim_tree *roles,
                               const kl__sim_state *state,
                               const kl_value *selectors, kl__edit *edit)
{
    kl__node *rules = kl__edit_array(edit);

    for (const kl__sim_node *node = roles->first[0];
         node != NULL && rules != NULL; node = node->next[0]) {
        const kl_value *role;

        if (node->state == state) {
            continue;
        }
        role = kl__sim_state_root(node->state, NULL);
        if (role == NULL ||
            (is_selected(selectors, role) && !add_rules(edit, rules, role))) {
            rules = NULL;
        }
    }
    return rules;
}

/* Gives one aggregated role the rules of the roles that it selects. */
static kl_code aggregate_role(kl_sim *sim, kl__sim_resource *roles,
                              kl__sim_state *state, kl_error *err)
{
    static const char *const path[] = {"aggregationRule",
                                       "clusterRoleSelectors", NULL};
    const kl_value *value = kl__sim_state_root(state, err);
    kl__edit *edit = kl__sim_state_edit(state, err);
    kl__node *root, *rules;
    kl_code code = KL_OK;

    if (value == NULL || edit == NULL) {
        kl__edit_free(edit);
        return KL_ENOMEM;
    }
    root = kl__edit_root(edit);
    if (kl__node_find(root, path) != NULL) {
        rules = collect_rules(
            &roles->items, state,
            kl_value_get(kl_value_get(value, path[0]), path[1]), edit);
        code = kl__node_size(rules) != 0 ||
                       kl__node_size(kl__node_get(root, "rules")) != 0
                   ? KL_OK
                   : KL_EINVAL; /* nothing has changed */
        if (rules == NULL || !kl__node_put(edit, root, "rules", rules)) {
            code = kl__sim_no_memory(err);
        }
        if (code == KL_OK) {
            code = kl__sim_put_back(sim, roles, state, edit, err);
        }
    }
    kl__edit_free(edit);
    return code == KL_EINVAL ? KL_OK : code;
}

kl_code kl__sim_roles_settle(kl_sim *sim, kl_error *err)
{
    kl__sim_resource *roles =
        kl__sim_find(sim, "rbac.authorization.k8s.io", "clusterroles");
    const kl__sim_node *node = roles->items.first[0];
    kl_code code = KL_OK;

    while (node != NULL && code == KL_OK) {
        kl__sim_state *state = kl__sim_state_ref(node->state);

        if (strstr(state->text + state->rest, "\"aggregationRule\"") != NULL) {
            code = aggregate_role(sim, roles, state, err);
        }
        node = kl__sim_tree_find(&roles->items, state->key)->next[0];
        kl__sim_state_unref(state);
    }
    return code;
}
