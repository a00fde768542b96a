/*
 * sim_access.c - see sim_access.h: bearer tokens; and for each request first
 * authentication, then impersonation, then authorisation by RBAC.
 */
#include "sim/core/access/sim_access.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/store/sim_compose.h"

#include <ctype.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN_BYTES = 24 };

/* Makes sim->admin_token, a random token for the administrator. KL_ENOMEM,
 * KL_EIO. */
static kl_code sim_token_make_up(kl_sim *sim, kl_error *err)
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

/* The user of a bearer token. The caller passes `user` zeroed, and deinits it
 * afterwards. KL_EUNAUTHORIZED: no user has this token; KL_ENOMEM. */
static kl_code sim_token_user(kl_sim *sim, const char *token,
                              kl__sim_user *user, kl_error *err)
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

/* ---- let a request in ---- */

/* The user of a request made in-process, or made without credentials to a
 * cluster that requires none. */
static char *admin_groups[] = {(char *)(uintptr_t)KL__SIM_MASTERS,
                               (char *)(uintptr_t) "system:authenticated"};
static const kl__sim_user admin = {.name =
                                       (char *)(uintptr_t) "kubernetes-admin",
                                   .groups = admin_groups,
                                   .group_count = 2};

const kl__sim_user *kl__sim_who(const kl__sim_answer *answer)
{
    return answer->user.name != NULL ? &answer->user : &admin;
}

/* True if clients must authenticate even if options->token is NULL: then the
 * administrator gets a random token. */
static bool asks_beyond_token(const kl_sim_options *options)
{
    return options->rbac || options->user_count != 0;
}

/* True if an Authorization header can carry the token: it is not empty and has
 * no blanks. */
static bool can_be_sent(const char *token)
{
    size_t length = strlen(token);

    for (size_t i = 0; i < length; i++) {
        if (!isgraph((unsigned char)token[i])) {
            return false;
        }
    }
    return length != 0;
}

/* True if the administrator, or a user before this one, has the same token. */
static bool is_taken(const kl_sim_options *options, size_t number)
{
    const char *token = options->users[number].token;

    if (options->token != NULL && strcmp(options->token, token) == 0) {
        return true;
    }
    for (size_t i = 0; i < number; i++) {
        if (strcmp(options->users[i].token, token) == 0) {
            return true;
        }
    }
    return false;
}

/* KL_EINVAL unless every token is one word and belongs to one user. */
static kl_code check_tokens(const kl_sim_options *options, kl_error *err)
{
    if (options->token != NULL && !can_be_sent(options->token)) {
        return kl_error_set(err, KL_EINVAL,
                            "the token of the simulator is one word of ASCII, "
                            "without blanks");
    }
    for (size_t i = 0; i < options->user_count; i++) {
        const kl_sim_user *user = &options->users[i];

        if (user->name == NULL || *user->name == '\0' || user->token == NULL ||
            *user->token == '\0') {
            return kl_error_set(err, KL_EINVAL,
                                "a user of the simulator needs a name and a "
                                "token");
        }
        if (!can_be_sent(user->token)) {
            return kl_error_set(err, KL_EINVAL,
                                "the token of user \"%.64s\" is one word of "
                                "ASCII, without blanks",
                                user->name);
        }
        if (is_taken(options, i)) {
            return kl_error_set(err, KL_EINVAL,
                                "user \"%.64s\" has the same token as "
                                "another user: give each its own",
                                user->name);
        }
    }
    return KL_OK;
}

