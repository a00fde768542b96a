/*
 * sim_credentials.h - bearer tokens: those of the options, and one for the
 * administrator.
 */
#ifndef KL_SIM_CREDENTIALS_H
#define KL_SIM_CREDENTIALS_H

#include "sim/core/store/sim_core.h"

/* A user that the options name. */
typedef struct kl__sim_account {
    char *token;
    kl__sim_user user;
} kl__sim_account;

/* Makes sim->admin_token, a random token for the administrator. KL_ENOMEM,
 * KL_EIO. */
kl_code kl__sim_token_make_up(kl_sim *sim, kl_error *err);

#endif
