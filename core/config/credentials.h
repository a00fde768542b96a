/*
 * credentials.h - what a request needs to be let in, at the moment it is sent:
 * tokens and certificates rotate, plugins are run when theirs expire.
 */
#ifndef KL_CONFIG_CREDENTIALS_H
#define KL_CONFIG_CREDENTIALS_H

#include "base/buf.h"
#include "base/cancel.h"
#include "http/tls.h"
#include "http/transport.h"
#include "kubelua/config.h"

#include <stdint.h>

enum { KL__MAX_CREDENTIAL_HEADERS = 24 }; /* impersonation takes most */

/* Owned by the caller until cleared. */
typedef struct kl__credentials {
    kl__tls *tls;    /* NULL: the server speaks plain HTTP. The same object as
                        long as nothing of it has changed */
    char *proxy_url; /* NULL: none; environment already considered */
    kl__header headers[KL__MAX_CREDENTIAL_HEADERS]; /* owned strings */
    size_t header_count;
    uint64_t generation; /* for kl__config_rejected */
} kl__credentials;

/*
 * Fills `out` with what is valid now: files that changed are read again, an
 * exec plugin whose credential has expired is run (it may take long; cancelled
 * within 50 ms through `cancel`, which may be NULL). However many ask at once,
 * one of them does it and the others wait. KL_ECONFIG with the remedy (and a
 * plugin's stderr), KL_ETIMEOUT (of a plugin), KL_ECANCELED, KL_ENOMEM,
 * KL_EFORKED. Nothing is to be cleared after a failure. Thread-safe.
 */
kl_code kl__config_credentials(kl_config *config, kl__credentials *out,
                               kl__cancel *cancel, kl_error *err);

/* True if getting them never waits, for a file or a plugin: all of them stand
 * in the configuration, or the server takes none. It stays so. Thread-safe. */
bool kl__config_is_still(const kl_config *config);

/*
 * For how many milliseconds the exec plugin has been running, on whose answer
 * whoever needs credentials now waits; -1: it does not run. `command` is its
 * name then, as configured; borrowed from the config. Does not wait.
 * Thread-safe.
 */
int64_t kl__config_plugin_ms(kl_config *config, const char **command);

/* Wipes and frees; a zeroed or cleared one is fine. */
void kl__credentials_clear(kl__credentials *credentials);

/*
 * Says that the server answered 401 to credentials of that generation. Returns
 * whether a second try may differ: a plugin will be run again (once, whoever
 * else reports the same generation), a file has changed meanwhile, or another
 * generation is there already. Thread-safe.
 */
bool kl__config_rejected(kl_config *config, uint64_t generation);

/* True if the credentials are others than those of `generation`, which a server
 * has refused: their files are looked at, but no plugin is run. Thread-safe. */
bool kl__config_renewed(kl_config *config, uint64_t generation);

/* KL_EFORKED in a child of fork(), if something else held the config at the
 * fork or holds it now; one that nothing has used yet is the child's own. */
kl_code kl__config_check_process(kl_config *config, kl_error *err);

#endif