kl_code kl__sim_access_init(kl_sim *sim, const kl_sim_options *options,
                            kl_error *err)
{
    kl_code code = check_tokens(options, err);

    if (code != KL_OK) {
        return code;
    }
    sim->has_rbac = options->rbac;
    if (asks_beyond_token(options) && options->token == NULL) {
        code = sim_token_make_up(sim, err);
    }
    if (options->user_count == 0 || code != KL_OK) {
        return code;
    }
    sim->accounts = kl__calloc(options->user_count, sizeof(*sim->accounts));
    if (sim->accounts == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for the users");
    }
    for (size_t i = 0; code == KL_OK && i < options->user_count; i++) {
        const kl_sim_user *given = &options->users[i];
        kl__sim_account *account = &sim->accounts[i];

        sim->account_count = i + 1;
        account->token = kl__strdup(given->token);
        code = account->token == NULL
                   ? kl_error_set(err, KL_ENOMEM, "out of memory for a user")
                   : kl__sim_user_init(
                         &account->user, given->name,
                         given->groups != NULL ? given->groups : "", ',', err);
    }
    return code;
}

void kl__sim_access_deinit(kl_sim *sim)
{
    for (size_t i = 0; i < sim->account_count; i++) {
        kl__free(sim->accounts[i].token);
        kl__sim_user_deinit(&sim->accounts[i].user);
    }
    kl__free(sim->accounts);
    kl__free(sim->admin_token);
}

/* --- Authentication. ------------------------------------------------------ */

static bool asks_for_credentials(const kl_sim *sim)
{
    return sim->token != NULL || sim->account_count != 0 || sim->has_rbac;
}

/* True for health checks and /version: every client may read them, as the
 * default roles of a real server allow. */
