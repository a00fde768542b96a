/*
 * load.h - the struct behind kl_config, and loading with test parameters. For
 * the files of config/ and for specs.
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
    atomic_int refs;           /* acquire-release: the last unref frees */
    _Atomic kl__forks made_in; /* relaxed: see kl__config_check_process */
    /* Never changes but for credentials (kl__config_adopt), which are read in a
     * flight or with the mutex held. */
    kl__settings settings;
    int plugin_timeout_ms; /* never changes */
    bool is_secure;        /* HTTPS: credentials are sent; never changes */

    /* Guards the fields down to the next comment; rank CLIENT. */
    kl__mutex mutex;
    kl__cond landed;      /* a refresh has ended */
    bool flying;          /* a thread is refreshing the credentials */
    uint64_t flight;      /* number of the current or last refresh */
    kl_error failure;     /* of the last refresh; code KL_OK: none */
    bool rejected;        /* after a 401: run the plugin again */
    bool renews;          /* the flight runs the plugin */
    int64_t plugin_since; /* start of the plugin, real clock; -1: none runs */
    uint64_t generation;  /* of `tls` and `authorization`; 0: not set */
    kl__tls *tls;
    char *authorization; /* NULL: no Authorization header */

    /* Used by the thread that has set `flying`, without the mutex; else with
     * the mutex held. */
    kl__file ca;
    kl__file cert;
    kl__file key;
    kl__file token;
    kl__exec_credential plugin;
    bool has_plugin_credential;
    bool stale; /* these are newer than `tls` and `authorization` */
};

/*
 * Exchanges the credentials of two configs of one server: certificate
 * authority, client certificate, tokens, password, impersonation. `fresh`
 * has been used by nothing, and is then freed by the caller. KL_ECONFLICT:
 * something else differs, or one has a plugin, and nothing was exchanged;
 * KL_EFORKED. Thread-safe.
 */
kl_code kl__config_adopt(kl_config *config, kl_config *fresh, kl_error *err);

/* kl__config_is_still, for a caller that holds the mutex, or has the config to
 * itself. */
bool kl__config_is_still_locked(const kl_config *config);

/* The token in the text of a token file, without the whitespace around it. */
const char *kl__token_trim(const char *text, size_t *length);

/* Parameters that only specs change; zeroed: as kl_config_load. */
typedef struct kl__config_seams {
    const char *service_account; /* folder with token, ca.crt, namespace */
    int plugin_timeout_ms;       /* 0: 60 s */
} kl__config_seams;

/* As kl_config_load, with test parameters; `seams` may be NULL. */
kl_config *kl__config_load(const kl_config_options *options,
                           const kl__config_seams *seams, kl_error *err);

/* Finds and reads the settings. The caller frees them, also after a failure. */
kl_code kl__settings_load(const kl_config_options *options,
                          const kl__config_seams *seams, kl__settings *settings,
                          kl_error *err);

#endif
