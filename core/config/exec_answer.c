/*
 * exec_answer.c - see exec_answer.h.
 */
#include "config/exec_answer.h"

#include "base/str.h"
#include "config/timestamp.h"
#include "http/pem.h"
#include "kubelua/manifest.h"
#include "kubelua/value.h"

#include <string.h>

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
