/*
 * credentials.c - see credentials.h. One thread at a time refreshes the
 * credentials (a "flight"): it reads files and runs the plugin without the
 * lock, while other threads wait for the result.
 */
#include "config/credentials.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/load.h"
#include "config/timestamp.h"
#include "kubelua/log.h"

#include <string.h>
#include <strings.h>

static kl_code no_memory_for_credentials(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for credentials");
}

const char *kl__token_trim(const char *text, size_t *length)
{
    static const char space[] = " \t\r\n\v\f";

    text += strspn(text, space);
    *length = strlen(text);
    while (*length > 0 && strchr(space, text[*length - 1]) != NULL) {
        (*length)--;
    }
    return text;
}

/* A plugin is run only if the configuration has no other way to
 * authenticate. */
static bool uses_plugin(const kl_config *config)
{
    const kl__settings *settings = &config->settings;

    return config->is_secure && settings->exec != NULL &&
           settings->token == NULL && settings->token_file == NULL &&
           settings->username == NULL && settings->password == NULL &&
           settings->cert.text == NULL && settings->cert.file == NULL;
}

bool kl__config_is_still_locked(const kl_config *config)
{
    return !config->is_secure ||
           (config->ca.path == NULL && config->cert.path == NULL &&
            config->key.path == NULL && config->token.path == NULL &&
            !uses_plugin(config));
}

bool kl__config_is_still(kl_config *config)
{
    bool is_still;

    kl__mutex_lock(&config->mutex);
    is_still = kl__config_is_still_locked(config);
    kl__mutex_unlock(&config->mutex);
    return is_still;
}

/* What a flight is to do. */
typedef struct flight_plan {
    kl__cancel *cancel;
    bool reads_only; /* it runs no plugin, and reads no pipe: cancelled then */
    bool rejected;   /* the plugin's credential was */
} flight_plan;

/* The result of a flight. */
typedef struct cargo {
    kl__tls *tls;
    char *authorization;
} cargo;

/* "Basic " and base64 of "user:password". */
static char *basic_authorization(const kl__settings *settings)
{
    const char *user = settings->username != NULL ? settings->username : "";
    const char *password = settings->password != NULL ? settings->password : "";
    char *pair = kl__strprintf("%s:%s", user, password);
    kl__buf text = {0};

    if (pair == NULL) {
        return NULL;
    }
    kl__buf_puts(&text, "Basic ");
    kl__base64_encode(&text, pair, strlen(pair));
    kl__secret_free(&pair);
    return kl__buf_take(&text, NULL);
}

static kl_code make_authorization(const kl_config *config, char **out,
                                  kl_error *err)
{
    const kl__settings *settings = &config->settings;
    const char *token = settings->token;
    size_t length = token != NULL ? strlen(token) : 0;

    *out = NULL;
    if (config->token.text != NULL) {
        token = kl__token_trim(config->token.text, &length);
    } else if (config->plugin.token != NULL) {
        token = config->plugin.token;
        length = strlen(token);
    }
    if (token != NULL) {
        *out = kl__strprintf("Bearer %.*s", (int)length, token);
    } else if (settings->username != NULL || settings->password != NULL) {
        *out = basic_authorization(settings);
    } else {
        return KL_OK;
    }
    return *out != NULL ? KL_OK : no_memory_for_credentials(err);
}

/* The PEM text of a setting: its data, or the content of its file. */
static const char *pem_of(const kl__pem *pem, const kl__file *file)
{
    return pem->text != NULL ? pem->text : file->text;
}

static bool same_tls(const kl__tls_options *a, const kl__tls_options *b)
{
    return kl__streq(a->ca, b->ca) && kl__streq(a->cert, b->cert) &&
           kl__streq(a->key, b->key);
}

static void warn_of_broken_cas(const kl__settings *settings, const kl__tls *tls)
{
    int left_out = kl__tls_left_out(tls);

    if (left_out > 0) {
        kl_log(KL_LOG_WARN,
               "%s: %d of the certificates of its certificate authority cannot "
               "be read and %s not trusted",
               settings->ca.file != NULL ? settings->ca.file : settings->source,
               left_out, left_out == 1 ? "is" : "are");
    }
}

/* The present TLS settings: the same object as before if nothing has
 * changed. */
