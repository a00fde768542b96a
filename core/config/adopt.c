/*
 * adopt.c - gives a config the credentials of another one for the same server,
 * while requests use it: a fleet's Secret has a new token or certificate. The
 * next request has them; see credentials.c for how they are published.
 */
#include "config/load.h"

#include "base/clock.h"
#include "base/str.h"

#include <string.h>

/* A thread that reads files is waited for so long; one that waits for a file
 * system of the network is not. */
enum { LONGEST_FLIGHT_MS = 50 };

/* What a client cannot change; NULL: nothing of that differs. */
static const char *find_difference(const kl_config *a, const kl_config *b)
{
    const kl__settings *left = &a->settings, *right = &b->settings;

    if (!kl__streq(left->server, right->server)) {
        return "server";
    }
    if (!kl__streq(left->name_space, right->name_space)) {
        return "namespace";
    }
    if (!kl__streq(left->tls_server_name, right->tls_server_name)) {
        return "tls-server-name";
    }
    if (!kl__streq(left->proxy_url, right->proxy_url) ||
        !kl__streq(left->environment_proxy, right->environment_proxy)) {
        return "proxy-url";
    }
    if (left->insecure != right->insecure) {
        return "insecure-skip-tls-verify";
    }
    if (left->exec != NULL || right->exec != NULL) {
        return "exec";
    }
    /* a client whose credentials never needed a file has no thread for it */
    return kl__config_is_still_locked(a) && !kl__config_is_still_locked(b)
               ? "tokenFile"
               : NULL;
}

#define SWAP(type, a, b)       \
    do {                       \
        type between__ = *(a); \
                               \
        *(a) = *(b);           \
        *(b) = between__;      \
    } while (0)

static void swap_settings(kl__settings *a, kl__settings *b)
{
    SWAP(kl__pem, &a->ca, &b->ca);
    SWAP(kl__pem, &a->cert, &b->cert);
    SWAP(kl__pem, &a->key, &b->key);
    SWAP(char *, &a->token, &b->token);
    SWAP(char *, &a->token_file, &b->token_file);
    SWAP(char *, &a->username, &b->username);
    SWAP(char *, &a->password, &b->password);
    for (size_t i = 0; i < KL__MAX_CREDENTIAL_HEADERS - 1; i++) {
        SWAP(kl__header, &a->impersonation[i], &b->impersonation[i]);
    }
    SWAP(size_t, &a->impersonation_count, &b->impersonation_count);
}

/* While no flight is on, the files belong to the thread that has the mutex. */
static void swap_locked(kl_config *config, kl_config *fresh)
{
    swap_settings(&config->settings, &fresh->settings);
    SWAP(kl__file, &config->ca, &fresh->ca);
    SWAP(kl__file, &config->cert, &fresh->cert);
    SWAP(kl__file, &config->key, &fresh->key);
    SWAP(kl__file, &config->token, &fresh->token);
    config->stale = true;
    config->rejected = false;
}

static void wait_for_flight_locked(kl_config *config)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + LONGEST_FLIGHT_MS;
    bool is_early = true;

    while (config->flying && is_early) {
        is_early = kl__cond_wait(&config->landed, &config->mutex, deadline);
    }
}

kl_code kl__config_adopt(kl_config *config, kl_config *fresh, kl_error *err)
{
    const char *difference;
    bool is_flying;
    kl_code code = kl__config_check_process(config, err);

    if (code != KL_OK) {
        return code;
    }
    kl__mutex_lock(&config->mutex);
    wait_for_flight_locked(config);
    is_flying = config->flying;
    difference = find_difference(config, fresh);
    if (!is_flying && difference == NULL) {
        swap_locked(config, fresh);
    }
    kl__mutex_unlock(&config->mutex);
    if (difference != NULL) {
        return kl_error_set(err, KL_ECONFLICT,
                            "%s is another one: that needs a new client",
                            difference);
    }
    return is_flying ? kl_error_set(err, KL_ECONFLICT,
                                    "its present credentials are being read: "
                                    "that needs a new client")
                     : KL_OK;
}
