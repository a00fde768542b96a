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
    kl__tls *tls;
    char *proxy_url; /* NULL: none; environment already considered */
    kl__header headers[KL__MAX_CREDENTIAL_HEADERS]; /* owned strings */
    size_t header_count;
    uint64_t generation; /* for kl__config_rejected */
} kl__credentials;

/*
 * Fills `out` with what is valid now: files that changed are read again, an
 * exec plugin whose credential has expired is run (it may take long; cancelled
 * within 50 ms through `cancel`, which may be NULL). KL_ECONFIG with the
 * remedy (and a plugin's stderr), KL_ECANCELED, KL_ENOMEM. Thread-safe.
 */
kl_code kl__config_credentials(kl_config *config, kl__credentials *out,
                               kl__cancel *cancel, kl_error *err);
void kl__credentials_clear(kl__credentials *credentials);

/* Says that the server answered 401 to credentials of that generation: cached
 * ones are dropped. Returns whether a second try may differ. Thread-safe. */
bool kl__config_rejected(kl_config *config, uint64_t generation);

#endif
