/*
 * plugin_wait_spec.c - an informer that waits for an exec credential plugin
 * says so, in its status and where it has not synced.
 */
#include "kubeconfigs.h"
#include "temp_files.h"

#include "base/clock.h"
#include "kubelua/informer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 60000 };

/* An informer whose client has a plugin with that body. */
static kl_informer *open_informer(const char *body, kl_client **client)
{
    kl_config *config = plugin_config(body, "");
    kl_informer *informer;

    *client = kl_client_new(&(kl_client_options){.config = config}, NULL);
    assert_non_null(*client);
    kl_config_unref(config);
    informer = kl_informer_open(
        *client, &(kl_informer_options){.resource = "pods"}, NULL);
    assert_non_null(informer);
    return informer;
}

/* Looks until the status is that an informer waits for a plugin, or not. */
static kl_informer_status await_status(kl_informer *informer, bool waits)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    kl_informer_status status;

    for (;;) {
        kl_informer_status_get(informer, &status);
        if ((status.plugin[0] != '\0') == waits &&
            (waits || status.failures > 0)) {
            return status;
        }
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        usleep(1000);
    }
}

static void the_status_names_a_hanging_exec_plugin(void **state)
{
    kl_client *client;
    kl_informer *informer = open_informer("exec sleep 1000", &client);
    kl_informer_status status = await_status(informer, true);
    char expected[512];
    kl_error err;

    (void)state;
    assert_non_null(strstr(status.plugin, "/plugin"));
    assert_in_range(status.plugin_ms, 0, PATIENCE_MS);
    assert_int_equal(kl_informer_wait_synced(informer, 1, &err), KL_ETIMEOUT);
    snprintf(expected, sizeof(expected),
             "pods has not synced within 0.0 s: it waits for the exec "
             "credential plugin %s, which has been running for ",
             status.plugin);
    if (strncmp(err.message, expected, strlen(expected)) != 0) {
        fail_msg("%s", err.message);
    }
    kl_informer_close(informer);
    kl_client_unref(client);
}

static void the_age_of_a_running_plugin_grows(void **state)
{
    kl_client *client;
    kl_informer *informer = open_informer("exec sleep 1000", &client);
    int64_t first = await_status(informer, true).plugin_ms;
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;

    (void)state;
    while (await_status(informer, true).plugin_ms <= first) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
    }
    kl_informer_close(informer);
    kl_client_unref(client);
}

static void a_failed_plugin_is_not_in_the_status(void **state)
{
    kl_client *client;
    kl_informer *informer = open_informer("exit 1", &client);
    kl_informer_status status = await_status(informer, false);

    (void)state;
    assert_int_equal(status.plugin_ms, 0);
    assert_non_null(strstr(status.error.message, "exec plugin"));
    kl_informer_close(informer);
    kl_client_unref(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(the_status_names_a_hanging_exec_plugin),
        SPEC(the_age_of_a_running_plugin_grows),
        SPEC(a_failed_plugin_is_not_in_the_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
