/*
 * settings.c - see settings.h.
 */
#include "config/settings.h"

#include "base/mem.h"
#include "base/namespace.h"
#include "base/str.h"
#include "config/proxy.h"
#include "http/pem.h"
#include "http/url.h"

#include <string.h>
#include <strings.h>

void kl__secret_free(char **secret)
{
    if (*secret != NULL) {
        kl__wipe(*secret, strlen(*secret));
        kl__free(*secret);
        *secret = NULL;
    }
}

static void free_all(char **texts)
{
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++) {
        kl__secret_free(&texts[i]);
    }
    kl__free(texts);
}

static void free_exec(kl__exec *exec)
{
    if (exec == NULL) {
        return;
    }
    free_all(exec->args);
    free_all(exec->env);
    kl__free(exec->api_version);
    kl__free(exec->install_hint);
    kl__free(exec->cluster_config);
    kl__free(exec);
}

void kl__pem_clear(kl__pem *pem)
{
    kl__secret_free(&pem->text);
    kl__free(pem->file);
    pem->file = NULL;
}

void kl__settings_deinit(kl__settings *settings)
{
    kl__free(settings->source);
    kl__secret_free(&settings->server); /* may hold a password */
    kl__free(settings->name_space);
    kl__free(settings->tls_server_name);
    kl__secret_free(&settings->proxy_url); /* may hold a password */
    kl__secret_free(&settings->environment_proxy);
    kl__pem_clear(&settings->ca);
    kl__pem_clear(&settings->cert);
    kl__pem_clear(&settings->key);
    kl__secret_free(&settings->token);
    kl__free(settings->token_file);
    kl__free(settings->username);
    kl__secret_free(&settings->password);
    for (size_t i = 0; i < settings->impersonation_count; i++) {
        kl__free((char *)settings->impersonation[i].name);
        kl__free((char *)settings->impersonation[i].value);
    }
    free_exec(settings->exec);
    *settings = (kl__settings){0};
}

/* Replaces `*to` by a copy of `text`, unless `text` is NULL. */
static bool replace_text(char **to, const char *text)
{
    char *copy;

    if (text == NULL) {
        return true;
    }
    copy = kl__strdup(text);
    if (copy == NULL) {
        return false;
    }
    kl__secret_free(to);
    *to = copy;
    return true;
}

static bool put_pem(kl__pem *pem, const char *text, const char *file)
{
    if (text == NULL && file == NULL) {
        return true;
    }
    kl__pem_clear(pem);
    return text != NULL ? replace_text(&pem->text, text)
                        : replace_text(&pem->file, file);
}

/* Clears the tokens, the password and the plugin of the configuration: a token
 * in the options replaces them. The client certificate stays. */
static void clear_credentials(kl__settings *settings)
{
    kl__secret_free(&settings->token);
    kl__free(settings->token_file);
    settings->token_file = NULL;
    kl__free(settings->username);
    settings->username = NULL;
    kl__secret_free(&settings->password);
    free_exec(settings->exec);
    settings->exec = NULL;
}

/* Checks one PEM text of the options. */
static kl_code check_data(const char *name, const char *text, const char *label,
                          kl_error *err)
{
    if (text == NULL) {
        return KL_OK;
    }
    if (strncmp(text, "LS0tLS", 6) == 0) { /* "-----" in base64 */
        return kl_error_set(err, KL_ECONFIG,
                            "%s is base64 of a PEM text, as a kubeconfig or a "
                            "Secret has it: decode it first",
                            name);
    }
    if (strstr(text, label) == NULL) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s holds no PEM: it must have a line "
                            "\"-----BEGIN ...%s\"",
                            name, label);
    }
    return KL_OK;
}

static kl_code fail_both(const char *one, const char *other, kl_error *err)
{
    return kl_error_set(err, KL_ECONFIG, "both %s and %s are given; keep one",
                        one, other);
}

kl_code kl__settings_check_options(const kl_config_options *options,
                                   kl_error *err)
{
    kl_code code;

    if (options->kubeconfig_text != NULL && options->kubeconfig != NULL) {
        return fail_both("kubeconfig_text", "kubeconfig", err);
    }
    if (options->cert_data != NULL && options->cert_file != NULL) {
        return fail_both("cert_data", "cert_file", err);
    }
    if (options->key_data != NULL && options->key_file != NULL) {
        return fail_both("key_data", "key_file", err);
    }
    if (kl__pem_has_passphrase(options->key_data)) {
        return kl_error_set(err, KL_ECONFIG, "key_data %s", KL__PEM_PASSPHRASE);
    }
    code = check_data("cert_data", options->cert_data, "CERTIFICATE-----", err);
    return code == KL_OK ? check_data("key_data", options->key_data,
                                      "PRIVATE KEY-----", err)
                         : code;
}

