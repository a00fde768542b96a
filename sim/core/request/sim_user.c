/*
 * sim_user.c - see sim_user.h.
 */
#include "sim/core/request/sim_user.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

static const char account_prefix[] = "system:serviceaccount:";

void kl__sim_user_deinit(kl__sim_user *user)
{
    for (size_t i = 0; i < user->group_count; i++) {
        kl__free(user->groups[i]);
    }
    kl__free(user->groups);
    kl__free(user->name);
    kl__free(user->uid);
    memset(user, 0, sizeof(*user));
}

bool kl__sim_user_is_in(const kl__sim_user *user, const char *group)
{
    for (size_t i = 0; i < user->group_count; i++) {
        if (strcmp(user->groups[i], group) == 0) {
            return true;
        }
    }
    return false;
}

kl_code kl__sim_user_join(kl__sim_user *user, const char *group, size_t length,
                          kl_error *err)
{
    char **groups =
        kl__realloc(user->groups, (user->group_count + 1) * sizeof(*groups));
    char *copy;

    if (groups == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a user");
    }
    user->groups = groups;
    copy = kl__strndup(group, length);
    if (copy == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a user");
    }
    if (kl__sim_user_is_in(user, copy)) {
        kl__free(copy);
    } else {
        groups[user->group_count++] = copy;
    }
    return KL_OK;
}

kl_code kl__sim_user_init(kl__sim_user *user, const char *name,
                          const char *groups, char separator, kl_error *err)
{
    const char ends[] = {separator, '\0'};
    kl_code code = KL_OK;

    user->name = kl__strdup(name);
    if (user->name == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a user");
    }
    while (code == KL_OK && *groups != '\0') {
        size_t length = strcspn(groups, ends);

        if (length != 0) {
            code = kl__sim_user_join(user, groups, length, err);
        }
        groups += length;
        groups += *groups == separator;
    }
    if (code != KL_OK) {
        kl__sim_user_deinit(user);
    }
    return code;
}

/* Adds the groups of a service account: all service accounts, and those of its
 * namespace. */
static kl_code join_accounts(kl__sim_user *user, kl_error *err)
{
    const char *name_space = user->name + strlen(account_prefix);
    size_t length = strcspn(name_space, ":");
    char *group =
        kl__strprintf("system:serviceaccounts:%.*s", (int)length, name_space);
    kl_code code;

    if (group == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a user");
    }
    code =
        kl__sim_user_join(user, group, strlen("system:serviceaccounts"), err);
    if (code == KL_OK) {
        code = kl__sim_user_join(user, group, strlen(group), err);
    }
    kl__free(group);
    return code;
}

kl_code kl__sim_user_complete(kl__sim_user *user, kl_error *err)
{
    static const char authenticated[] = "system:authenticated";
    kl_code code = KL_OK;

    if (strncmp(user->name, account_prefix, strlen(account_prefix)) == 0) {
        code = join_accounts(user, err);
    }
    return code == KL_OK ? kl__sim_user_join(user, authenticated,
                                             strlen(authenticated), err)
                         : code;
}
