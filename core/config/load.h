/*
 * load.h - kl_config from within: what tests can reach and users cannot.
 */
#ifndef KL_CONFIG_LOAD_H
#define KL_CONFIG_LOAD_H

#include "base/thread.h"
#include "config/exec_credential.h"
#include "config/file.h"
#include "config/settings.h"
#include "kubelua/config.h"

#include <stdatomic.h>

struct kl_config {
    atomic_int refs;           /* acquire-release: the last one frees */
    _Atomic kl__forks made_in; /* relaxed: see kl__config_check_process */
    kl__settings settings;     /* never changes */
    int plugin_timeout_ms;     /* never changes */
    bool is_secure;            /* HTTPS: credentials are sent; never changes */

    /* Guards all down to the next comment; rank CLIENT. */
    kl__mutex mutex;
    kl__cond landed;
    bool flying;          /* a thread looks after the credentials */
    uint64_t flight;      /* its number, or that of the last one */
    kl_error failure;     /* of the last one that landed; code KL_OK: none */
    bool rejected;        /* the plugin's credential is to be replaced */
    int64_t plugin_since; /* when it was started, on the real clock; -1: it does
                             not run */
    uint64_t generation;  /* of the two below; 0: nothing yet */
    kl__tls *tls;
    char *authorization; /* NULL: no such header */

    /* Touched by the thread in flight alone; `flying` hands them over. */
    kl__file ca;
    kl__file cert;
    kl__file key;
    kl__file token;
    kl__exec_credential plugin;
    bool has_plugin_credential;
    bool stale; /* something here is newer than `tls` and `authorization` */
};

/* Where the token in a file's text is: without the space around it. */
const char *kl__token_trim(const char *text, size_t *length);

/* Zeroed: what kl_config_load does. */
typedef struct kl__config_seams {
    const char *service_account; /* folder of token, ca.crt, namespace */
    int plugin_timeout_ms;       /* 0: 60 s */
} kl__config_seams;

/* As kl_config_load; `seams` may be NULL. */
kl_config *kl__config_load(const kl_config_options *options,
                           const kl__config_seams *seams, kl_error *err);

/* Finds and reads the settings; released by the caller in any case. */
kl_code kl__settings_load(const kl_config_options *options,
                          const kl__config_seams *seams, kl__settings *settings,
                          kl_error *err);

#endif
