/*
 * kubeconfig_user.c - reads an entry of "users" of a kubeconfig: how to
 * authenticate (token, password, certificate, exec plugin), and which user to
 * impersonate.
 */
#include "config/kubeconfig.h"

#include "base/mem.h"
#include "base/str.h"
#include "http/pem.h"

#include <string.h>

#define EXEC_GROUP "client.authentication.k8s.io/"

static kl_code no_memory_for_user(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a kubeconfig");
}

/* Checks that a PEM text is given as data or as a file, not both. */
static kl_code check_pem(const kl__entry *user, const char *file_field,
                         const char *data_field, const kl__pem *pem,
                         kl_error *err)
{
    return pem->file == NULL || pem->text == NULL
               ? KL_OK
               : kl__entry_error(user, file_field, err,
                                 "%s is set too; remove one", data_field);
}

/* Reads the client certificate and its key. A key without a certificate is
 * ignored. */
static kl_code read_certificate(const kl__entry *user, kl__settings *settings,
                                kl_error *err)
{
    kl__pem *cert = &settings->cert, *key = &settings->key;
    const kl__field fields[] = {
        {"client-certificate", &cert->file, kl__entry_path},
        {"client-certificate-data", &cert->text, kl__entry_pem},
        {"client-key", &key->file, kl__entry_path},
        {"client-key-data", &key->text, kl__entry_pem},
        {NULL, NULL, NULL}};
    kl_code code = kl__entry_fields(user, fields, err);

    if (code == KL_OK && cert->file == NULL && cert->text == NULL) {
        kl__pem_clear(key);
    }
    if (code == KL_OK) {
        code = check_pem(user, "client-certificate", "client-certificate-data",
                         cert, err);
    }
    if (code == KL_OK) {
        code = check_pem(user, "client-key", "client-key-data", key, err);
    }
    if (code == KL_OK && kl__pem_has_passphrase(key->text)) {
        code =
            kl__entry_error(user, "client-key-data", err, KL__PEM_PASSPHRASE);
    }
    if (code == KL_OK && (cert->file != NULL || cert->text != NULL) &&
        key->file == NULL && key->text == NULL) {
        code = kl__entry_error(user, NULL, err,
                               "has a client certificate without its key; add "
                               "client-key or client-key-data");
    }
    return code;
}

static kl_code fail_item(const kl__entry *entry, const char *field,
                         kl_error *err)
{
    return kl__entry_error(entry, field, err,
                           "must hold text only (quote numbers), without NUL "
                           "characters");
}

/* Allocates an array for `count` texts and a NULL at the end. */
static char **new_texts(size_t count)
{
    return kl__calloc(count + 1, sizeof(char *));
}

/* Reads the command and its arguments. */
static kl_code read_args(const kl__entry *entry, kl__exec *exec, kl_error *err)
{
    const kl_value *list, *item;
    kl_value_iter iter = {0};
    char *command = NULL;
    kl_code code = kl__entry_string(entry, "command", &command, err);

    if (code == KL_OK && command == NULL) {
        return kl__entry_error(entry, NULL, err, "has no command");
    }
    if (code == KL_OK) {
        code = kl__entry_array(entry, "args", &list, err);
    }
    exec->args = code == KL_OK ? new_texts(kl_value_size(list) + 1) : NULL;
    if (exec->args != NULL) {
        /* A command without a slash is searched in PATH. */
        exec->args[0] = strchr(command, '/') != NULL
                            ? kl__kubeconfig_path(entry->file, command)
                            : kl__strdup(command);
    }
    kl__free(command);
    if (code != KL_OK) {
        return code;
    }
    if (exec->args == NULL || exec->args[0] == NULL) {
        return no_memory_for_user(err);
    }
    for (size_t i = 1; (item = kl_value_next(list, &iter, NULL)) != NULL; i++) {
        if (kl__entry_text(item) == NULL) {
            return fail_item(entry, "args", err);
        }
        exec->args[i] = kl__strdup(kl__entry_text(item));
        if (exec->args[i] == NULL) {
            return no_memory_for_user(err);
        }
    }
    return KL_OK;
}

