/*
 * exec_credential.h - runs an exec credential plugin, such as the one of a
 * cloud provider, to get a token or a client certificate
 * (client.authentication.k8s.io v1 and v1beta1;
 * docs/KUBERNETES.md#exec-credentials).
 */
#ifndef KL_CONFIG_EXEC_CREDENTIAL_H
#define KL_CONFIG_EXEC_CREDENTIAL_H

#include "base/buf.h"
#include "base/cancel.h"
#include "config/settings.h"
#include "kubelua/error.h"

#include <stdint.h>

/* The answer of a plugin; owns its strings. */
typedef struct kl__exec_credential {
    char *token; /* NULL: none */
    char *cert;  /* PEM, with `key`; NULL: none */
    char *key;
    int64_t refresh_at_ms; /* wall clock; INT64_MAX: never */
} kl__exec_credential;

/*
 * Runs the plugin of the settings. `ca` is the cluster's CA as PEM (NULL:
 * none), which is passed to the plugin if provideClusterInfo is set. KL_ECONFIG
 * with the plugin's standard error, or its install hint if the program is
 * missing, or what is wrong with its answer; KL_ETIMEOUT, KL_ECANCELED (within
 * 50 ms), KL_ENOMEM. Thread-safe.
 */
kl_code kl__exec_run(const kl__settings *settings, const char *ca,
                     int timeout_ms, kl__exec_credential *out,
                     kl__cancel *cancel, kl_error *err);

/* Parses the output of a plugin. Fills `out`, which is zeroed before; the
 * caller clears it, also after a failure. KL_ECONFIG: the message says what is
 * wrong with the output; KL_ENOMEM. */
kl_code kl__exec_answer_read(const kl__exec *exec, const kl__buf *output,
                             kl__exec_credential *out, kl_error *err);

/* Wipes and frees the strings; zeroes the struct. */
void kl__exec_credential_clear(kl__exec_credential *credential);

/* When to run the plugin again for a credential that expires at `expires_ms`:
 * earlier than that by a tenth of the time that is left, but by at most ten
 * seconds. A credential that has expired already by this machine's clock, which
 * may be wrong, is used for ten seconds; else every request would run the
 * plugin. After a 401 the plugin is run at once. */
int64_t kl__exec_refresh_at(int64_t now_ms, int64_t expires_ms);

#endif
