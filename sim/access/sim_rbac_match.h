/*
 * sim_rbac_match.h - one rule against one deed, one subject against one user:
 * without a cluster.
 */
#ifndef KL_SIM_RBAC_MATCH_H
#define KL_SIM_RBAC_MATCH_H

#include "sim/access/sim_rbac.h"

/* Whether a PolicyRule allows it. */
bool kl__sim_rule_allows(const kl_value *rule, const kl__sim_deed *deed);

/* Whether a subject of a binding is that user; `name_space` is the binding's,
 * "" for one of the cluster. */
bool kl__sim_subject_is(const kl_value *subject, const kl__sim_user *user,
                        const char *name_space);

/* Whether an object's labels are what a LabelSelector asks for; an empty one
 * selects all. */
bool kl__sim_labels_fit(const kl_value *selector, const kl_value *labels);

/* Whether an array of strings has one in it. */
bool kl__sim_has_string(const kl_value *array, const char *text);

#endif