/* Reads env, a list of {name: .., value: ..}. */
static kl_code read_env(const kl__entry *entry, kl__exec *exec, kl_error *err)
{
    const kl_value *list, *item;
    kl_value_iter iter = {0};
    kl_code code = kl__entry_array(entry, "env", &list, err);

    if (code != KL_OK || list == NULL) {
        return code;
    }
    exec->env = new_texts(kl_value_size(list));
    if (exec->env == NULL) {
        return no_memory_for_user(err);
    }
    for (size_t i = 0; (item = kl_value_next(list, &iter, NULL)) != NULL; i++) {
        const char *name = kl__entry_text(kl_value_get(item, "name"));
        const kl_value *value = kl_value_get(item, "value");

        if (name == NULL || *name == '\0' || strchr(name, '=') != NULL) {
            return kl__entry_error(entry, "env", err,
                                   "must hold maps with a name and a value");
        }
        if (kl_value_type(value) != KL_NULL && kl__entry_text(value) == NULL) {
            return kl__entry_error(entry, "env", err,
                                   "the value of %s must be text (quote it)",
                                   name);
        }
        exec->env[i] = kl__strprintf(
            "%s=%s", name,
            kl__entry_text(value) != NULL ? kl__entry_text(value) : "");
        if (exec->env[i] == NULL) {
            return no_memory_for_user(err);
        }
    }
    return KL_OK;
}

static kl_code check_version(const kl__entry *entry, const kl__exec *exec,
                             kl_error *err)
{
    if (kl__streq(exec->api_version, EXEC_GROUP "v1") ||
        kl__streq(exec->api_version, EXEC_GROUP "v1beta1")) {
        return KL_OK;
    }
    return kl__entry_error(entry, "apiVersion", err,
                           "is %s; known are " EXEC_GROUP "v1 and v1beta1: "
                           "update the plugin, and this file with it",
                           exec->api_version != NULL ? exec->api_version
                                                     : "missing");
}

/* Checks interactiveMode. "Always" cannot work: the library never gives a
 * plugin a terminal. */
static kl_code check_mode(const kl__entry *entry, const kl__exec *exec,
                          kl_error *err)
{
    char *mode = NULL;
    kl_code code = kl__entry_string(entry, "interactiveMode", &mode, err);

    if (code != KL_OK) {
        return code;
    }
    if (mode == NULL && kl__streq(exec->api_version, EXEC_GROUP "v1")) {
        code = kl__entry_error(entry, NULL, err,
                               "has no interactiveMode, which v1 demands; add "
                               "\"interactiveMode: Never\" or IfAvailable");
    } else if (kl__streq(mode, "Always")) {
        code = kl__entry_error(entry, "interactiveMode", err,
                               "is Always, but a plugin gets no terminal here; "
                               "use IfAvailable, or a token");
    } else if (mode != NULL && !kl__streq(mode, "Never") &&
               !kl__streq(mode, "IfAvailable")) {
        code = kl__entry_error(entry, "interactiveMode", err,
                               "is \"%.40s\"; known are Never, IfAvailable "
                               "and Always",
                               mode);
    }
    kl__free(mode);
    return code;
}

static kl_code read_exec(const kl__entry *user, kl__settings *settings,
                         kl_error *err)
{
    kl__entry entry;
    kl__exec *exec;
    kl_code code = kl__entry_inner(user, "exec", &entry, err);

    if (code != KL_OK || !entry.found) {
        return code;
    }
    exec = kl__calloc(1, sizeof(*exec));
    if (exec == NULL) {
        return no_memory_for_user(err);
    }
    settings->exec = exec;
    code = kl__entry_string(&entry, "apiVersion", &exec->api_version, err);
    if (code == KL_OK) {
        code =
            kl__entry_string(&entry, "installHint", &exec->install_hint, err);
    }
    if (code == KL_OK) {
        code = kl__entry_bool(&entry, "provideClusterInfo",
                              &exec->provide_cluster, err);
    }
    if (code == KL_OK) {
        code = read_args(&entry, exec, err);
    }
    if (code == KL_OK) {
        code = read_env(&entry, exec, err);
    }
    if (code == KL_OK) {
        code = check_version(&entry, exec, err);
    }
    return code == KL_OK ? check_mode(&entry, exec, err) : code;
}

/* The error for auth-provider. The message names the exec plugin to use
 * instead: client-go 1.26 removed the providers gcp and azure. */
static kl_code refuse_provider(const kl__entry *user, kl_error *err)
{
    kl__entry entry;
    const char *name, *remedy = "use an exec credential plugin";
    kl_code code = kl__entry_inner(user, "auth-provider", &entry, err);

    if (code != KL_OK || !entry.found) {
        return code;
    }
    name = kl__entry_text(kl_value_get(entry.value, "name"));
    if (kl__streq(name, "gcp")) {
        remedy = "install gke-gcloud-auth-plugin and run gcloud container "
                 "clusters get-credentials again";
    } else if (kl__streq(name, "azure")) {
        remedy = "install kubelogin and run kubelogin convert-kubeconfig";
    } else if (kl__streq(name, "oidc")) {
        remedy = "use the exec plugin kubectl oidc-login (kubelogin)";
    }
    return kl__entry_error(&entry, NULL, err, "\"%.40s\" is not supported: %s",
                           name != NULL ? name : "", remedy);
}

