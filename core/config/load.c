/*
 * load.c - searches for a configuration, in client-go's order
 * (docs/KUBERNETES.md#kubeconfig): options, KUBECONFIG, ~/.kube/config, the
 * pod's service account.
 */
#include "config/load.h"

#include "base/mem.h"
#include "base/str.h"
#include "http/url.h"
#include "config/in_cluster.h"
#include "config/kubeconfig.h"

#include <stdlib.h>

static kl_code no_memory_for_config(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a config");
}

/* The paths to read. `*given` is true if the files must exist. NULL: out of
 * memory. */
static char *find_paths(const kl_config_options *options, bool *given)
{
    const char *listed = getenv("KUBECONFIG");
    const char *home = getenv("HOME");

    *given = options->kubeconfig != NULL;
    if (*given) {
        return kl__strdup(options->kubeconfig);
    }
    if (listed != NULL && *listed != '\0') {
        return kl__strdup(listed);
    }
    return home != NULL ? kl__strprintf("%s/.kube/config", home)
                        : kl__strdup("");
}

static kl_code read_kubeconfig(const kl_config_options *options,
                               kl__settings *settings, bool *usable,
                               kl__buf *why, kl_error *err)
{
    kl__kubeconfig_request request = {.context = options->context,
                                      .text = options->kubeconfig_text};
    char *paths;
    kl_code code;

    if (request.text != NULL) {
        request.must_exist = true;
        return kl__kubeconfig_read(&request, settings, usable, why, err);
    }
    paths = find_paths(options, &request.must_exist);
    if (paths == NULL) {
        return no_memory_for_config(err);
    }
    request.paths = paths;
    if (*paths == '\0') {
        kl__buf_puts(why, request.must_exist
                              ? "the kubeconfig's path is empty"
                              : "neither KUBECONFIG nor HOME is set");
        kl__free(paths);
        return KL_OK;
    }
    code = kl__kubeconfig_read(&request, settings, usable, why, err);
    kl__free(paths);
    return code;
}

static kl_code fail_not_found(const kl__buf *why, kl_error *err)
{
    return kl_error_set(err, KL_ECONFIG,
                        "no configuration: %s. Set KUBECONFIG, or give a "
                        "kubeconfig or a server",
                        why->bytes);
}

/* Reads the settings that the options do not give, from the first source that
 * has a configuration. */
static kl_code find_settings(const kl_config_options *options,
                             const kl__config_seams *seams,
                             kl__settings *settings, kl__buf *why,
                             kl_error *err)
{
    bool explicit = options->kubeconfig != NULL ||
                    options->kubeconfig_text != NULL ||
                    options->context != NULL;
    bool usable = false;
    kl_code code;

    if (options->server != NULL && !explicit) {
        char shown[256];

        kl__url_show(shown, sizeof(shown), options->server);
        settings->source = kl__strprintf("server %s", shown);
        return settings->source != NULL ? KL_OK : no_memory_for_config(err);
    }
    code = read_kubeconfig(options, settings, &usable, why, err);
    if (code != KL_OK || usable) {
        return code;
    }
    if (!explicit) {
        kl__settings_deinit(settings);
        kl__buf_puts(why, why->length > 0 ? "; " : "");
        code = kl__in_cluster_read(seams->service_account, settings, &usable,
                                   why, err);
    }
    if (code != KL_OK || usable) {
        return code;
    }
    return why->failed ? no_memory_for_config(err) : fail_not_found(why, err);
}

kl_code kl__settings_load(const kl_config_options *options,
                          const kl__config_seams *seams, kl__settings *settings,
                          kl_error *err)
{
    kl__buf why = {0};
    kl_code code;

    *settings = (kl__settings){.source = NULL};
    code = kl__settings_check_options(options, err);
    if (code != KL_OK) {
        return code;
    }
    code = find_settings(options, seams, settings, &why, err);
    kl__buf_deinit(&why);
    if (code == KL_OK) {
        code = kl__settings_override(settings, options, err);
    }
    return code == KL_OK ? kl__settings_finish(settings, err) : code;
}