static kl_code make_tls(const kl_config *config, kl__tls **out, kl_error *err)
{
    const kl__settings *settings = &config->settings;
    kl__tls_options options = {.ca = pem_of(&settings->ca, &config->ca),
                               .cert = pem_of(&settings->cert, &config->cert),
                               .key = pem_of(&settings->key, &config->key),
                               .server_name = settings->tls_server_name,
                               .insecure = settings->insecure};

    if (options.cert == NULL) {
        options.cert = config->plugin.cert;
        options.key = config->plugin.key;
    }
    if (config->tls != NULL && same_tls(&options, kl__tls_get(config->tls))) {
        *out = kl__tls_ref(config->tls);
        return KL_OK;
    }
    *out = kl__tls_new(&options);
    if (*out == NULL) {
        return no_memory_for_credentials(err);
    }
    warn_of_broken_cas(settings, *out);
    return KL_OK;
}

/* Reads the token file. If it cannot be read, the token in the configuration is
 * used instead. */
static kl_code refresh_token(kl_config *config, bool *changed,
                             const kl__cancel *cancel, kl_error *err)
{
    kl_error why;
    kl_code code = kl__file_refresh(&config->token, changed, cancel, &why);

    if (code == KL_OK) {
        return KL_OK;
    }
    if (code == KL_ENOMEM || code == KL_ECANCELED ||
        config->settings.token == NULL) {
        return kl_error_set(err, code, "%s", why.message);
    }
    if (!config->token.warned) {
        kl_log(KL_LOG_WARN, "%s; the token of %s is used instead", why.message,
               config->settings.source);
        config->token.warned = true;
    }
    return KL_OK;
}

static kl_code refresh_files(kl_config *config, bool *changed,
                             const kl__cancel *cancel, kl_error *err)
{
    kl_code code = kl__file_refresh(&config->ca, changed, cancel, err);

    if (code == KL_OK) {
        code = kl__file_refresh(&config->cert, changed, cancel, err);
    }
    if (code == KL_OK) {
        code = kl__file_refresh(&config->key, changed, cancel, err);
    }
    return code == KL_OK ? refresh_token(config, changed, cancel, err) : code;
}

static bool has_pipe(const kl_config *config)
{
    return kl__file_may_wait(&config->ca) || kl__file_may_wait(&config->cert) ||
           kl__file_may_wait(&config->key) || kl__file_may_wait(&config->token);
}

static void set_plugin_since(kl_config *config, int64_t since)
{
    kl__mutex_lock(&config->mutex);
    config->plugin_since = since;
    kl__mutex_unlock(&config->mutex);
}

/* True if the plugin has to run: it has given no credential yet, or one that is
 * rejected or expires. */
static bool must_run_plugin(const kl_config *config, bool rejected)
{
    return uses_plugin(config) &&
           (!config->has_plugin_credential || rejected ||
            kl__timestamp_now() >= config->plugin.refresh_at_ms);
}

static kl_code refresh_plugin(kl_config *config, bool rejected,
                              kl__cancel *cancel, bool *changed, kl_error *err)
{
    const char *ca = pem_of(&config->settings.ca, &config->ca);
    kl__exec_credential fresh;
    kl_code code;

    if (!must_run_plugin(config, rejected)) {
        return KL_OK;
    }
    set_plugin_since(config, kl__clock_now(kl__clock_real()));
    code = kl__exec_run(&config->settings, ca, config->plugin_timeout_ms,
                        &fresh, cancel, err);
    set_plugin_since(config, -1);
    if (code != KL_OK) {
        /* A rejected credential is not used again. An expired one is kept: the
         * next call runs the plugin again anyway. */
        config->has_plugin_credential =
            config->has_plugin_credential && !rejected;
        return code;
    }
    kl__exec_credential_clear(&config->plugin);
    config->plugin = fresh;
    config->has_plugin_credential = true;
    *changed = true;
    return KL_OK;
}

/* The work of a flight, without the lock. */
static kl_code refresh_all(kl_config *config, const flight_plan *plan,
                           cargo *out, kl_error *err)
{
    kl_code code;

    if (!config->is_secure) {
        return KL_OK;
    }
    if (plan->reads_only && has_pipe(config)) {
        return kl_error_set(err, KL_ECANCELED, "a file has to be waited for");
    }
    code = refresh_files(config, &config->stale, plan->cancel, err);
    if (code == KL_OK && !plan->reads_only) {
        code = refresh_plugin(config, plan->rejected, plan->cancel,
                              &config->stale, err);
    }
    if (code == KL_OK && config->stale) {
        code = make_tls(config, &out->tls, err);
    }
    if (code == KL_OK && config->stale) {
        code = make_authorization(config, &out->authorization, err);
    }
    return code;
}

