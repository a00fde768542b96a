/*
 * config.h - which cluster, and as whom: kubeconfig, in-cluster, or by hand.
 */
#ifndef KUBELUA_CONFIG_H
#define KUBELUA_CONFIG_H

#include "kubelua/error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_config kl_config;

/*
 * Every field may be NULL, false or 0. Where `server` is set, no kubeconfig is
 * read unless `kubeconfig` or `context` is set too; the other fields override
 * what a kubeconfig says.
 */
typedef struct kl_config_options {
    const char *kubeconfig; /* a path; several with ':' are merged */
    const char *context;
    const char *server; /* "https://host:port/prefix" */
    const char *token;
    const char *token_file; /* read again when it changes */
    const char *ca_file;    /* the same */
    const char *ca_data;    /* PEM; wins over ca_file */
    const char *cert_file;
    const char *key_file;
    const char *name_space; /* of the config; else the context's, "default" */
    const char *tls_server_name;
    const char *proxy_url;
    bool insecure; /* no verification of the server's certificate */
} kl_config_options;

/*
 * Finds and reads the configuration as client-go does: `options`, else
 * KUBECONFIG (several files merged), else ~/.kube/config, else the service
 * account of the pod. One reference for the caller. No network. NULL:
 * KL_ECONFIG naming file, line and remedy; KL_ENOMEM. Thread-safe.
 */
KL_API kl_config *kl_config_load(const kl_config_options *options,
                                 kl_error *err);

/* One reference more; returns `config`. Thread-safe. */
KL_API kl_config *kl_config_ref(kl_config *config);

/* One reference less; the last one frees it, keys wiped. Thread-safe. */
KL_API void kl_config_unref(kl_config *config);

/* Borrowed from the config, never NULL. Thread-safe. */
KL_API const char *kl_config_server(const kl_config *config);
KL_API const char *kl_config_namespace(const kl_config *config);
/* Where it came from: "/root/.kube/config, context kind", "in-cluster". */
KL_API const char *kl_config_source(const kl_config *config);

#ifdef __cplusplus
}
#endif
#endif
