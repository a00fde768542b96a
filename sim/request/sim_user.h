/*
 * sim_user.h - who asks: a name and groups, out of a token, a client
 * certificate, or what an impersonation says.
 */
#ifndef KL_SIM_USER_H
#define KL_SIM_USER_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The group whose members may do everything, without any rule. */
#define KL__SIM_MASTERS "system:masters"

/* Owned copies. */
typedef struct kl__sim_user {
    char *name; /* NULL: nobody yet */
    char *uid;  /* NULL: none */
    char **groups;
    size_t group_count;
} kl__sim_user;

/* Fills a zeroed user; `groups` are separated by `separator`, "" are none.
 * KL_ENOMEM leaves nothing behind. */
kl_code kl__sim_user_init(kl__sim_user *user, const char *name,
                          const char *groups, char separator, kl_error *err);
void kl__sim_user_deinit(kl__sim_user *user); /* leaves it zeroed */

/* One group more, once; KL_ENOMEM. */
kl_code kl__sim_user_join(kl__sim_user *user, const char *group, size_t length,
                          kl_error *err);
bool kl__sim_user_is_in(const kl__sim_user *user, const char *group);

/* What every user that was made out gets: system:authenticated, and a service
 * account's groups by its name ("system:serviceaccount:NAMESPACE:NAME").
 * KL_ENOMEM. */
kl_code kl__sim_user_complete(kl__sim_user *user, kl_error *err);

#endif
