/*
 * config.h - the address of a cluster and the user's credentials: read from a
 * kubeconfig or the pod's service account, or given by the caller. A client
 * (client.h) is made of it.
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
 * Every field may be NULL, false or 0. If `server` is set, no kubeconfig is
 * read unless `kubeconfig`, `kubeconfig_text` or `context` is set too. The
 * other fields override what a kubeconfig says. All texts are copied, and keys
 * are wiped when the config is freed.
 */
typedef struct kl_config_options {
    const char *kubeconfig; /* a path; several with ':' are merged */
    /* A kubeconfig itself, YAML or JSON, instead of a path; relative paths in
     * it begin in the working folder. KL_ECONFIG beside `kubeconfig`. */
    const char *kubeconfig_text;
    const char *context;
    const char *server; /* "https://host:port/prefix" */
    const char *token;
    const char *token_file; /* read again when it changes */
    const char *ca_file;    /* read again when it changes */
    const char *ca_data;    /* PEM; ca_file is ignored then */
    const char *cert_file;
    const char *key_file;
    /* PEM, not in base64 again; KL_ECONFIG beside the file of the same, if it
     * is no PEM, or if the key has a passphrase. */
    const char *cert_data;
    const char *key_data;
    const char *name_space; /* NULL: the context's, else "default" */
    const char *tls_server_name;
    const char *proxy_url;
    bool insecure; /* do not verify the server's certificate */
} kl_config_options;

/*
 * Finds and reads the configuration as client-go does: `options`, else
 * KUBECONFIG (several files are merged), else ~/.kube/config, else the service
 * account of the pod. Makes no connection. One reference for the caller. NULL:
 * KL_ECONFIG naming file, line and remedy; KL_ENOMEM. Thread-safe.
 */
KL_API kl_config *kl_config_load(const kl_config_options *options,
                                 kl_error *err);

/* Adds a reference; returns `config`. Thread-safe. */
KL_API kl_config *kl_config_ref(kl_config *config);

/* Drops a reference; the last drop overwrites the keys and frees the config. A
 * thread needs a reference to use it while another drops one. Thread-safe. */
KL_API void kl_config_unref(kl_config *config);

/* The server's URL and the namespace; borrowed from the config, never NULL.
 * Thread-safe. */
KL_API const char *kl_config_server(const kl_config *config);
KL_API const char *kl_config_namespace(const kl_config *config);
/* The origin of the config: "/root/.kube/config, context kind", "in-cluster".
 * Borrowed. Thread-safe. */
KL_API const char *kl_config_source(const kl_config *config);

#ifdef __cplusplus
}
#endif
#endif
