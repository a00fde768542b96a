/*
 * kubeconfig.h - kubeconfig files, merged, and what a context of them means.
 */
#ifndef KL_CONFIG_KUBECONFIG_H
#define KL_CONFIG_KUBECONFIG_H

#include "base/buf.h"
#include "config/kubeconfig_file.h"
#include "config/settings.h"

typedef struct kl__kubeconfig_request {
    const char *paths;   /* with ':' between them */
    const char *context; /* NULL: the current one */
    bool must_exist;     /* a missing file is an error, not skipped */
} kl__kubeconfig_request;

/*
 * Reads the files and fills `settings` from the context. Of entries of the same
 * name the first file's wins, whole; so does the first current-context. True in
 * `*usable` unless there is nothing to use: no file, an empty one, no current
 * context; then `why` gets the reason, and a remedy. KL_ECONFIG with file, line
 * and remedy; KL_ENOMEM. The settings are to be released in any case.
 */
kl_code kl__kubeconfig_read(const kl__kubeconfig_request *request,
                            kl__settings *settings, bool *usable, kl__buf *why,
                            kl_error *err);

/* kubeconfig_user.c: fills in what an entry of "users" says. */
kl_code kl__kubeconfig_read_user(const kl__entry *user, kl__settings *settings,
                                 kl_error *err);

#endif
