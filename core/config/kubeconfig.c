/*
 * kubeconfig.c - see kubeconfig.h. The rules are those of client-go's package
 * clientcmd.
 */
#include "config/kubeconfig.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/log.h"

#include <stdio.h>
#include <string.h>

/* An upper bound for the files in KUBECONFIG. */
enum { MAX_FILES = 64 };

typedef struct kubeconfig {
    kl__kubeconfig_file files[MAX_FILES];
    size_t count;
} kubeconfig;

static kl_code no_memory_for_kubeconfig(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a kubeconfig");
}

static void close_files(kubeconfig *self)
{
    while (self->count > 0) {
        kl__kubeconfig_file_deinit(&self->files[--self->count]);
    }
}

static bool is_known(const kubeconfig *self, const char *path, size_t length)
{
    for (size_t i = 0; i < self->count; i++) {
        const char *known = self->files[i].path;

        if (strncmp(known, path, length) == 0 && known[length] == '\0') {
            return true;
        }
    }
    return false;
}

/* Reads each file of the request, in order, or its text. Appends the paths of
 * missing files to `why`. */
static kl_code open_files(kubeconfig *self,
                          const kl__kubeconfig_request *request, kl__buf *why,
                          kl_error *err)
{
    const char *path = request->paths;

    if (request->text != NULL) {
        kl_code code = kl__kubeconfig_file_init_text(
            &self->files[0], "kubeconfig_text", request->text, err);

        self->count = code == KL_OK;
        return code;
    }
    while (*path != '\0') {
        size_t length = strcspn(path, ":");
        bool missing = false;
        kl_code code = KL_OK;

        if (length > 0 && !is_known(self, path, length)) {
            if (self->count == MAX_FILES) {
                return kl_error_set(err, KL_ECONFIG,
                                    "more than %d kubeconfig files; leave "
                                    "some out",
                                    MAX_FILES);
            }
            code = kl__kubeconfig_file_init(&self->files[self->count], path,
                                            length, &missing, err);
            self->count += code == KL_OK;
        }
        if (missing && !request->must_exist) {
            kl__buf_printf(why, "%s%.*s", why->length > 0 ? ", " : "",
                           (int)length, path);
            code = KL_OK;
        }
        if (code != KL_OK) {
            return code;
        }
        path += length + (path[length] == ':');
    }
    return KL_OK;
}

/* Finds the entry with this name, in the first file that has it. */
static kl_code find_entry(const kubeconfig *self, const char *list,
                          const char *name, kl__entry *entry, kl_error *err)
{
    *entry = (kl__entry){.found = false};
    for (size_t i = 0; i < self->count && !entry->found; i++) {
        kl_code code = kl__entry_find(&self->files[i], list, name, entry, err);

        if (code != KL_OK) {
            return code;
        }
    }
    return KL_OK;
}

/* Appends the names in this list of all files: "a, b, c", or "none". */
static void append_names(const kubeconfig *self, const char *list, kl__buf *out)
{
    size_t before = out->length;

    for (size_t i = 0; i < self->count; i++) {
        const kl_doc *doc = self->files[i].doc;
        const kl_value *items =
            doc != NULL ? kl_value_get(kl_doc_root(doc), list) : NULL;
        kl_value_iter iter = {0};
        const kl_value *item;

        while ((item = kl_value_next(items, &iter, NULL)) != NULL) {
            const char *name = kl__entry_text(kl_value_get(item, "name"));

            if (name != NULL) {
                kl__buf_printf(out, "%s%s", out->length > before ? ", " : "",
                               name);
            }
        }
    }
    if (out->length == before) {
        kl__buf_puts(out, "none");
    }
}

static void append_paths(const kubeconfig *self, kl__buf *out)
{
    for (size_t i = 0; i < self->count; i++) {
        kl__buf_printf(out, "%s%s", i > 0 ? ", " : "", self->files[i].path);
    }
}

