/*
 * settings.h - the settings for one cluster: server, CA, credentials, proxy,
 * namespace. They come from a kubeconfig or a service account, and from
 * options. Written once, while loading; only read after that.
 */
#ifndef KL_CONFIG_SETTINGS_H
#define KL_CONFIG_SETTINGS_H

#include "config/credentials.h"
#include "kubelua/config.h"

#include <stdbool.h>
#include <stddef.h>

/* A PEM text: as data, or in a file, which may change. At most one is set. */
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
    char *server; /* after kl__settings_finish: without a slash at the end */
    char *name_space;
    char *tls_server_name;
    char *proxy_url;         /* from the configuration */
    char *environment_proxy; /* from HTTPS_PROXY etc., if `proxy_url` is NULL */
    bool insecure;
    kl__pem ca;
    kl__pem cert;
    kl__pem key;
    char *token;
    char *token_file; /* if it can be read, it replaces `token` */
    char *username;
    char *password;
    kl__header impersonation[KL__MAX_CREDENTIAL_HEADERS - 1];
    size_t impersonation_count;
    kl__exec *exec;
} kl__settings;

/* Wipes and frees all strings; zeroes the struct. */
void kl__settings_deinit(kl__settings *settings);

/* Wipes the text; frees both strings. */
void kl__pem_clear(kl__pem *pem);

/* Wipes and frees one string and sets it to NULL. */
void kl__secret_free(char **secret);

/* Checks the options that are texts: KL_ECONFIG, with a message that names the
 * option, but never has its text. */
kl_code kl__settings_check_options(const kl_config_options *options,
                                   kl_error *err);

/* Replaces settings by the options that are set, by the rules of kubectl's
 * flags: a CA clears "insecure", and "insecure" clears the CA; a server clears
 * the server name for TLS; a token clears every other token, the password and
 * the plugin, but not the client certificate. KL_ENOMEM. */
kl_code kl__settings_override(kl__settings *settings,
                              const kl_config_options *options, kl_error *err);

/* Checks that the settings are consistent, and fills in the default namespace
 * and the proxy of the environment. KL_ECONFIG, KL_ENOMEM. */
kl_code kl__settings_finish(kl__settings *settings, kl_error *err);

/* Adds a header "Impersonate-..."; copies both strings. KL_ECONFIG: too many;
 * KL_ENOMEM. */
kl_code kl__settings_impersonate(kl__settings *settings, const char *name,
                                 const char *value, kl_error *err);

#endif
