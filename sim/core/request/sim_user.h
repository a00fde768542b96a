/*
 * sim_user.h - the user of a request: a name and groups, from a token, a client
 * certificate or impersonation headers.
 */
#ifndef KL_SIM_USER_H
#define KL_SIM_USER_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Members of this group may do everything, without any role. */
#define KL__SIM_MASTERS "system:masters"

/* Owned copies. */
typedef struct kl__sim_user {
    char *name; /* NULL: not known yet */
    char *uid;  /* NULL: none */
    char **groups;
    size_t group_count;
} kl__sim_user;

/* Fills a zeroed user. `groups` has the groups, separated by `separator`; "":
 * no groups. After KL_ENOMEM there is nothing to deinit. */
kl_code kl__sim_user_init(kl__sim_user *user, const char *name,
                          const char *groups, char separator, kl_error *err);
void kl__sim_user_deinit(kl__sim_user *user); /* leaves it zeroed */

/* Adds a group, unless the user has it already. KL_ENOMEM. */
kl_code kl__sim_user_join(kl__sim_user *user, const char *group, size_t length,
                          kl_error *err);
bool kl__sim_user_is_in(const kl__sim_user *user, const char *group);

/* Adds the groups of every authenticated user: system:authenticated, and for a
 * service account ("system:serviceaccount:NAMESPACE:NAME") its own.
 * KL_ENOMEM. */
kl_code kl__sim_user_complete(kl__sim_user *user, kl_error *err);

#endif