kl_code kl__settings_override(kl__settings *settings,
                              const kl_config_options *options, kl_error *err)
{
    bool has_ca = options->ca_data != NULL || options->ca_file != NULL;
    bool ok;

    if (options->token != NULL || options->token_file != NULL) {
        clear_credentials(settings);
    }
    if (options->insecure || has_ca) {
        kl__pem_clear(&settings->ca);
        settings->insecure = options->insecure;
    }
    if (options->server != NULL) {
        kl__free(settings->tls_server_name);
        settings->tls_server_name = NULL;
    }
    ok = replace_text(&settings->server, options->server) &&
         replace_text(&settings->token, options->token) &&
         replace_text(&settings->token_file, options->token_file) &&
         put_pem(&settings->ca, options->ca_data, options->ca_file) &&
         put_pem(&settings->cert, options->cert_data, options->cert_file) &&
         put_pem(&settings->key, options->key_data, options->key_file) &&
         replace_text(&settings->name_space, options->name_space) &&
         replace_text(&settings->tls_server_name, options->tls_server_name) &&
         replace_text(&settings->proxy_url, options->proxy_url);
    return ok ? KL_OK
              : kl_error_set(err, KL_ENOMEM, "out of memory for a config");
}

kl_code kl__settings_impersonate(kl__settings *settings, const char *name,
                                 const char *value, kl_error *err)
{
    enum {
        ROOM =
            sizeof(settings->impersonation) / sizeof(settings->impersonation[0])
    };
    kl__header header = {.name = NULL};

    if (settings->impersonation_count == ROOM) {
        return kl_error_set(err, KL_ECONFIG,
                            "more than %d headers to impersonate a user; leave "
                            "groups or extra values out",
                            ROOM);
    }
    header.name = kl__strdup(name);
    header.value = kl__strdup(value);
    if (header.name == NULL || header.value == NULL) {
        kl__free((char *)header.name);
        kl__free((char *)header.value);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a config");
    }
    settings->impersonation[settings->impersonation_count++] = header;
    return KL_OK;
}

/* True if the text may stand in a header: it has no control character. */
static bool is_header_value(const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

static kl_code check_user(const kl__settings *settings, kl_error *err)
{
    bool has_cert = settings->cert.text != NULL || settings->cert.file != NULL;
    bool has_key = settings->key.text != NULL || settings->key.file != NULL;

    if (has_cert != has_key) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s: a client %s without its %s; give both",
                            settings->source, has_cert ? "certificate" : "key",
                            has_cert ? "key" : "certificate");
    }
    if ((settings->username != NULL || settings->password != NULL) &&
        (settings->token != NULL || settings->token_file != NULL)) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s: both a token and a username; keep one",
                            settings->source);
    }
    if (!is_header_value(settings->token)) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s: the token holds a line break or a control "
                            "character",
                            settings->source);
    }
    for (size_t i = 0; i < settings->impersonation_count; i++) {
        if (!is_header_value(settings->impersonation[i].value)) {
            return kl_error_set(err, KL_ECONFIG,
                                "%s: the value for %s holds a control "
                                "character",
                                settings->source,
                                settings->impersonation[i].name);
        }
    }
    return KL_OK;
}

/* Makes the server's URL a prefix that "/api/..." can follow. */
static kl_code finish_server(kl__settings *settings, kl_error *err)
{
    char *server = settings->server;
    char shown[256];
    char *host, *end;

    if (strstr(server, "://") == NULL) {
        /* "host:port" means http, as in client-go */
        server = kl__strprintf("http://%s", server);
        if (server == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a config");
        }
        kl__free(settings->server);
        settings->server = server;
    }
    host = strstr(server, "://") + 3;
    kl__url_show(shown, sizeof(shown), server);
    if ((strncasecmp(server, "https://", 8) != 0 &&
         strncasecmp(server, "http://", 7) != 0) ||
        *host == '\0' || *host == '/' || *host == ':' || *host == '?' ||
        *host == '#' || strpbrk(server, " \t\r\n") != NULL) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s: server \"%s\" is no URL of the form "
                            "https://host:port",
                            settings->source, shown);
    }
    server[strcspn(server, "?#")] = '\0';
    end = server + strlen(server);
    while (end > host && end[-1] == '/') {
        *--end = '\0';
    }
    return KL_OK;
}

kl_code kl__settings_finish(kl__settings *settings, kl_error *err)
{
    kl_code code = finish_server(settings, err);
    kl_error why;

    if (code == KL_OK) {
        code = check_user(settings, err);
    }
    if (code != KL_OK) {
        return code;
    }
    if (settings->insecure &&
        (settings->ca.text != NULL || settings->ca.file != NULL)) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s: a certificate authority and "
                            "insecure-skip-tls-verify contradict each other; "
                            "remove one",
                            settings->source);
    }
    if (settings->name_space == NULL || settings->name_space[0] == '\0') {
        if (!replace_text(&settings->name_space, "default")) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a config");
        }
    }
    if (kl__namespace_check(settings->name_space, &why) != KL_OK) {
        return kl_error_set(err, KL_ECONFIG, "%s: %s", settings->source,
                            why.message);
    }
    if (settings->proxy_url != NULL && settings->proxy_url[0] == '\0') {
        kl__secret_free(&settings->proxy_url);
    }
    if (settings->proxy_url == NULL) {
        return kl__proxy_from_environment(settings->server,
                                          &settings->environment_proxy, err);
    }
    code = kl__proxy_check(settings->proxy_url, err);
    if (code != KL_OK) {
        kl_error_prefix(err, "%s: proxy-url", settings->source);
    }
    return code;
}
