/*
 * kubeconfigs.c - see kubeconfigs.h.
 */
#include "kubeconfigs.h"

#include "temp_files.h"

#include "config/credentials.h"
#include "config/file.h"
#include "config/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

kl_config *config_load(const kl_config_options *options)
{
    kl_error err;
    kl_config *config = kl_config_load(options, &err);

    if (config == NULL) {
        print_error("%s\n", err.message);
    }
    assert_non_null(config);
    return config;
}

void assert_config_error(const kl_config_options *options, const char *message)
{
    kl_error err;

    assert_null(kl_config_load(options, &err));
    if (strstr(err.message, message) == NULL) {
        print_error("%s\n", err.message);
    }
    assert_non_null(strstr(err.message, message));
    assert_int_equal(err.code, KL_ECONFIG);
}

const char *kubeconfig_write(const char *cluster, const char *user)
{
    return temp_printf(
        "config",
        "current-context: x\n"
        "clusters: [{name: c, cluster: %s}]\n"
        "users: [{name: u, user: %s}]\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\n",
        cluster, user);
}

void assert_entry_error(const char *cluster, const char *user,
                        const char *message)
{
    kl_config_options options = {.kubeconfig = kubeconfig_write(cluster, user)};

    assert_config_error(&options, message);
}

kl_config *plugin_config(const char *body, const char *more)
{
    kl_config_options options = {.kubeconfig = NULL};
    kl_config *config;
    char user[600];
    kl_error err;

    temp_script("plugin", "#!/bin/sh\necho run >> '%s'\n%s\n",
                temp_path("runs"), body);
    snprintf(user, sizeof(user),
             "{exec: {command: ./plugin, apiVersion: " PLUGIN_V1
             ", interactiveMode: Never%s}}",
             more);
    options.kubeconfig = kubeconfig_write(PLUGIN_CLUSTER, user);
    config = kl__config_load(
        &options, &(kl__config_seams){.plugin_timeout_ms = 10000}, &err);
    if (config == NULL) {
        print_error("%s\n", err.message);
    }
    assert_non_null(config);
    return config;
}

kl_config *plugin_answering(const char *status)
{
    char body[600];

    snprintf(body, sizeof(body),
             "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" PLUGIN_V1
             "\",\"status\":{%s}}'",
             status);
    return plugin_config(body, "");
}

void assert_authorization(kl_config *config, const char *value)
{
    kl__credentials credentials;
    kl_error err;

    if (kl__config_credentials(config, &credentials, NULL, &err) != KL_OK) {
        print_error("%s\n", err.message);
        fail();
    }
    assert_int_equal(credentials.header_count, 1);
    assert_string_equal(credentials.headers[0].name, "Authorization");
    assert_string_equal(credentials.headers[0].value, value);
    kl__credentials_clear(&credentials);
}

void assert_credentials_refused(kl_config *config, kl_code code,
                                const char *message)
{
    kl__credentials credentials;
    kl_error err;

    assert_int_equal(kl__config_credentials(config, &credentials, NULL, &err),
                     code);
    if (strstr(err.message, message) == NULL) {
        print_error("%s\n", err.message);
    }
    assert_non_null(strstr(err.message, message));
    kl_config_unref(config);
}

kl__buf temp_read(const char *name)
{
    kl__buf text = {0};

    assert_int_equal(kl__file_read(temp_path(name), &text, NULL, NULL), KL_OK);
    return text;
}
