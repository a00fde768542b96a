/*
 * sim_credentials.h - what a bearer token is worth: one of the options', or one
 * that the cluster has signed for a service account (RFC 7519, HS256 with a
 * secret made for this run).
 */
#ifndef KL_SIM_CREDENTIALS_H
#define KL_SIM_CREDENTIALS_H

#include "sim/store/sim_core.h"

/* Somebody of the options. */
typedef struct kl__sim_account {
    char *token;
    kl__sim_user user;
} kl__sim_account;

/* Whom a token is for. */
typedef struct kl__sim_claim {
    const char *name_space;
    const char *name; /* of the service account */
    const char *uid;
    const char *audience;
    int64_t issued; /* seconds since 1970 */
    int64_t expires;
} kl__sim_claim;

/* Makes up sim->admin_token. KL_ENOMEM, KL_EIO. */
kl_code kl__sim_token_make_up(kl_sim *sim, kl_error *err);

/* A token, owned by the caller: kl__free. NULL: KL_ENOMEM, KL_EIO. */
char *kl__sim_token_issue(kl_sim *sim, const kl__sim_claim *claim,
                          kl_error *err);

#endif
