/*
 * sim_access.h - who may do what: credentials out of a request, then the rules
 * of the roles in the cluster, where these are switched on. The cluster's mutex
 * is held, but for options.
 */
#ifndef KL_SIM_ACCESS_H
#define KL_SIM_ACCESS_H

#include "sim/access/sim_rbac.h"
#include "sim/answer/sim_answer.h"

/* Takes over what the options say of users. KL_ENOMEM, KL_EINVAL. */
kl_code kl__sim_access_init(kl_sim *sim, const kl_sim_options *options,
                            kl_error *err);
void kl__sim_access_deinit(kl_sim *sim);

/* Makes out who asks, and lets in who may do what is asked. False: the answer
 * says why not, or there is no memory (*code). */
bool kl__sim_let_in(kl__sim_answer *answer, kl_code *code, kl_error *err);

/* Who asks; borrowed from the answer, or static. */
const kl__sim_user *kl__sim_who(const kl__sim_answer *answer);

/* The user that a bearer token stands for. KL_EUNAUTHORIZED: nobody's;
 * KL_ENOMEM. `user` is zeroed, and filled for the caller to deinit. */
kl_code kl__sim_token_user(kl_sim *sim, const char *token, kl__sim_user *user,
                           kl_error *err);

/* Answers an access review, a review of a token or of oneself, if the path is
 * one of those; *found tells. KL_ENOMEM. */
kl_code kl__sim_review(kl__sim_answer *answer, bool *found, kl_error *err);

#endif
