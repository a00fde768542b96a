/*
 * sim_kubeconfig.c - writes kubeconfigs for a simulated cluster, with the
 * credentials of the administrator or of a user.
 */
#include "base/base64.h"
#include "base/buf.h"
#include "json/quote.h"
#include "sim/core/http/sim_listen.h"

#include <string.h>

/* The credentials in a kubeconfig; borrowed. Each may be NULL. */
typedef struct proof {
    const char *token;
    const kl__sim_pair *pair;
} proof;

static void put_data(kl__buf *out, const char *name, const char *pem)
{
    kl__buf_printf(out, "    %s: ", name);
    kl__base64_encode(out, pem, strlen(pem));
    kl__buf_putc(out, '\n');
}

static void put_proof(kl__buf *out, const proof *given)
{
    kl__buf_puts(out, "users:\n- name: kubelua-sim\n  user:");
    if (given->pair != NULL) {
        kl__buf_putc(out, '\n');
        put_data(out, "client-certificate-data", given->pair->cert);
        put_data(out, "client-key-data", given->pair->key);
    } else if (given->token != NULL) {
        kl__buf_puts(out, "\n    token: ");
        kl__quote(out, given->token, strlen(given->token));
        kl__buf_putc(out, '\n');
    } else {
        kl__buf_puts(out, " {}\n");
    }
}

static char *write_kubeconfig(const char *url, const kl__sim_tls *tls,
                              const proof *given, kl_error *err)
{
    kl__buf out = {0};
    char *text;

    kl__buf_printf(&out,
                   "apiVersion: v1\nkind: Config\nclusters:\n"
                   "- name: kubelua-sim\n  cluster:\n    server: %s\n",
                   url);
    if (tls != NULL) {
        put_data(&out, "certificate-authority-data", tls->ca);
    }
    put_proof(&out, given);
    kl__buf_puts(&out, "contexts:\n- name: kubelua-sim\n  context:\n"
                       "    cluster: kubelua-sim\n    user: kubelua-sim\n"
                       "current-context: kubelua-sim\n");
    text = kl__buf_take(&out, NULL);
    kl__buf_deinit(&out);
    if (text == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a kubeconfig");
    }
    return text;
}

/* The URL that the cluster listens on; NULL and an error if it does not
 * listen. */
static const char *look_at_port(const kl_sim *sim, const kl__sim_tls **tls,
                                kl_error *err)
{
    const char *url = kl__sim_listener_look(sim, tls);

    if (url == NULL) {
        kl_error_set(
            err, KL_EINVAL,
            "simulator: it does not listen on a port yet: listen first");
    }
    return url;
}

char *kl_sim_kubeconfig(const kl_sim *sim, kl_error *err)
{
    kl_sim *locked = (kl_sim *)(uintptr_t)sim;
    const kl__sim_tls *tls;
    proof given = {.token = sim->token != NULL ? sim->token : sim->admin_token};
    const char *url;
    char *text = NULL;

    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return NULL;
    }
    kl__mutex_lock(&locked->listening);
    url = look_at_port(sim, &tls, err);
    if (url != NULL) {
        /* Over TLS kubectl asks for a name and a password if it has no
         * credential, so there is always a token. Over plain HTTP kubectl sends
         * no token, and warns if it has one. */
        if (given.token == NULL && tls != NULL) {
            given.token = "not-asked-for";
        }
        text = write_kubeconfig(url, tls, &given, err);
    }
    kl__mutex_unlock(&locked->listening);
    return text;
}

/* A kubeconfig with a client certificate: only a port with TLS can use one. */
static char *write_certified(const char *url, const kl__sim_tls *tls,
                             const kl_sim_user *user, kl_error *err)
{
    const char *groups = user->groups != NULL ? user->groups : "";
    kl__sim_pair pair;
    const proof given = {.pair = &pair};
    char *text;

    if (tls == NULL) {
        kl_error_set(err, KL_EINVAL,
                     "simulator: client certificates need TLS: listen with "
                     "it, or give the user a token");
        return NULL;
    }
    if (kl__sim_tls_issue(tls, user->name, groups, &pair, err) != KL_OK) {
        return NULL;
    }
    text = write_kubeconfig(url, tls, &given, err);
    kl__sim_pair_clear(&pair);
    return text;
}

char *kl_sim_kubeconfig_of(const kl_sim *sim, const kl_sim_user *user,
                           kl_error *err)
{
    kl_sim *locked = (kl_sim *)(uintptr_t)sim;
    const proof given = {.token = user->token};
    const kl__sim_tls *tls;
    const char *url;
    char *text = NULL;

    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return NULL;
    }
    if (user->name == NULL || *user->name == '\0') {
        kl_error_set(err, KL_EINVAL, "simulator: a user needs a name");
        return NULL;
    }
    kl__mutex_lock(&locked->listening);
    url = look_at_port(sim, &tls, err);
    if (url != NULL) {
        text = user->token != NULL ? write_kubeconfig(url, tls, &given, err)
                                   : write_certified(url, tls, user, err);
    }
    kl__mutex_unlock(&locked->listening);
    return text;
}