static bool is_public(const kl__sim_ask *ask)
{
    static const char *const paths[] = {"version", "healthz", "livez",
                                        "readyz"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (ask->segment_count == 1 &&
            strcmp(ask->segments[0], paths[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Decides about a request without credentials. With RBAC, a request from
 * outside of the process gets the user system:anonymous. Any other request is
 * allowed if its path is public, or if it was made in-process and the options
 * have no token. */
static kl_code take_anonymous(kl__sim_answer *answer, kl_error *err)
{
    if (answer->sim->has_rbac && !answer->ask.is_local) {
        return kl__sim_user_init(&answer->user, "system:anonymous",
                                 "system:unauthenticated", ',', err);
    }
    return is_public(&answer->ask) ||
                   (answer->ask.is_local && answer->sim->token == NULL)
               ? KL_OK
               : kl_error_set(err, KL_EUNAUTHORIZED, "no credentials");
}

/* Fills answer->user, or leaves it empty for the administrator.
 * KL_EUNAUTHORIZED. */
static kl_code authenticate_user(kl__sim_answer *answer, kl_error *err)
{
    static const char bearer[] = "Bearer ";
    const char *given = answer->ask.authorization;
    const char *certified = answer->ask.certified;
    kl_code code;

    if (answer->direct || !asks_for_credentials(answer->sim)) {
        return KL_OK;
    }
    if (*certified != '\0') {
        size_t length = strcspn(certified, "\n");

        code = kl__sim_user_init(
            &answer->user, certified,
            certified[length] != '\0' ? certified + length + 1 : "", '\n', err);
        if (code == KL_OK) {
            answer->user.name[length] = '\0';
            code = kl__sim_user_complete(&answer->user, err);
        }
        return code;
    }
    if (strncmp(given, bearer, strlen(bearer)) == 0) {
        return sim_token_user(answer->sim, given + strlen(bearer),
                              &answer->user, err);
    }
    return take_anonymous(answer, err);
}

/* --- Authorisation. ------------------------------------------------------- */

/* Answers 403: "pods "a" is forbidden: User "jane" cannot ...". */
static kl_code refuse_deed(kl__sim_answer *answer, const kl__sim_deed *deed,
                           const char *why, kl_error *err)
{
    const char *name = deed->name != NULL ? deed->name : "";
    const char *quote = *name != '\0' ? "\"" : "";
    bool has_group = deed->group != NULL && *deed->group != '\0';
    bool has_sub = deed->subresource != NULL;
    const char *within = deed->name_space != NULL ? deed->name_space : "";
    const char *user = kl__sim_who(answer)->name;
    kl__sim_status status = {
        .code = 403, .reason = "Forbidden", .has_details = true};
    char *message = status.message;

    if (deed->path != NULL) {
        snprintf(message, sizeof(status.message),
                 "forbidden: User \"%.300s\" cannot %.60s path \"%.1000s\"%s%s",
                 user, deed->verb, deed->path, *why != '\0' ? ": " : "", why);
        return kl__sim_answer_status(answer, &status, err);
    }
    status.name = *name != '\0' ? name : NULL;
    status.group = deed->group;
    status.kind = deed->resource;
    snprintf(
        message, sizeof(status.message),
        "%.200s%s%.200s%s%s%.300s%s is forbidden: User \"%.300s\" cannot "
        "%.60s resource \"%.200s%s%.60s\" in API group \"%.200s\" %s%s%.63s"
        "%s%s%s",
        deed->resource, has_group ? "." : "", deed->group,
        *name != '\0' ? " " : "", quote, name, quote, user, deed->verb,
        deed->resource, has_sub ? "/" : "", has_sub ? deed->subresource : "",
        deed->group,
        *within != '\0' ? "in the namespace " : "at the cluster scope",
        *within != '\0' ? "\"" : "", within, *within != '\0' ? "\"" : "",
        *why != '\0' ? ": " : "", why);
    return kl__sim_answer_status(answer, &status, err);
}

/* Size of the buffer for a method in lower case; the rest is cut off. */
enum { VERB_SIZE = 32 };

/* Describes the request as a deed for RBAC. `path` and `verb` are buffers that
 * the deed points into. */
static void describe_deed(const kl__sim_ask *ask, kl__sim_deed *deed,
                          char *path, char *verb)
{
    const kl__sim_route *route = &ask->route;
    size_t length = strcspn(ask->target, "?#");

    memset(deed, 0, sizeof(*deed));
    if (ask->sound && route->plural != NULL) {
        bool is_namespace =
            *route->group == '\0' && strcmp(route->plural, "namespaces") == 0;

        deed->verb = kl__sim_verb(ask);
        deed->group = route->group;
        deed->resource = route->plural;
        deed->subresource = route->subresource;
        deed->name = route->name;
        /* RBAC treats a Namespace object as being in that namespace. */
        deed->name_space = is_namespace ? route->name : route->name_space;
        return;
    }
    snprintf(verb, VERB_SIZE, "%s", ask->method);
    for (char *at = verb; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    memcpy(path, ask->target, length);
    path[length] = '\0';
    deed->verb = verb;
    deed->path = path;
}

/* True if the first user may impersonate the second: the name (of a user or
 * service account), and each of the second user's groups. */
static bool may_impersonate(kl__sim_answer *answer, const kl__sim_user *who,
                            const kl__sim_user *whom, kl_code *code,
                            kl_error *err)
{
    static const char account[] = "system:serviceaccount:";
    bool is_account = strncmp(whom->name, account, strlen(account)) == 0;
    const char *within = whom->name + strlen(account);
    kl__sim_deed deed = {.verb = "impersonate",
                         .group = "",
                         .resource = "users",
                         .name = whom->name};
    char why[KL__SIM_WHY_SIZE], name_space[300] = "";

    if (is_account && strchr(within, ':') != NULL) {
        snprintf(name_space, sizeof(name_space), "%.*s",
                 (int)strcspn(within, ":"), within);
        deed.name_space = name_space;
        deed.resource = "serviceaccounts";
        deed.name = strchr(within, ':') + 1;
    }
    if (!kl__sim_rbac_allows(answer->sim, who, &deed, why, code, err)) {
        return false;
    }
    deed.resource = "groups";
    deed.name_space = NULL;
    for (size_t i = 0; i < whom->group_count; i++) {
        deed.name = whom->groups[i];
        if (!kl__sim_rbac_allows(answer->sim, who, &deed, why, code, err)) {
            return false;
        }
    }
    return true;
}

static kl_code refuse_impersonation(kl__sim_answer *answer, kl__sim_deed *deed,
                                    kl_error *err)
{
    char verb[VERB_SIZE + 32];

    snprintf(verb, sizeof(verb), "impersonate-on:user-info:%.31s", deed->verb);
    deed->verb = verb;
    return refuse_deed(answer, deed, "", err);
}

/* Makes the user of the Impersonate headers the user of the request. False: the
 * answer is a refusal, or memory ran out (*code). */
static bool impersonate_user(kl__sim_answer *answer, kl__sim_deed *deed,
                             kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    kl__sim_user whom = {0};
    bool may;

    if (*ask->impersonated == '\0') {
        if (*ask->impersonated_groups == '\0') {
            return true;
        }
        *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                               "requested groups \"%.300s\" without "
                               "impersonating a user name",
                               ask->impersonated_groups);
        return false;
    }
    *code = kl__sim_user_init(&whom, ask->impersonated,
                              ask->impersonated_groups, '\n', err);
    if (*code != KL_OK) {
        return false;
    }
    may = !answer->sim->has_rbac ||
          may_impersonate(answer, kl__sim_who(answer), &whom, code, err);
    if (may) {
        *code = kl__sim_user_complete(&whom, err);
        kl__sim_user_deinit(&answer->user);
        answer->user = whom;
        return *code == KL_OK;
    }
    kl__sim_user_deinit(&whom);
    if (*code == KL_OK) {
        *code = refuse_impersonation(answer, deed, err);
    }
    return false;
}

bool kl__sim_let_in(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    size_t room = strlen(answer->ask.target) + 1;
    char verb[VERB_SIZE], why[KL__SIM_WHY_SIZE], *path;
    kl__sim_deed deed;
    bool may;

    *code = authenticate_user(answer, err);
    if (*code == KL_EUNAUTHORIZED) {
        *code =
            kl__sim_refuse(answer, 401, "Unauthorized", err, "Unauthorized");
        return false;
    }
    if (*code != KL_OK) {
        return false;
    }
    if (!answer->sim->has_rbac && *answer->ask.impersonated == '\0' &&
        *answer->ask.impersonated_groups == '\0') {
        return true; /* without RBAC every user may do everything */
    }
    path = kl__malloc(room);
    if (path == NULL) {
        *code = kl_error_set(err, KL_ENOMEM, "out of memory for a request");
        return false;
    }
    describe_deed(&answer->ask, &deed, path, verb);
    may = impersonate_user(answer, &deed, code, err);
    if (may && answer->sim->has_rbac) {
        may = kl__sim_rbac_allows(answer->sim, kl__sim_who(answer), &deed, why,
                                  code, err);
        if (!may && *code == KL_OK) {
            *code = refuse_deed(answer, &deed, why, err);
        }
    }
    kl__free(path);
    return may;
}

kl_code kl__sim_creation_authorize(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    kl__sim_deed deed;
    kl__sim_status status = {.code = 403,
                             .reason = "Forbidden",
                             .has_details = true,
                             .name = route->name,
                             .group = route->group,
                             .kind = route->plural};
    char why[KL__SIM_WHY_SIZE];
    kl_code code = KL_OK;

    if (!answer->sim->has_rbac) {
        return KL_OK;
    }
    describe_deed(&answer->ask, &deed, NULL, NULL); /* it names a resource */
    deed.verb = "create";
    if (kl__sim_rbac_allows(answer->sim, kl__sim_who(answer), &deed, why, &code,
                            err) ||
        code != KL_OK) {
        return code;
    }
    snprintf(status.message, sizeof(status.message),
             "%.200s%s%.200s \"%.300s\" is forbidden: %s", route->plural,
             *route->group != '\0' ? "." : "", route->group, route->name, why);
    return kl__sim_answer_status(answer, &status, err);
}
