/*
 * sim_rbac.h - RBAC, authorisation by objects in the cluster: a Role or
 * ClusterRole lists rules (verbs that are allowed on resources), a binding
 * grants a role to users. The cluster's mutex is held.
 */
#ifndef KL_ACCESS_SIM_RBAC_H
#define KL_ACCESS_SIM_RBAC_H

#include "sim/core/request/sim_user.h"
#include "sim/core/store/sim_core.h"

/* What a user wants to do: a verb on a resource, or (if `path` is not NULL) on
 * a URL path. Texts are borrowed. */
typedef struct kl__sim_deed {
    const char *verb;
    const char *name_space; /* NULL or "": the whole cluster */
    const char *group;
    const char *resource;
    const char *subresource; /* NULL: none */
    const char *name;        /* NULL: any */
    const char *path;        /* the URL path, if no resource is named */
} kl__sim_deed;

enum { KL__SIM_WHY_SIZE = 1024 };

/* True if a rule allows the deed. Fills `why` (KL__SIM_WHY_SIZE bytes): which
 * binding allows it; or which roles a binding names that do not exist; or "".
 * On a failure (*code, KL_ENOMEM) it returns false. */
bool kl__sim_rbac_allows(kl_sim *sim, const kl__sim_user *user,
                         const kl__sim_deed *deed, char *why, kl_code *code,
                         kl_error *err);

/* Calls `fn` with each rule that a user has in a namespace, until `fn` returns
 * another code than KL_OK; returns that code, or KL_ENOMEM. */
typedef kl_code (*kl__sim_rule_fn)(void *context, const kl_value *rule,
                                   kl_error *err);
kl_code kl__sim_rbac_each(kl_sim *sim, const kl__sim_user *user,
                          const char *name_space, kl__sim_rule_fn fn,
                          void *context, kl_error *err);

/* Creates the roles and bindings that every new cluster has. KL_ENOMEM. */
kl_code kl__sim_rbac_bootstrap(kl_sim *sim, kl_error *err);

/* ---- one rule and one deed, one subject and one user; of their arguments
 * alone ---- */

/* True if labels match the matchLabels of a selector; an empty one matches all.
 */
bool kl__sim_labels_fit(const kl_value *selector, const kl_value *labels);

/* ---- the roles and bindings of a new cluster (sim_rbac_table.c) ---- */

/* One object; a row without a kind ends the table. */
typedef struct kl__sim_rbac_row {
    const char *kind; /* ClusterRole or ClusterRoleBinding */
    const char *name;
    const char *labels; /* YAML: ", NAME: VALUE" for each */
    const char *rest;   /* YAML: the members beside metadata, and a "}" */
} kl__sim_rbac_row;

extern const kl__sim_rbac_row kl__sim_rbac_rows[];

#endif
