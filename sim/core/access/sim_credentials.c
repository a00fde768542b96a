/*
 * sim_credentials.c - see sim_credentials.h.
 */
#include "sim/core/access/sim_credentials.h"

#include "base/base64.h"
#include "base/mem.h"
#include "sim/core/access/sim_access.h"
#include "sim/core/store/sim_compose.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

enum { TOKEN_BYTES = 24 };

kl_code kl__sim_token_make_up(kl_sim *sim, kl_error *err)
{
    unsigned char bytes[TOKEN_BYTES];
    kl__buf out = {0};

    if (gnutls_rnd(GNUTLS_RND_KEY, bytes, sizeof(bytes)) != 0) {
        return kl_error_set(err, KL_EIO, "simulator: no randomness");
    }
    kl__base64url_encode(&out, bytes, sizeof(bytes));
    sim->admin_token = kl__buf_take(&out, NULL);
    kl__buf_deinit(&out);
    return sim->admin_token != NULL
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a token");
}

/* Copies a user of the options, and adds the groups that every user has. */
static kl_code copy_user(const kl__sim_user *from, kl__sim_user *user,
                         kl_error *err)
{
    kl_code code = kl__sim_user_init(user, from->name, "", ',', err);

    for (size_t i = 0; code == KL_OK && i < from->group_count; i++) {
        code = kl__sim_user_join(user, from->groups[i], strlen(from->groups[i]),
                                 err);
    }
    return code == KL_OK ? kl__sim_user_complete(user, err) : code;
}

static bool is_one(const char *token, const char *given)
{
    return token != NULL && strcmp(token, given) == 0;
}

kl_code kl__sim_token_user(kl_sim *sim, const char *token, kl__sim_user *user,
                           kl_error *err)
{
    kl_code code;

    if (is_one(sim->token, token) || is_one(sim->admin_token, token)) {
        code = kl__sim_user_init(user, "kubernetes-admin", KL__SIM_MASTERS, ',',
                                 err);
        return code == KL_OK ? kl__sim_user_complete(user, err) : code;
    }
    for (size_t i = 0; i < sim->account_count; i++) {
        if (strcmp(token, sim->accounts[i].token) == 0) {
            return copy_user(&sim->accounts[i].user, user, err);
        }
    }
    return kl_error_set(err, KL_EUNAUTHORIZED, "the token is of no user");
}
