/*
 * exec_credential.c - see exec_credential.h. The output of a plugin is an
 * ExecCredential in JSON or YAML, with a token or a certificate.
 */
#include "config/exec_credential.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/process.h"
#include "config/timestamp.h"
#include "http/pem.h"
#include "kubelua/manifest.h"
#include "kubelua/value.h"
#include "kubelua/writer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static kl_code no_memory_for_answer(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a credential");
}

/* Parses the single document of the output. A second one is an error. */
static kl_code take_answer(void *context, const char *json, size_t length,
                           kl_error *err)
{
    kl_doc **doc = context;

    if (*doc != NULL) {
        return kl_error_set(err, KL_EPARSE, "more than one document");
    }
    *doc = kl_doc_parse(json, length, err);
    return *doc != NULL ? KL_OK : err->code;
}

static kl_code fail_answer(const kl__exec *exec, kl_error *err,
                           const char *complaint)
{
    return kl_error_set(err, KL_ECONFIG, "exec plugin %s: its answer %s",
                        exec->args[0], complaint);
}

static kl_code check_type(const kl__exec *exec, const kl_value *root,
                          kl_error *err)
{
    const char *kind = kl_value_string(kl_value_get(root, "kind"), NULL);
    const char *version =
        kl_value_string(kl_value_get(root, "apiVersion"), NULL);

    if (!kl__streq(kind, "ExecCredential")) {
        return fail_answer(exec, err, "is no ExecCredential");
    }
    if (!kl__streq(version, exec->api_version)) {
        return kl_error_set(err, KL_ECONFIG,
                            "exec plugin %s: answers with apiVersion %.80s, "
                            "the kubeconfig says %s; make them the same",
                            exec->args[0], version != NULL ? version : "(none)",
                            exec->api_version);
    }
    return KL_OK;
}

/* Copies a text of the status, if it is present and not empty, for the
 * caller. */
static kl_code read_text(const kl__exec *exec, const kl_value *status,
                         const char *name, char **out, kl_error *err)
{
    size_t length = 0;
    const kl_value *value = kl_value_get(status, name);
    const char *text = kl_value_type(value) == KL_STRING
                           ? kl_value_string(value, &length)
                           : NULL;

    if (length == 0) {
        return KL_OK;
    }
    if (strlen(text) != length) {
        return kl_error_set(err, KL_ECONFIG,
                            "exec plugin %s: its answer has a NUL character "
                            "in status.%s",
                            exec->args[0], name);
    }
    *out = kl__strndup(text, length);
    return *out != NULL ? KL_OK : no_memory_for_answer(err);
}

static kl_code read_expiry(const kl__exec *exec, const kl_value *status,
                           kl__exec_credential *out, kl_error *err)
{
    const kl_value *value = kl_value_get(status, "expirationTimestamp");
    const char *text = kl_value_string(value, NULL);
    int64_t expires_ms;

    out->refresh_at_ms = INT64_MAX;
    if (kl_value_type(value) == KL_NULL) {
        return KL_OK;
    }
    if (text == NULL || !kl__timestamp_parse(text, &expires_ms)) {
        return fail_answer(exec, err,
                           "has an expirationTimestamp that is no RFC 3339 "
                           "time");
    }
    out->refresh_at_ms = kl__exec_refresh_at(kl__timestamp_now(), expires_ms);
    return KL_OK;
}

