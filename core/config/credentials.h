/*
 * credentials.h - the credentials for a request, at the moment it is sent: TLS
 * settings, Authorization and impersonation headers, proxy. Token and
 * certificate files are read again when they change; an exec plugin is run
 * again when its credential expires, or after a 401.
 */
#ifndef KL_CONFIG_CREDENTIALS_H
#define KL_CONFIG_CREDENTIALS_H

#include "base/buf.h"
#include "base/cancel.h"
#include "http/tls.h"
#include "http/transport.h"
#include "kubelua/config.h"

#include <stdint.h>

enum { KL__MAX_CREDENTIAL_HEADERS = 24 }; /* most are for impersonation */

/* Owned by the caller until cleared. */
typedef struct kl__credentials {
    kl__tls *tls;    /* NULL: plain HTTP; unchanged settings: the same object */
    char *proxy_url; /* NULL: none; HTTPS_PROXY etc. are already applied */
    kl__header headers[KL__MAX_CREDENTIAL_HEADERS]; /* owned strings */
    size_t header_count;
    uint64_t generation; /* pass it to kl__config_rejected */
} kl__credentials;

/*
 * Fills `out` with the present credentials: reads changed files again, and runs
 * the exec plugin if its credential has expired. That may take long; `cancel`
 * (may be NULL) ends it within 50 ms. If several threads call at once, one of
 * them does the work and the others wait for its result. KL_ECONFIG with the
 * remedy (and the plugin's stderr), KL_ETIMEOUT (of a plugin), KL_ECANCELED,
 * KL_ENOMEM, KL_EFORKED. After a failure there is nothing to clear.
 * Thread-safe.
 */
kl_code kl__config_credentials(kl_config *config, kl__credentials *out,
                               kl__cancel *cancel, kl_error *err);

/*
 * As kl__config_credentials, if nothing has to be waited for: files are read
 * again, but no plugin is run. If the plugin has to run or a file is a pipe, or
 * while another thread refreshes the credentials, `*must_wait` is set, and the
 * result is KL_OK with nothing to clear. Thread-safe.
 */
kl_code kl__config_credentials_now(kl_config *config, kl__credentials *out,
                                   bool *must_wait, kl_error *err);

/* True if kl__config_credentials never reads a file or runs a plugin: the
 * kubeconfig contains the credentials itself, or none are used. Once true, it
 * stays so. Thread-safe. */
bool kl__config_is_still(kl_config *config);

/*
 * The time in milliseconds for which the exec plugin has been running; -1: it
 * is not running. While it runs, all requests that need credentials wait, and
 * `command` gets its name as configured, borrowed from the config. Does not
 * wait. Thread-safe.
 */
int64_t kl__config_plugin_ms(kl_config *config, const char **command);

/* Wipes and frees what it owns; zeroed or cleared credentials are fine. */
void kl__credentials_clear(kl__credentials *credentials);

/*
 * Call after a 401 (docs/KUBERNETES.md#unauthorized): the server has refused
 * the credentials of this generation. True if a second try may succeed: the
 * plugin will be run again (once, even if many requests report the same
 * generation), a file has changed, or newer credentials exist already. Reads
 * files; `cancel` (may be NULL) ends that within 50 ms. Thread-safe.
 */
bool kl__config_rejected(kl_config *config, uint64_t generation,
                         kl__cancel *cancel);

/* True if the credentials differ from those of `generation`, which the server
 * has refused. Reads changed files, but runs no plugin. Thread-safe. */
bool kl__config_renewed(kl_config *config, uint64_t generation);

/* KL_EFORKED in a child of fork() if anything else holds a reference to the
 * config. A config with one reference becomes the child's own. */
kl_code kl__config_check_process(kl_config *config, kl_error *err);

#endif
