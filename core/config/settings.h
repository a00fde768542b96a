/*
 * settings.h - what a configuration came to, wherever it came from: kubeconfig,
 * service account or options. Written once, while loading; then only read.
 */
#ifndef KL_CONFIG_SETTINGS_H
#define KL_CONFIG_SETTINGS_H

#include "config/credentials.h"
#include "kubelua/config.h"

#include <stdbool.h>
#include <stddef.h>

/* A PEM text: as data, or in a file that may change. At most one is set. */
typedef struct kl__pem {
    char *text;
    char *file;
} kl__pem;

/* An exec credential plugin. */
typedef struct kl__exec {
    char **args; /* the command first; ends with NULL */
    char **env;  /* "NAME=value", ends with NULL; may be NULL */
    char *api_version;
    char *install_hint; /* may be NULL */
    bool provide_cluster;
    char *cluster_config; /* JSON of the cluster's extension, or NULL */
} kl__exec;

/* Strings are owned; NULL: absent. */
typedef struct kl__settings {
    char *source;
    char *server; /* after kl__settings_finish: no slash at its end */
    char *name_space;
    char *tls_server_name;
    char *proxy_url;         /* of the configuration */
    char *environment_proxy; /* where that has none */
    bool insecure;
    kl__pem ca;
    kl__pem cert;
    kl__pem key;
    char *token;
    char *token_file; /* wins over `token` */
    char *username;
    char *password;
    kl__header impersonation[KL__MAX_CREDENTIAL_HEADERS - 1];
    size_t impersonation_count;
    kl__exec *exec;
} kl__settings;

/* Wipes and frees what it owns; zeroes it. */
void kl__settings_deinit(kl__settings *settings);

/* Wipes and frees what it holds. */
void kl__pem_clear(kl__pem *pem);

/* Wipes and frees one string and sets it to NULL. */
void kl__secret_free(char **secret);

/* Puts the options over the settings, by the rules of kubectl's flags: a CA
 * replaces "insecure" and the other way round, another server forgets the name
 * to verify, a token replaces every other way to authenticate. KL_ENOMEM. */
kl_code kl__settings_override(kl__settings *settings,
                              const kl_config_options *options, kl_error *err);

/* Checks that it can work, and fills in what follows from the rest: the
 * default namespace, the environment's proxy. KL_ECONFIG, KL_ENOMEM. */
kl_code kl__settings_finish(kl__settings *settings, kl_error *err);

/* One more header "Impersonate-..."; takes neither string. KL_ECONFIG: more
 * than fit. */
kl_code kl__settings_impersonate(kl__settings *settings, const char *name,
                                 const char *value, kl_error *err);

#endif
