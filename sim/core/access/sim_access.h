/*
 * sim_access.h - access control: the credentials of a request name the user,
 * and RBAC (rights by roles; an option of the cluster) decides if the user may
 * do what the request asks. sim_api.c calls kl__sim_let_in before it carries a
 * request out. The cluster's mutex is held, except for kl__sim_access_init.
 */
#ifndef KL_ACCESS_SIM_ACCESS_H
#define KL_ACCESS_SIM_ACCESS_H

#include "sim/core/access/sim_rbac.h"
#include "sim/core/answer/sim_answer.h"
#include "sim/core/store/sim_core.h"

/* Copies the users of the options into the cluster. KL_ENOMEM, KL_EIO;
 * KL_EINVAL: a name or token is not allowed. */
kl_code kl__sim_access_init(kl_sim *sim, const kl_sim_options *options,
                            kl_error *err);
void kl__sim_access_deinit(kl_sim *sim);

/* Authenticates the user of a request and authorises the request. False: the
 * request is refused and the answer says why, or memory ran out (*code). */
bool kl__sim_let_in(kl__sim_answer *answer, kl_code *code, kl_error *err);

/* The user of a request; borrowed from the answer, or static. */
const kl__sim_user *kl__sim_who(const kl__sim_answer *answer);

/* Answers a SubjectAccessReview, TokenReview or SelfSubjectReview. *found: true
 * if the request's path is that of a review. KL_ENOMEM. */
kl_code kl__sim_review(kl__sim_answer *answer, bool *found, kl_error *err);

/* --- Called through kl__sim_hooks. KL_ENOMEM. ------------------------------
 */

/* sim_aggregation.c: updates ClusterRoles that get their rules from others. */
kl_code kl__sim_roles_settle(kl_sim *sim, kl_error *err);

/* Answers 403 to a request that is about to create an object though its verb is
 * another one, if its user may not create such an object. */
kl_code kl__sim_creation_authorize(kl__sim_answer *answer, kl_error *err);

/* ---- bearer tokens: those of the options, and one for the administrator ----
 */

/* A user that the options name. */
typedef struct kl__sim_account {
    char *token;
    kl__sim_user user;
} kl__sim_account;

#endif