/* The error for a missing entry: "WHAT is not in FILES; LIST there: a, b". */
static kl_code fail_not_found(const kubeconfig *self, const char *list,
                              const char *what, kl_error *err)
{
    kl__buf text = {0};
    kl_code code;

    kl__buf_printf(&text, "%s is not in ", what);
    append_paths(self, &text);
    kl__buf_printf(&text, "; %s there: ", list);
    append_names(self, list, &text);
    code = text.failed ? no_memory_for_kubeconfig(err)
                       : kl_error_set(err, KL_ECONFIG, "%s", text.bytes);
    kl__buf_deinit(&text);
    return code;
}

/* Finds the first current-context that is set; NULL: none. */
static kl_code find_current_context(const kubeconfig *self, const char **name,
                                    kl_error *err)
{
    *name = NULL;
    for (size_t i = 0; i < self->count && *name == NULL; i++) {
        const kl_doc *doc = self->files[i].doc;
        const kl_value *value =
            doc != NULL ? kl_value_get(kl_doc_root(doc), "current-context")
                        : NULL;
        const char *text = kl__entry_text(value);

        if (kl_value_type(value) != KL_NULL && text == NULL) {
            return kl_error_set(err, KL_ECONFIG,
                                "%s: current-context: must be text (quote it), "
                                "without NUL characters",
                                self->files[i].path);
        }
        *name = text != NULL && *text != '\0' ? text : NULL;
    }
    return KL_OK;
}

static kl_code read_extension(const kl__entry *cluster, char **json,
                              kl_error *err)
{
    const kl_value *extensions, *item;
    kl_value_iter iter = {0};
    kl_code code = kl__entry_array(cluster, "extensions", &extensions, err);

    while (code == KL_OK &&
           (item = kl_value_next(extensions, &iter, NULL)) != NULL) {
        const char *name = kl__entry_text(kl_value_get(item, "name"));

        if (kl__streq(name, "client.authentication.k8s.io/exec") &&
            *json == NULL) {
            *json = kl_value_json(kl_value_get(item, "extension"), NULL, err);
            code = *json != NULL ? KL_OK : no_memory_for_kubeconfig(err);
        }
    }
    return code;
}

static kl_code read_cluster(const kl__entry *cluster, kl__settings *settings,
                            kl_error *err)
{
    const kl__field fields[] = {
        {"server", &settings->server, kl__entry_string},
        {"tls-server-name", &settings->tls_server_name, kl__entry_string},
        {"proxy-url", &settings->proxy_url, kl__entry_string},
        {"certificate-authority", &settings->ca.file, kl__entry_path},
        {"certificate-authority-data", &settings->ca.text, kl__entry_pem},
        {NULL, NULL, NULL}};
    kl_code code = kl__entry_fields(cluster, fields, err);

    if (code == KL_OK) {
        code = kl__entry_bool(cluster, "insecure-skip-tls-verify",
                              &settings->insecure, err);
    }
    if (code != KL_OK) {
        return code;
    }
    if (settings->server == NULL) {
        return kl__entry_error(cluster, NULL, err,
                               "has no server; add \"server: "
                               "https://host:port\"");
    }
    if (settings->ca.file != NULL && settings->ca.text != NULL) {
        return kl__entry_error(cluster, "certificate-authority", err,
                               "certificate-authority-data is set too; remove "
                               "one");
    }
    if (settings->insecure &&
        (settings->ca.file != NULL || settings->ca.text != NULL)) {
        return kl__entry_error(cluster, "insecure-skip-tls-verify", err,
                               "contradicts the certificate authority; remove "
                               "one");
    }
    return KL_OK;
}

/* The names in a context. */
typedef struct names {
    char *cluster;
    char *user;
} names;

static kl_code use_cluster(const kubeconfig *self, const kl__entry *context,
                           const char *name, kl__settings *settings,
                           kl_error *err)
{
    kl__entry cluster;
    char what[256];
    kl_code code;

    if (name == NULL) {
        return kl__entry_error(context, NULL, err, "names no cluster");
    }
    code = find_entry(self, "clusters", name, &cluster, err);
    if (code != KL_OK) {
        return code;
    }
    if (!cluster.found) {
        snprintf(what, sizeof(what), "cluster \"%.80s\" of context \"%.80s\"",
                 name, context->name);
        return fail_not_found(self, "clusters", what, err);
    }
    code = read_cluster(&cluster, settings, err);
    if (code == KL_OK && settings->exec != NULL) {
        code = read_extension(&cluster, &settings->exec->cluster_config, err);
    }
    return code;
}

