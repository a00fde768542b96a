/*
 * kubeconfigs.c - see kubeconfigs.h.
 */
#include "kubeconfigs.h"

#include "temp_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
