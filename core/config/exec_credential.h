/*
 * exec_credential.h - asks an exec credential plugin for a token or a client
 * certificate (client.authentication.k8s.io v1 and v1beta1).
 */
#ifndef KL_CONFIG_EXEC_CREDENTIAL_H
#define KL_CONFIG_EXEC_CREDENTIAL_H

#include "base/cancel.h"
#include "config/settings.h"
#include "kubelua/error.h"

#include <stdint.h>

/* What a plugin answered; strings are owned. */
typedef struct kl__exec_credential {
    char *token; /* NULL: none */
    char *cert;  /* PEM, with `key`; NULL: none */
    char *key;
    int64_t refresh_at_ms; /* on the wall clock; INT64_MAX: never */
} kl__exec_credential;

/*
 * Runs the plugin of the settings. `ca` is the cluster's CA as PEM (NULL: none)
 * for a plugin that wants to know. KL_ECONFIG with what it wrote to its
 * standard error, its install hint if it is missing, or what is wrong with its
 * answer; KL_ETIMEOUT, KL_ECANCELED (within 50 ms), KL_ENOMEM. Thread-safe.
 */
kl_code kl__exec_run(const kl__settings *settings, const char *ca,
                     int timeout_ms, kl__exec_credential *out,
                     kl__cancel *cancel, kl_error *err);

/* Wipes and frees what it owns, and zeroes it. */
void kl__exec_credential_clear(kl__exec_credential *credential);

/* When to ask again for what expires then: a little before, but not so early
 * that a short-lived one would never be used. An answer that has expired by
 * this machine's clock, which may be wrong, is used for ten seconds: each
 * request would run the plugin otherwise. A 401 asks again at once. */
int64_t kl__exec_refresh_at(int64_t now_ms, int64_t expires_ms);

#endif
