/*
 * sim_rbac_match.h - compares one rule with one deed, and one subject with one
 * user. sim_rbac.c calls these functions for each rule; they read only their
 * arguments.
 */
#ifndef KL_SIM_RBAC_MATCH_H
#define KL_SIM_RBAC_MATCH_H

#include "sim/core/access/sim_rbac.h"

/* True if a PolicyRule allows the deed. */
bool kl__sim_rule_allows(const kl_value *rule, const kl__sim_deed *deed);

/* True if a subject of a binding names the user. `name_space` is the binding's,
 * or "" for a ClusterRoleBinding. */
bool kl__sim_subject_is(const kl_value *subject, const kl__sim_user *user,
                        const char *name_space);

/* True if labels match the matchLabels of a selector; an empty one matches all.
 */
bool kl__sim_labels_fit(const kl_value *selector, const kl_value *labels);

#endif
