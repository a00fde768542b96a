/*
 * sim_credentials.h - bearer tokens. A token comes from the options, or the
 * cluster has signed it for a service account (a JSON Web Token: RFC 7519,
 * HS256, with a secret made for this run).
 */
#ifndef KL_SIM_CREDENTIALS_H
#define KL_SIM_CREDENTIALS_H

#include "sim/core/store/sim_core.h"

/* A user that the options name. */
typedef struct kl__sim_account {
    char *token;
    kl__sim_user user;
} kl__sim_account;

/* The claims in a token of a service account; texts are borrowed. */
typedef struct kl__sim_claim {
    const char *name_space;
    const char *name; /* of the service account */
    const char *uid;
    const char *audience;
    int64_t issued; /* seconds since 1970 */
    int64_t expires;
} kl__sim_claim;

/* Makes sim->admin_token, a random token for the administrator. KL_ENOMEM,
 * KL_EIO. */
kl_code kl__sim_token_make_up(kl_sim *sim, kl_error *err);

/* A signed token, owned by the caller, freed with kl__free. NULL: KL_ENOMEM,
 * KL_EIO. */
char *kl__sim_token_issue(kl_sim *sim, const kl__sim_claim *claim,
                          kl_error *err);

#endif
