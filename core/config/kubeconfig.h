/*
 * kubeconfig.h - reads one or more kubeconfig files, and fills the settings
 * from one of their contexts (a cluster, a user and a namespace).
 */
#ifndef KL_CONFIG_KUBECONFIG_H
#define KL_CONFIG_KUBECONFIG_H

#include "base/buf.h"
#include "config/kubeconfig_file.h"
#include "config/settings.h"

typedef struct kl__kubeconfig_request {
    const char *paths;   /* separated by ':' */
    const char *text;    /* a kubeconfig itself; NULL: the paths are read */
    const char *context; /* NULL: current-context of the files */
    bool must_exist;     /* a missing file is an error, not skipped */
} kl__kubeconfig_request;

/*
 * Reads the files and fills `settings` from the context. If several files have
 * an entry with the same name, the entry of the first file is used as a whole;
 * so is the first current-context. `*usable` is false if there is nothing to
 * use (no file, empty files, no current-context); then `why` gets the reason
 * and a remedy. KL_ECONFIG with file, line and remedy; KL_ETOO_LARGE;
 * KL_ENOMEM. The caller frees the settings, also after a failure.
 */
kl_code kl__kubeconfig_read(const kl__kubeconfig_request *request,
                            kl__settings *settings, bool *usable, kl__buf *why,
                            kl_error *err);

/* Fills `settings` from an entry of "users". In kubeconfig_user.c. */
kl_code kl__kubeconfig_read_user(const kl__entry *user, kl__settings *settings,
                                 kl_error *err);

#endif
