/*
 * sim_token_request.c - TokenRequest: makes a token for a ServiceAccount (the
 * identity of a program in the cluster). A client authenticates with this
 * token.
 */
#include "sim/core/subresources/sim_below.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/access/sim_access.h"
#include "sim/core/access/sim_credentials.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/write/sim_pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HOUR = 3600, LEAST = 600 };

static const char ISSUER[] = "https://kubernetes.default.svc";

/* The token; the caller owns it. NULL: KL_ENOMEM, KL_EIO. */
static char *make_token(kl_sim *sim, const kl__sim_state *account,
                        int64_t now_s, int64_t until_s, kl_error *err)
{
    kl__sim_claim claim = {.name = account->name,
                           .uid = account->uid,
                           .audience = ISSUER,
                           .issued = now_s,
                           .expires = until_s};
    char *name_space =
        kl__strndup(account->key, kl__sim_state_namespace(account));
    char *token;

    if (name_space == NULL) {
        kl__sim_no_memory(err);
        return NULL;
    }
    claim.name_space = name_space;
    token = kl__sim_token_issue(sim, &claim, err);
    kl__free(name_space);
    return token;
}

/* Fills the fields that the request leaves out, and the token. */
static bool fill_token_request(kl__sim_answer *answer,
                               const kl__sim_state *account, kl__edit *edit,
                               int64_t seconds)
{
    int64_t unix_ms = kl__sim_clock_unix(&answer->sim->clock);
    kl__node *root = kl__edit_root(edit);
    kl__node *metadata = kl__node_ensure(edit, root, "metadata");
    kl__node *spec = kl__node_ensure(edit, root, "spec");
    kl__node *status = kl__node_ensure(edit, root, "status");
    kl__node *audiences = kl__edit_array(edit);
    char now[KL__SIM_TIME_SIZE], until[KL__SIM_TIME_SIZE];
    char *token = make_token(answer->sim, account, unix_ms / 1000,
                             unix_ms / 1000 + seconds, NULL);
    bool filled =
        token != NULL && metadata != NULL && spec != NULL && status != NULL;

    kl__sim_clock_format(unix_ms, now);
    kl__sim_clock_format(unix_ms + seconds * 1000, until);
    if (filled && kl__node_size(kl__node_get(spec, "audiences")) == 0) {
        filled = kl__node_append(audiences, kl__edit_text(edit, ISSUER)) &&
                 kl__node_put(edit, spec, "audiences", audiences);
    }
    if (filled && kl__node_get(spec, "boundObjectRef") == NULL) {
        filled =
            kl__node_put(edit, spec, "boundObjectRef", kl__edit_null(edit));
    }
    filled = filled && kl__sim_put_text(edit, root, "kind", "TokenRequest") &&
             kl__sim_put_text(edit, root, "apiVersion",
                              "authentication.k8s.io/v1") &&
             kl__sim_put_text(edit, metadata, "name", account->name) &&
             kl__sim_put_text(edit, metadata, "namespace",
                              answer->ask.route.name_space) &&
             kl__sim_put_text(edit, metadata, "uid", account->uid) &&
             kl__sim_put_text(edit, metadata, "creationTimestamp", now) &&
             kl__node_put(edit, spec, "expirationSeconds",
                          kl__edit_integer(edit, seconds)) &&
             kl__sim_put_text(edit, status, "token", token) &&
             kl__sim_put_text(edit, status, "expirationTimestamp", until);
    kl__free(token);
    return filled;
}

static kl_code answer_request(kl__sim_answer *answer,
                              const kl__sim_state *account, kl__edit *edit,
                              kl_error *err)
{
    const kl__node *given = kl__node_get(
        kl__node_get(kl__edit_root(edit), "spec"), "expirationSeconds");
    int64_t seconds =
        kl__node_is(given, KL_INTEGER) ? kl__node_integer(given) : HOUR;
    kl__sim_status status = {.group = "authentication.k8s.io",
                             .kind = "TokenRequest"};

    if (seconds < LEAST || seconds > INT32_MAX) {
        kl__sim_cause_add(
            &status, "FieldValueInvalid", "spec.expirationSeconds",
            "Invalid value: %" PRId64 ": %s", seconds,
            seconds < LEAST ? "may not specify a duration less than 10 "
                              "minutes"
                            : "may not specify a duration larger than 2^32 "
                              "seconds");
        return kl__sim_refuse_invalid(
            answer, &status, "TokenRequest.authentication.k8s.io", err);
    }
    return fill_token_request(answer, account, edit, seconds)
               ? kl__sim_answer_tree(answer, 201, edit, err)
               : kl__sim_no_memory(err);
}

kl_code kl__sim_request_token(kl__sim_answer *answer,
                              kl__sim_resource *resource, kl_error *err)
{
    kl__edit *edit;
    kl__sim_state *account;
    kl_code code = kl__sim_below_body(answer, "TokenRequest", &edit, err);

    if (code == KL_OK && answer->status == 0) {
        account = kl__sim_current(answer, resource, &code, err);
        if (account != NULL) {
            code = answer_request(answer, account, edit, err);
        }
    }
    kl__edit_free(edit);
    return code;
}