/* True if the text can stand in a header: no spaces or control characters. */
static bool is_token(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text <= 0x20 || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

static kl_code check_credential(const kl__exec *exec,
                                const kl__exec_credential *credential,
                                kl_error *err)
{
    if ((credential->cert == NULL) != (credential->key == NULL)) {
        return fail_answer(exec, err,
                           "has a certificate without a key, or the other way "
                           "round");
    }
    if (credential->token == NULL && credential->cert == NULL) {
        return fail_answer(exec, err,
                           "has neither a token nor a certificate in its "
                           "status");
    }
    if (credential->token != NULL && !is_token(credential->token)) {
        return fail_answer(exec, err, "has a token with a space in it");
    }
    if (credential->cert != NULL &&
        (strstr(credential->cert, "-----BEGIN") == NULL ||
         strstr(credential->key, "-----BEGIN") == NULL)) {
        return fail_answer(exec, err,
                           "has a certificate or key that is no PEM");
    }
    if (kl__pem_has_passphrase(credential->key)) {
        return fail_answer(exec, err, "has a key that " KL__PEM_PASSPHRASE);
    }
    return KL_OK;
}

kl_code kl__exec_answer_read(const kl__exec *exec, const kl__buf *output,
                             kl__exec_credential *out, kl_error *err)
{
    kl_doc *doc = NULL;
    const kl_value *status;
    kl_error why;
    kl_code code = kl_manifest_each(output->bytes, output->length, take_answer,
                                    &doc, &why);

    if (code == KL_ENOMEM) {
        kl_doc_unref(doc);
        return no_memory_for_answer(err);
    }
    if (code != KL_OK || doc == NULL) {
        kl_doc_unref(doc);
        return kl_error_set(
            err, KL_ECONFIG, "exec plugin %s: its answer is no JSON: %s",
            exec->args[0], code != KL_OK ? why.message : "it is empty");
    }
    status = kl_value_get(kl_doc_root(doc), "status");
    code = check_type(exec, kl_doc_root(doc), err);
    if (code == KL_OK) {
        code = read_text(exec, status, "token", &out->token, err);
    }
    if (code == KL_OK) {
        code =
            read_text(exec, status, "clientCertificateData", &out->cert, err);
    }
    if (code == KL_OK) {
        code = read_text(exec, status, "clientKeyData", &out->key, err);
    }
    if (code == KL_OK) {
        code = check_credential(exec, out, err);
    }
    if (code == KL_OK) {
        code = read_expiry(exec, status, out, err);
    }
    kl_doc_unref(doc);
    return code;
}

enum {
    MAX_OUTPUT = 1024 * 1024,
    REFRESH_EARLY_MS = 10000,
    RETRY_EXPIRED_MS = 10000
};

#define INFO_NAME "KUBERNETES_EXEC_INFO"

static kl_code no_memory_for_plugin(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a credential");
}

void kl__exec_credential_clear(kl__exec_credential *credential)
{
    kl__secret_free(&credential->token);
    kl__secret_free(&credential->cert);
    kl__secret_free(&credential->key);
    *credential = (kl__exec_credential){.token = NULL};
}

int64_t kl__exec_refresh_at(int64_t now_ms, int64_t expires_ms)
{
    int64_t lifetime = expires_ms - now_ms;
    int64_t early = lifetime / 10;

    if (lifetime <= 0) {
        return now_ms + RETRY_EXPIRED_MS;
    }
    return expires_ms - (early > REFRESH_EARLY_MS ? REFRESH_EARLY_MS
                         : early > 0              ? early
                                                  : 0);
}

static void write_text(kl_writer *writer, const char *name, const char *text)
{
    if (text != NULL) {
        kl_writer_name(writer, name, strlen(name));
        kl_writer_string(writer, text, strlen(text));
    }
}

/* Writes spec.cluster: the cluster that the credential is for. */
static void write_cluster(kl_writer *writer, const kl__settings *settings,
                          const char *ca_base64)
{
    kl_writer_name(writer, "cluster", 7);
    kl_writer_begin_object(writer);
    write_text(writer, "server", settings->server);
    write_text(writer, "tls-server-name", settings->tls_server_name);
    if (settings->insecure) {
        kl_writer_name(writer, "insecure-skip-tls-verify", 24);
        kl_writer_bool(writer, true);
    }
    write_text(writer, "certificate-authority-data", ca_base64);
    write_text(writer, "proxy-url", settings->proxy_url);
    if (settings->exec->cluster_config != NULL) {
        kl_writer_name(writer, "config", 6);
        kl_writer_raw(writer, settings->exec->cluster_config,
                      strlen(settings->exec->cluster_config));
    }
    kl_writer_end_object(writer);
}

/* Returns "KUBERNETES_EXEC_INFO={..}", the plugin's input; owned by the caller.
 * NULL when out of memory. */
static char *make_exec_info(const kl__settings *settings, const char *ca)
{
    kl_writer *writer = kl_writer_new();
    kl__buf ca_base64 = {0};
    const char *json;
    char *text = NULL;

    if (writer == NULL) {
        return NULL;
    }
    if (ca != NULL) {
        kl__base64_encode(&ca_base64, ca, strlen(ca));
    }
    kl_writer_begin_object(writer);
    write_text(writer, "kind", "ExecCredential");
    write_text(writer, "apiVersion", settings->exec->api_version);
    kl_writer_name(writer, "spec", 4);
    kl_writer_begin_object(writer);
    if (settings->exec->provide_cluster) {
        write_cluster(writer, settings, ca_base64.bytes);
    }
    kl_writer_name(writer, "interactive", 11);
    kl_writer_bool(writer, false);
    kl_writer_end_object(writer);
    kl_writer_end_object(writer);
    json = ca_base64.failed ? NULL : kl_writer_finish(writer, NULL, NULL);
    if (json != NULL) {
        text = kl__strprintf(INFO_NAME "=%s", json);
    }
    kl__buf_deinit(&ca_base64);
    kl_writer_free(writer);
    return text;
}

/* True if two texts "NAME=value" have the same name. */
static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");

    return strncmp(a, b, length) == 0 && b[length] == '=';
}

