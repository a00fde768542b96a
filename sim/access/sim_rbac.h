/*
 * sim_rbac.h - authorisation by the Roles and RoleBindings in the cluster. The
 * cluster's mutex is held.
 */
#ifndef KL_SIM_RBAC_H
#define KL_SIM_RBAC_H

#include "sim/request/sim_user.h"
#include "sim/store/sim_core.h"

/* What a user wants to do; texts are borrowed. `path` is NULL if it is done to
 * a resource. */
typedef struct kl__sim_deed {
    const char *verb;
    const char *name_space; /* NULL or "": the whole cluster */
    const char *group;
    const char *resource;
    const char *subresource; /* NULL: none */
    const char *name;        /* NULL: any */
    const char *path;        /* of a request that names no resource */
} kl__sim_deed;

enum { KL__SIM_WHY_SIZE = 1024 };

/* True if a rule allows the deed. Fills `why` (KL__SIM_WHY_SIZE bytes): by
 * which binding, or which roles are missing, or "". On a failure (*code,
 * KL_ENOMEM) it returns false. */
bool kl__sim_rbac_allows(kl_sim *sim, const kl__sim_user *user,
                         const kl__sim_deed *deed, char *why, kl_code *code,
                         kl_error *err);

/* Calls `fn` with each rule that a user has in a namespace, until `fn` returns
 * anything but KL_OK; returns that, or KL_ENOMEM. */
typedef kl_code (*kl__sim_rule_fn)(void *context, const kl_value *rule,
                                   kl_error *err);
kl_code kl__sim_rbac_each(kl_sim *sim, const kl__sim_user *user,
                          const char *name_space, kl__sim_rule_fn fn,
                          void *context, kl_error *err);

/* Creates the roles and bindings that every cluster has. KL_ENOMEM. */
kl_code kl__sim_rbac_bootstrap(kl_sim *sim, kl_error *err);

#endif
