/*
 * in_cluster.c - see in_cluster.h. The kubelet replaces the mounted token and
 * CA files from time to time, so only their paths are stored here;
 * credentials.c reads them.
 */
#include "config/in_cluster.h"

#include "base/mem.h"
#include "base/str.h"
#include "config/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const SERVICE_ACCOUNT =
    "/var/run/secrets/kubernetes.io/serviceaccount";

static kl_code no_memory_in_cluster(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a config");
}

/* The namespace: POD_NAMESPACE, else the mounted file, else none. */
static kl_code read_namespace(const char *folder, kl__settings *settings,
                              kl_error *err)
{
    const char *given = getenv("POD_NAMESPACE");
    char *path = kl__strprintf("%s/namespace", folder);
    kl__buf text = {0};
    kl_error why;

    if (path == NULL) {
        return no_memory_in_cluster(err);
    }
    if (given != NULL && *given != '\0') {
        kl__buf_puts(&text, given);
    } else if (kl__file_read(path, &text, NULL, &why) != KL_OK) {
        kl__buf_reset(&text);
    }
    kl__free(path);
    if (text.length > 0) {
        size_t begin = strspn(text.bytes, " \t\r\n");
        size_t length = strcspn(text.bytes + begin, " \t\r\n");

        settings->name_space = kl__strndup(text.bytes + begin, length);
    }
    if (text.failed || (text.length > 0 && settings->name_space == NULL)) {
        kl__buf_deinit(&text);
        return no_memory_in_cluster(err);
    }
    kl__buf_deinit(&text);
    return KL_OK;
}

kl_code kl__in_cluster_read(const char *folder, kl__settings *settings,
                            bool *usable, kl__buf *why, kl_error *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    bool is_v6;

    *usable = false;
    folder = folder != NULL ? folder : SERVICE_ACCOUNT;
    if (host == NULL || *host == '\0' || port == NULL || *port == '\0') {
        kl__buf_puts(why, "no pod: KUBERNETES_SERVICE_HOST and _PORT are not "
                          "set");
        return KL_OK;
    }
    is_v6 = strchr(host, ':') != NULL && host[0] != '[';
    settings->server = kl__strprintf("https://%s%s%s:%s", is_v6 ? "[" : "",
                                     host, is_v6 ? "]" : "", port);
    settings->token_file = kl__strprintf("%s/token", folder);
    settings->ca.file = kl__strprintf("%s/ca.crt", folder);
    settings->source = kl__strdup("in-cluster");
    if (settings->server == NULL || settings->token_file == NULL ||
        settings->ca.file == NULL || settings->source == NULL) {
        return no_memory_in_cluster(err);
    }
    if (access(settings->token_file, F_OK) != 0) {
        kl__buf_printf(why,
                       "no service account: %s does not exist "
                       "(automountServiceAccountToken of the pod)",
                       settings->token_file);
        return KL_OK;
    }
    if (access(settings->ca.file, F_OK) != 0) {
        kl__free(settings->ca.file); /* the system's CAs are used then */
        settings->ca.file = NULL;
    }
    *usable = true;
    return read_namespace(folder, settings, err);
}