/* Replaces the credentials by the result of a flight. */
static void publish_locked(kl_config *config, cargo *fresh)
{
    if (!config->stale) {
        return;
    }
    kl__tls_unref(config->tls);
    kl__secret_free(&config->authorization);
    config->tls = fresh->tls;
    config->authorization = fresh->authorization;
    *fresh = (cargo){.tls = NULL};
    config->generation++;
    config->stale = false;
}

/* Refreshes the credentials. The mutex is unlocked meanwhile. */
static void run_flight_locked(kl_config *config, flight_plan plan)
{
    cargo fresh = {.tls = NULL};
    kl_error why = {.code = KL_OK};
    kl_code code;

    config->flying = true;
    config->flight++;
    if (!plan.reads_only) {
        plan.rejected = config->rejected;
        config->rejected = false;
        config->renews = must_run_plugin(config, plan.rejected);
    }
    kl__mutex_unlock(&config->mutex);
    code = refresh_all(config, &plan, &fresh, &why);
    kl__mutex_lock(&config->mutex);
    if (code == KL_OK) {
        publish_locked(config, &fresh);
        why.code = KL_OK;
    }
    kl__tls_unref(fresh.tls);
    kl__secret_free(&fresh.authorization);
    config->failure = why;
    config->flying = false;
    config->renews = false;
    kl__cond_broadcast(&config->landed);
}

/* Waits until the current flight has ended, or `cancel` is fired. */
static void wait_for_flight_locked(kl_config *config, const kl__cancel *cancel)
{
    uint64_t flight = config->flight;

    while (config->flying && config->flight == flight &&
           !kl__cancel_fired(cancel)) {
        kl__cond_wait(&config->landed, &config->mutex, -1);
    }
}

/*
 * Refreshes the credentials, or waits for the thread that already does. The
 * result of that thread counts for this call, too, with two exceptions: its
 * flight was cancelled, or its credentials were rejected meanwhile.
 */
static kl_code refresh_locked(kl_config *config, kl__cancel *cancel)
{
    while (config->flying && !kl__cancel_fired(cancel)) {
        wait_for_flight_locked(config, cancel);
        if (!config->rejected && !config->flying &&
            config->failure.code != KL_ECANCELED) {
            return config->failure.code;
        }
    }
    if (kl__cancel_fired(cancel)) {
        return KL_ECANCELED;
    }
    run_flight_locked(config, (flight_plan){.cancel = cancel});
    return config->failure.code;
}

static bool add_header(kl__credentials *out, const char *name,
                       const char *value)
{
    kl__header *header = &out->headers[out->header_count];

    *header =
        (kl__header){.name = kl__strdup(name), .value = kl__strdup(value)};
    out->header_count++;
    return header->name != NULL && header->value != NULL;
}

/* With "socks5:" libcurl resolves names itself; Go's clients let the proxy do
 * it, and private clusters need that. In libcurl that is "socks5h:". */
static char *copy_proxy(const char *url)
{
    return strncasecmp(url, "socks5://", 9) == 0
               ? kl__strprintf("socks5h://%s", url + 9)
               : kl__strdup(url);
}

static kl_code copy_credentials_locked(const kl_config *config,
                                       kl__credentials *out, kl_error *err)
{
    const kl__settings *settings = &config->settings;
    const char *proxy = settings->proxy_url != NULL
                            ? settings->proxy_url
                            : settings->environment_proxy;
    bool ok = true;

    out->generation = config->generation;
    if (config->tls != NULL) {
        out->tls = kl__tls_ref(config->tls);
    }
    if (proxy != NULL) {
        out->proxy_url = copy_proxy(proxy);
        ok = out->proxy_url != NULL;
    }
    if (ok && config->authorization != NULL) {
        ok = add_header(out, "Authorization", config->authorization);
    }
    for (size_t i = 0; ok && i < settings->impersonation_count; i++) {
        ok = add_header(out, settings->impersonation[i].name,
                        settings->impersonation[i].value);
    }
    return ok ? KL_OK : no_memory_for_credentials(err);
}