/* Appends the name of the header for an extra field. Bytes that must not stand
 * in a header's name are percent-encoded. */
static void append_header_name(kl__buf *out, const char *key, size_t length)
{
    static const char marks[] = "!#$&'*+-.^_`|~";

    kl__buf_puts(out, "Impersonate-Extra-");
    for (; length > 0; key++, length--) {
        bool is_token = (*key >= 'a' && *key <= 'z') ||
                        (*key >= 'A' && *key <= 'Z') ||
                        (*key >= '0' && *key <= '9') ||
                        memchr(marks, *key, sizeof(marks) - 1) != NULL;

        if (is_token) {
            kl__buf_putc(out, *key);
        } else {
            kl__buf_printf(out, "%%%02X", (unsigned)(unsigned char)*key);
        }
    }
}

/* Adds one header for each text of the list. */
static kl_code add_headers(const kl__entry *user, const char *field,
                           const char *header, const kl_value *list,
                           kl__settings *settings, kl_error *err)
{
    kl_value_iter iter = {0};
    const kl_value *item;

    while ((item = kl_value_next(list, &iter, NULL)) != NULL) {
        kl_code code = kl__entry_text(item) != NULL
                           ? kl__settings_impersonate(settings, header,
                                                      kl__entry_text(item), err)
                           : fail_item(user, field, err);

        if (code != KL_OK) {
            return code;
        }
    }
    return KL_OK;
}

/* Reads as-user-extra, a map from names to lists of texts. */
static kl_code read_extra(const kl__entry *user, kl__settings *settings,
                          kl_error *err)
{
    const kl_value *key, *list;
    kl_value_iter iter = {0};
    kl__entry extra;
    kl_code code = kl__entry_inner(user, "as-user-extra", &extra, err);

    while (code == KL_OK &&
           (list = kl_value_next(extra.value, &iter, &key)) != NULL) {
        kl__buf header = {0};
        const char *name;
        size_t length;

        if (kl_value_type(list) != KL_ARRAY) {
            return fail_item(user, "as-user-extra", err);
        }
        name = kl_value_string(key, &length);
        append_header_name(&header, name, length);
        code = header.failed ? no_memory_for_user(err)
                             : add_headers(user, "as-user-extra", header.bytes,
                                           list, settings, err);
        kl__buf_deinit(&header);
    }
    return code;
}

static kl_code read_impersonation(const kl__entry *user, kl__settings *settings,
                                  kl_error *err)
{
    char *as = NULL, *uid = NULL;
    const kl_value *groups = NULL;
    const kl__field fields[] = {{"as", &as, kl__entry_string},
                                {"as-uid", &uid, kl__entry_string},
                                {NULL, NULL, NULL}};
    kl_code code = kl__entry_fields(user, fields, err);

    if (code == KL_OK) {
        code = kl__entry_array(user, "as-groups", &groups, err);
    }
    if (code == KL_OK && as == NULL &&
        (uid != NULL || kl_value_size(groups) > 0 ||
         kl_value_size(kl_value_get(user->value, "as-user-extra")) > 0)) {
        code = kl__entry_error(user, NULL, err,
                               "impersonates a uid, groups or extra values "
                               "without a user; add \"as: NAME\"");
    }
    if (code == KL_OK && as != NULL) {
        code = kl__settings_impersonate(settings, "Impersonate-User", as, err);
    }
    if (code == KL_OK && uid != NULL) {
        code = kl__settings_impersonate(settings, "Impersonate-Uid", uid, err);
    }
    if (code == KL_OK) {
        code = add_headers(user, "as-groups", "Impersonate-Group", groups,
                           settings, err);
    }
    kl__free(as);
    kl__free(uid);
    return code == KL_OK ? read_extra(user, settings, err) : code;
}

kl_code kl__kubeconfig_read_user(const kl__entry *user, kl__settings *settings,
                                 kl_error *err)
{
    const kl__field fields[] = {
        {"token", &settings->token, kl__entry_string},
        {"tokenFile", &settings->token_file, kl__entry_path},
        {"username", &settings->username, kl__entry_string},
        {"password", &settings->password, kl__entry_string},
        {NULL, NULL, NULL}};
    kl_code code = kl__entry_fields(user, fields, err);

    if (code == KL_OK) {
        code = read_certificate(user, settings, err);
    }
    if (code == KL_OK) {
        code = refuse_provider(user, err);
    }
    if (code == KL_OK) {
        code = read_exec(user, settings, err);
    }
    return code == KL_OK ? read_impersonation(user, settings, err) : code;
}