/* True if one of the variables `added`, or `info`, has the same name: then that
 * one replaces this variable. */
static bool is_replaced(const char *variable, char *const *added,
                        const char *info)
{
    for (; added != NULL && *added != NULL; added++) {
        if (same_name(*added, variable)) {
            return true;
        }
    }
    return same_name(info, variable);
}

/* This process's environment, in which the plugin's variables replace the ones
 * with the same names. The caller owns the array; its strings are borrowed. */
static char **make_environment(char *const *added, char *info)
{
    size_t count = 2, n = 0;
    char **all;

    for (char **each = environ; each != NULL && *each != NULL; each++) {
        count++;
    }
    for (char *const *each = added; each != NULL && *each != NULL; each++) {
        count++;
    }
    all = kl__calloc(count, sizeof(*all));
    if (all == NULL) {
        return NULL;
    }
    for (char **each = environ; each != NULL && *each != NULL; each++) {
        if (!is_replaced(*each, added, info)) {
            all[n++] = *each;
        }
    }
    for (char *const *each = added; each != NULL && *each != NULL; each++) {
        if (!is_replaced(*each, each + 1, info)) {
            all[n++] = *each;
        }
    }
    all[n] = info;
    return all;
}

/* The error for a plugin that has failed, with its standard error. */
static kl_code fail_exit(const kl__exec *exec, const kl__process_result *result,
                         kl_error *err)
{
    const char *said = result->errors.length > 0 ? result->errors.bytes : "";

    return kl_error_set(err, KL_ECONFIG, "exec plugin %s failed (%s %d)%s%s",
                        exec->args[0],
                        result->exited ? "exit status" : "signal",
                        result->status, said[0] != '\0' ? ": " : "", said);
}

/* The error for a plugin that could not be run, did not end or wrote too
 * much. */
static kl_code fail_run(const kl__exec *exec, kl_code code, const kl_error *why,
                        const kl__process_result *result, kl_error *err)
{
    const char *said = result->errors.length > 0 ? result->errors.bytes : "";

    if (code == KL_ENOT_FOUND) {
        return kl_error_set(err, KL_ECONFIG, "exec plugin: %s; %s",
                            why->message,
                            exec->install_hint != NULL
                                ? exec->install_hint
                                : "install it, or put its folder into PATH");
    }
    if (code == KL_EIO || code == KL_ETOO_LARGE) {
        code = KL_ECONFIG;
    }
    return kl_error_set(err, code, "exec plugin: %s%s%s", why->message,
                        said[0] != '\0' ? ": " : "", said);
}

static kl_code run_plugin(const kl__settings *settings, const char *ca,
                          int timeout_ms, kl__process_result *result,
                          kl__cancel *cancel, kl_error *err)
{
    const kl__exec *exec = settings->exec;
    char *info = make_exec_info(settings, ca);
    char **env = info != NULL ? make_environment(exec->env, info) : NULL;
    kl__process process = {.args = exec->args,
                           .env = env,
                           .max_output = MAX_OUTPUT,
                           .timeout_ms = timeout_ms};
    kl_error why;
    kl_code code;

    *result = (kl__process_result){.status = 0};
    if (env == NULL) {
        kl__free(info);
        return no_memory_for_plugin(err);
    }
    code = kl__process_run(&process, result, cancel, &why);
    kl__free(env);
    kl__free(info);
    if (code != KL_OK) {
        return fail_run(exec, code, &why, result, err);
    }
    return result->unknown || (result->exited && result->status == 0)
               ? KL_OK
               : fail_exit(exec, result, err);
}

kl_code kl__exec_run(const kl__settings *settings, const char *ca,
                     int timeout_ms, kl__exec_credential *out,
                     kl__cancel *cancel, kl_error *err)
{
    kl__process_result result;
    kl_code code = run_plugin(settings, ca, timeout_ms, &result, cancel, err);

    *out = (kl__exec_credential){.token = NULL};
    if (code == KL_OK) {
        code = kl__exec_answer_read(settings->exec, &result.output, out, err);
    }
    if (code != KL_OK) {
        kl__exec_credential_clear(out);
    }
    kl__process_result_deinit(&result);
    return code;
}