static kl_code use_user(const kubeconfig *self, const kl__entry *context,
                        const char *name, kl__settings *settings, kl_error *err)
{
    kl__entry user;
    kl_code code;

    if (name == NULL) {
        return KL_OK;
    }
    code = find_entry(self, "users", name, &user, err);
    if (code == KL_OK && !user.found) {
        kl_log(KL_LOG_WARN,
               "%s: user \"%s\" of context \"%s\" is not defined; requests "
               "will be anonymous",
               context->file->path, name, context->name);
        return KL_OK;
    }
    return code == KL_OK ? kl__kubeconfig_read_user(&user, settings, err)
                         : code;
}

static kl_code read_context(const kubeconfig *self, const kl__entry *context,
                            kl__settings *settings, kl_error *err)
{
    names of = {NULL, NULL};
    const kl__field fields[] = {
        {"cluster", &of.cluster, kl__entry_string},
        {"user", &of.user, kl__entry_string},
        {"namespace", &settings->name_space, kl__entry_string},
        {NULL, NULL, NULL}};
    kl_code code = kl__entry_fields(context, fields, err);

    if (code == KL_OK) {
        code = use_user(self, context, of.user, settings, err);
    }
    if (code == KL_OK) {
        code = use_cluster(self, context, of.cluster, settings, err);
    }
    kl__free(of.cluster);
    kl__free(of.user);
    return code;
}

static kl_code read_named(const kubeconfig *self, const char *name,
                          kl__settings *settings, kl_error *err)
{
    kl__entry context;
    char what[128];
    kl_code code = find_entry(self, "contexts", name, &context, err);

    if (code != KL_OK) {
        return code;
    }
    if (!context.found) {
        snprintf(what, sizeof(what), "context \"%.100s\"", name);
        return fail_not_found(self, "contexts", what, err);
    }
    settings->source =
        kl__strprintf("%s, context %s", context.file->path, name);
    return settings->source != NULL
               ? read_context(self, &context, settings, err)
               : no_memory_for_kubeconfig(err);
}

/* Writes why there is nothing to use, and what to do about it. */
static void explain_unusable(const kubeconfig *self, kl__buf *why)
{
    kl__buf missing = *why;

    *why = (kl__buf){0};
    if (missing.length > 0) {
        kl__buf_printf(why, "%s: no such file", missing.bytes);
    }
    if (self->count > 0) {
        kl__buf_puts(why, why->length > 0 ? "; " : "");
        append_paths(self, why);
        kl__buf_puts(why, " names no current-context (contexts there: ");
        append_names(self, "contexts", why);
        kl__buf_puts(why, "; choose one with kubectl config use-context)");
    }
    kl__buf_deinit(&missing);
}

kl_code kl__kubeconfig_read(const kl__kubeconfig_request *request,
                            kl__settings *settings, bool *usable, kl__buf *why,
                            kl_error *err)
{
    kubeconfig *self = kl__calloc(1, sizeof(*self));
    const char *name = request->context;
    kl_code code;

    *usable = false;
    if (self == NULL) {
        return no_memory_for_kubeconfig(err);
    }
    code = open_files(self, request, why, err);
    if (code == KL_OK && name == NULL) {
        code = find_current_context(self, &name, err);
    }
    if (code == KL_OK && name == NULL) {
        explain_unusable(self, why);
    } else if (code == KL_OK && self->count == 0) {
        explain_unusable(self, why);
    } else if (code == KL_OK) {
        code = read_named(self, name, settings, err);
        *usable = code == KL_OK;
    }
    if (code == KL_OK && why->failed) {
        code = no_memory_for_kubeconfig(err);
    }
    close_files(self);
    kl__free(self);
    return code;
}
