/*
 * config.c - makes and frees a kl_config: the server, namespace and credentials
 * of one cluster. The part that changes while the program runs (rotated tokens
 * and certificates) is in credentials.c.
 */
#include "config/load.h"

#include "base/mem.h"
#include "base/str.h"
#include "http/pem.h"
#include "kubelua/log.h"

#include <string.h>
#include <strings.h>

enum { PLUGIN_TIMEOUT_MS = 60000 };

static const char *pem_complaint(const char *text)
{
    return strstr(text, "-----BEGIN") != NULL ? NULL : "holds no PEM";
}

static const char *key_complaint(const char *text)
{
    return kl__pem_has_passphrase(text) ? KL__PEM_PASSPHRASE
                                        : pem_complaint(text);
}

static const char *token_complaint(const char *text)
{
    size_t length;

    text = kl__token_trim(text, &length);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] <= 0x20 || text[i] == 0x7f) {
            return "holds more than a token";
        }
    }
    return length > 0 ? NULL : "is empty";
}

static bool init_file(kl__file *file, const char *path,
                      const char *(*complaint)(const char *text))
{
    file->complaint = complaint;
    file->path = kl__strdup(path);
    return path == NULL || file->path != NULL;
}

static void free_config(kl_config *config)
{
    kl__settings_deinit(&config->settings);
    kl__file_deinit(&config->ca);
    kl__file_deinit(&config->cert);
    kl__file_deinit(&config->key);
    kl__file_deinit(&config->token);
    kl__exec_credential_clear(&config->plugin);
    kl__secret_free(&config->authorization);
    kl__tls_unref(config->tls);
    kl__cond_deinit(&config->landed);
    kl__mutex_deinit(&config->mutex);
    kl__free(config);
}

static void warn_of_plain_http(const kl__settings *settings)
{
    if (settings->token != NULL || settings->token_file != NULL ||
        settings->username != NULL || settings->exec != NULL) {
        kl_log(KL_LOG_WARN,
               "%s: the server is plain http, so no credentials are sent to it",
               settings->source);
    }
}

kl_config *kl__config_load(const kl_config_options *options,
                           const kl__config_seams *seams, kl_error *err)
{
    static const kl_config_options no_options;
    static const kl__config_seams no_seams;
    kl_config *config = kl__calloc(1, sizeof(*config));

    if (config == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a config");
        return NULL;
    }
    seams = seams != NULL ? seams : &no_seams;
    atomic_init(&config->refs, 1);
    atomic_init(&config->made_in, kl__process_here());
    config->stale = true;
    config->plugin_since = -1;
    kl__mutex_init(&config->mutex, KL__RANK_CLIENT);
    kl__cond_init(&config->landed);
    config->plugin_timeout_ms = seams->plugin_timeout_ms != 0
                                    ? seams->plugin_timeout_ms
                                    : PLUGIN_TIMEOUT_MS;
    if (kl__settings_load(options != NULL ? options : &no_options, seams,
                          &config->settings, err) != KL_OK) {
        free_config(config);
        return NULL;
    }
    config->is_secure = strncasecmp(config->settings.server, "https:", 6) == 0;
    if (!init_file(&config->ca, config->settings.ca.file, pem_complaint) ||
        !init_file(&config->cert, config->settings.cert.file, pem_complaint) ||
        !init_file(&config->key, config->settings.key.file, key_complaint) ||
        !init_file(&config->token, config->settings.token_file,
                   token_complaint)) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a config");
        free_config(config);
        return NULL;
    }
    if (!config->is_secure) {
        warn_of_plain_http(&config->settings);
    }
    return config;
}

kl_code kl__config_check_process(kl_config *config, kl_error *err)
{
    kl__forks made_in =
        atomic_load_explicit(&config->made_in, memory_order_relaxed);

    /* If nothing else holds a reference, no thread of the parent was using the
     * config at the fork: the child may take it over. */
    if (made_in != kl__process_here() &&
        atomic_load_explicit(&config->refs, memory_order_relaxed) == 1) {
        made_in = kl__process_here();
        atomic_store_explicit(&config->made_in, made_in, memory_order_relaxed);
    }
    return kl__check_process(made_in, err);
}

kl_config *kl_config_load(const kl_config_options *options, kl_error *err)
{
    return kl__config_load(options, NULL, err);
}

kl_config *kl_config_ref(kl_config *config)
{
    atomic_fetch_add_explicit(&config->refs, 1, memory_order_relaxed);
    return config;
}

void kl_config_unref(kl_config *config)
{
    if (config != NULL && atomic_fetch_sub_explicit(
                              &config->refs, 1, memory_order_acq_rel) == 1) {
        free_config(config);
    }
}

const char *kl_config_server(const kl_config *config)
{
    return config->settings.server;
}

const char *kl_config_namespace(const kl_config *config)
{
    return config->settings.name_space;
}

const char *kl_config_source(const kl_config *config)
{
    return config->settings.source;
}