/* The cancel token's hook; runs on the thread that fires the token. */
static void wake_waiters(void *arg)
{
    kl_config *config = arg;

    kl__mutex_lock(&config->mutex);
    kl__cond_broadcast(&config->landed);
    kl__mutex_unlock(&config->mutex);
}

kl_code kl__config_credentials(kl_config *config, kl__credentials *out,
                               kl__cancel *cancel, kl_error *err)
{
    kl__cancel_hook hook = {.wake = wake_waiters, .arg = config};
    kl_code code = kl__config_check_process(config, err);

    *out = (kl__credentials){.tls = NULL};
    if (code != KL_OK) {
        return code;
    }
    if (!kl__cancel_add(cancel, &hook)) {
        return kl_error_set(err, KL_ECANCELED, "cancelled");
    }
    kl__mutex_lock(&config->mutex);
    code = refresh_locked(config, cancel);
    if (code == KL_OK) {
        code = copy_credentials_locked(config, out, err);
    } else if (code == KL_ECANCELED) {
        kl_error_set(err, code, "cancelled while waiting for credentials");
    } else {
        kl_error_set(err, code, "%s", config->failure.message);
    }
    kl__mutex_unlock(&config->mutex);
    kl__cancel_remove(cancel, &hook);
    if (code != KL_OK) {
        kl__credentials_clear(out);
    }
    return code;
}

kl_code kl__config_credentials_now(kl_config *config, kl__credentials *out,
                                   bool *must_wait, kl_error *err)
{
    kl_code code = kl__config_check_process(config, err);

    *out = (kl__credentials){.tls = NULL};
    *must_wait = false;
    if (code != KL_OK) {
        return code;
    }
    kl__mutex_lock(&config->mutex);
    if (config->flying || must_run_plugin(config, config->rejected)) {
        code = KL_ECANCELED;
    } else {
        run_flight_locked(config, (flight_plan){.reads_only = true});
        code = config->failure.code;
    }
    if (code == KL_OK) {
        code = copy_credentials_locked(config, out, err);
    } else if (code == KL_ECANCELED) {
        *must_wait = true;
    } else {
        kl_error_set(err, code, "%s", config->failure.message);
    }
    kl__mutex_unlock(&config->mutex);
    if (code != KL_OK) {
        kl__credentials_clear(out);
    }
    return *must_wait ? KL_OK : code;
}

void kl__credentials_clear(kl__credentials *credentials)
{
    for (size_t i = 0; i < credentials->header_count; i++) {
        char *value = (char *)credentials->headers[i].value;

        kl__free((char *)credentials->headers[i].name);
        kl__secret_free(&value);
    }
    kl__secret_free(&credentials->proxy_url);
    kl__tls_unref(credentials->tls);
    *credentials = (kl__credentials){.tls = NULL};
}

bool kl__config_rejected(kl_config *config, uint64_t generation,
                         kl__cancel *cancel)
{
    kl__cancel_hook hook = {.wake = wake_waiters, .arg = config};
    bool may_differ;

    if (kl__config_check_process(config, NULL) != KL_OK ||
        !kl__cancel_add(cancel, &hook)) {
        return false;
    }
    kl__mutex_lock(&config->mutex);
    if (generation == config->generation && !uses_plugin(config)) {
        refresh_locked(config, cancel); /* a file may have changed */
    } else if (generation == config->generation && !config->renews) {
        config->rejected = true;
    }
    /* a plugin that runs now gives other credentials than those */
    may_differ =
        config->rejected || config->renews || generation != config->generation;
    kl__mutex_unlock(&config->mutex);
    kl__cancel_remove(cancel, &hook);
    return may_differ;
}

bool kl__config_renewed(kl_config *config, uint64_t generation)
{
    bool is_renewed;

    if (kl__config_check_process(config, NULL) != KL_OK) {
        return false;
    }
    kl__mutex_lock(&config->mutex);
    if (generation == config->generation && !uses_plugin(config)) {
        refresh_locked(config, NULL);
    }
    is_renewed = generation != config->generation;
    kl__mutex_unlock(&config->mutex);
    return is_renewed;
}

int64_t kl__config_plugin_ms(kl_config *config, const char **command)
{
    int64_t since;

    kl__mutex_lock(&config->mutex);
    since = config->plugin_since;
    kl__mutex_unlock(&config->mutex);
    if (since < 0) {
        return -1;
    }
    *command = config->settings.exec->args[0];
    return kl__clock_now(kl__clock_real()) - since;
}
