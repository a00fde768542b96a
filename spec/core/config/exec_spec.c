/*
 * exec_spec.c - exec credential plugins: how they are run, what they get, how
 * their answers are read and kept.
 */
#include "config/credentials.h"
#include "config/exec_credential.h"
#include "config/load.h"
#include "config/timestamp.h"
#include "failing_alloc.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void the_plugin_runs_once_for_a_token_without_expiry(void **state)
{
    kl_config *config = plugin_answering("\"token\":\"abc\"");

    (void)state;
    assert_authorization(config, "Bearer abc");
    assert_authorization(config, "Bearer abc");
    assert_int_equal(temp_count_lines("runs"), 1);
    kl_config_unref(config);
}

static void a_token_is_kept_until_it_expires(void **state)
{
    kl_config *config =
        plugin_answering("\"token\":\"abc\",\"expirationTimestamp\":"
                         "\"2999-01-01T00:00:00Z\"");

    (void)state;
    assert_authorization(config, "Bearer abc");
    assert_authorization(config, "Bearer abc");
    assert_int_equal(temp_count_lines("runs"), 1);
    kl_config_unref(config);
}

/* The plugin has just made it, so it may be this machine's clock that is
 * wrong: the server is asked, rather than the plugin for each request. */
static void an_already_expired_token_is_used_for_ten_seconds(void **state)
{
    kl_config *config =
        plugin_answering("\"token\":\"abc\",\"expirationTimestamp\":"
                         "\"2001-01-01T00:00:00Z\"");

    kl__credentials credentials;
    kl_error err;

    (void)state;
    assert_authorization(config, "Bearer abc");
    assert_authorization(config, "Bearer abc");
    assert_int_equal(temp_count_lines("runs"), 1);
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, &err),
                     KL_OK);
    assert_true(kl__config_rejected(config, credentials.generation, NULL));
    kl__credentials_clear(&credentials);
    assert_authorization(config, "Bearer abc");
    assert_int_equal(temp_count_lines("runs"), 2);
    kl_config_unref(config);
}

static void the_plugin_runs_shortly_before_the_token_expires(void **state)
{
    (void)state;
    assert_int_equal(kl__exec_refresh_at(0, 3600000), 3590000);
    assert_int_equal(kl__exec_refresh_at(0, 5000), 4500);
    assert_int_equal(kl__exec_refresh_at(1000, 500), 11000);
}

static void a_401_runs_the_plugin_once_more(void **state)
{
    kl_config *config = plugin_answering("\"token\":\"abc\"");
    kl__credentials credentials;
    uint64_t first;

    (void)state;
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, NULL),
                     KL_OK);
    first = credentials.generation;
    kl__credentials_clear(&credentials);
    assert_true(kl__config_rejected(config, first, NULL));
    assert_true(kl__config_rejected(config, first, NULL));
    assert_authorization(config, "Bearer abc");
    assert_int_equal(temp_count_lines("runs"), 2);
    /* a late answer to a request of before */
    assert_true(kl__config_rejected(config, first, NULL));
    assert_authorization(config, "Bearer abc");
    assert_int_equal(temp_count_lines("runs"), 2);
    kl_config_unref(config);
}

static void a_plugin_may_return_a_certificate_and_key(void **state)
{
    kl_config *config =
        plugin_answering("\"clientCertificateData\":\"-----BEGIN C\","
                         "\"clientKeyData\":\"-----BEGIN K\"");
    kl__credentials credentials;

    (void)state;
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, NULL),
                     KL_OK);
    assert_int_equal(credentials.header_count, 0);
    assert_string_equal(kl__tls_get(credentials.tls)->cert, "-----BEGIN C");
    assert_string_equal(kl__tls_get(credentials.tls)->key, "-----BEGIN K");
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
}

static void a_plugin_may_answer_in_yaml(void **state)
{
    kl_config *config = plugin_config("printf 'kind: ExecCredential\\n"
                                      "apiVersion: " PLUGIN_V1 "\\n"
                                      "status: {token: abc}\\n'",
                                      "");

    (void)state;
    assert_authorization(config, "Bearer abc");
    kl_config_unref(config);
}

static void arguments_and_environment_reach_the_plugin(void **state)
{
    char body[600];
    kl_config *config;
    kl__buf said;

    (void)state;
    setenv("KUBELUA_SPEC_A", "host", 1);
    setenv("KUBELUA_SPEC_B", "host", 1);
    snprintf(body, sizeof(body),
             "echo \"$1|$2|$#|$KUBELUA_SPEC_A|$KUBELUA_SPEC_B\" > '%s'\n"
             "echo '%s'",
             temp_path("said"), PLUGIN_ANSWER("\"token\":\"t\""));
    config = plugin_config(body, ", args: [\"a b\", '$HOME'], env: [{name: "
                                 "KUBELUA_SPEC_A, value: plugin}]");
    assert_authorization(config, "Bearer t");
    said = temp_read("said");
    assert_string_equal(said.bytes, "a b|$HOME|2|plugin|host\n");
    kl__buf_deinit(&said);
    kl_config_unref(config);
}

static void the_plugin_gets_kubernetes_exec_info(void **state)
{
    char body[600];
    kl_config *config;
    kl__buf said;

    (void)state;
    snprintf(body, sizeof(body),
             "echo \"$KUBERNETES_EXEC_INFO\" > '%s'\necho '%s'",
             temp_path("said"), PLUGIN_ANSWER("\"token\":\"t\""));
    config = plugin_config(body, "");
    assert_authorization(config, "Bearer t");
    said = temp_read("said");
    assert_string_equal(
        said.bytes, "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" PLUGIN_V1
                    "\",\"spec\":{\"interactive\":false}}\n");
    kl__buf_deinit(&said);
    kl_config_unref(config);
}

static void provide_cluster_info_gives_the_plugin_the_cluster(void **state)
{
    kl_config_options options = {.kubeconfig = NULL};
    kl_config *config;
    kl__buf said;

    (void)state;
    temp_write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
    temp_script("plugin",
                "#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" > '%s'\necho '%s'",
                temp_path("said"), PLUGIN_ANSWER("\"token\":\"t\""));
    options.kubeconfig = kubeconfig_write(
        "{server: \"https://s:6443\", certificate-authority: ca.pem, "
        "tls-server-name: api, proxy-url: \"http://p:1\", extensions: "
        "[{name: other}, {name: client.authentication.k8s.io/exec, "
        "extension: {audience: a}}]}",
        "{exec: {command: ./plugin, apiVersion: " PLUGIN_V1
        ", interactiveMode: "
        "IfAvailable, provideClusterInfo: true}}");
    config = config_load(&options);
    assert_authorization(config, "Bearer t");
    said = temp_read("said");
    assert_string_equal(
        said.bytes,
        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" PLUGIN_V1
        "\",\"spec\":{\"cluster\":{\"server\":\"https://s:6443\","
        "\"tls-server-name\":\"api\",\"certificate-authority-data\":"
        "\"" KUBECONFIG_PEM "\",\"proxy-url\":\"http://p:1\","
        "\"config\":{\"audience\":\"a\"}},\"interactive\":false}}\n");
    kl__buf_deinit(&said);
    kl_config_unref(config);
}

/* The signals 1 to 31 of a line of /proc/PID/status, as a mask. */
static unsigned long signals_of(const char *status, const char *name)
{
    const char *line = strstr(status, name);

    assert_non_null(line);
    return strtoul(line + strlen(name), NULL, 16) & 0x7fffffffUL;
}

static void
the_plugin_runs_with_default_signals_and_no_extra_descriptors(void **state)
{
    char body[600];
    sigset_t all, before;
    kl__buf said;
    int leaked = dup(2); /* not close-on-exec */
    kl_config *config;

    (void)state;
    assert_true(leaked > 2);
    snprintf(body, sizeof(body),
             "exec > '%s'\n"
             "[ \"$(ps -o pgid= -p $$ | tr -d ' ')\" = $$ ] && echo group\n"
             "read -r line || echo no input\n"
             "[ -e /proc/$$/fd/%d ] || echo closed\n"
             "exec cat /proc/self/status",
             temp_path("said"), leaked);
    config = plugin_config(body, "");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    signal(SIGPIPE, SIG_IGN);
    assert_credentials_refused(config, KL_ECONFIG, "it is empty");
    signal(SIGPIPE, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(leaked);
    said = temp_read("said");
    assert_memory_equal(said.bytes, "group\nno input\nclosed\n", 22);
    assert_int_equal(signals_of(said.bytes, "SigIgn:"), 0);
    assert_int_equal(signals_of(said.bytes, "SigBlk:"), 0);
    kl__buf_deinit(&said);
}

static void the_error_of_a_failed_plugin_has_its_stderr(void **state)
{
    (void)state;
    assert_credentials_refused(
        plugin_config("echo 'not logged in' >&2\n"
                      "echo 'run acme login' >&2\nexit 7",
                      ""),
        KL_ECONFIG,
        "/plugin failed (exit status 7): not logged in run acme "
        "login");
    assert_credentials_refused(plugin_config("kill -9 $$", ""), KL_ECONFIG,
                               "(signal 9)");
}

static void only_the_end_of_a_long_stderr_is_kept(void **state)
{
    (void)state;
    assert_credentials_refused(
        plugin_config("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); "
                      "echo 0123456789 >&2; done\n"
                      "echo the reason >&2\nexit 1",
                      ""),
        KL_ECONFIG, "0123456789 the reason");
}

static void a_missing_plugin_gives_its_install_hint(void **state)
{
    kl_config_options options = {.kubeconfig = NULL};

    (void)state;
    options.kubeconfig = kubeconfig_write(
        PLUGIN_CLUSTER,
        "{exec: {command: kubelua-no-such-plugin, apiVersion: " PLUGIN_V1 ", "
        "interactiveMode: Never, installHint: apt install it}}");
    assert_credentials_refused(
        config_load(&options), KL_ECONFIG,
        "kubelua-no-such-plugin: No such file or directory; apt "
        "install it");
    options.kubeconfig = kubeconfig_write(
        PLUGIN_CLUSTER, "{exec: {command: ./none, apiVersion: " PLUGIN_V1
                        ", interactiveMode: Never}}");
    assert_credentials_refused(config_load(&options), KL_ECONFIG,
                               "install it, or put its");
}

static void a_plugin_without_a_slash_is_found_in_path(void **state)
{
    kl_config_options options = {.kubeconfig = NULL};
    char *before = strdup(getenv("PATH"));
    char path[600];
    kl_config *config;

    (void)state;
    assert_int_equal(mkdir(temp_path("bin"), 0700), 0);
    temp_script("bin/kubelua-plugin", "#!/bin/sh\necho '%s'",
                PLUGIN_ANSWER("\"token\":\"t\""));
    snprintf(path, sizeof(path), "%s:%s", temp_path("bin"), before);
    setenv("PATH", path, 1);
    options.kubeconfig = kubeconfig_write(
        PLUGIN_CLUSTER,
        "{exec: {command: kubelua-plugin, apiVersion: " PLUGIN_V1
        ", interactiveMode: Never}}");
    config = config_load(&options);
    assert_authorization(config, "Bearer t");
    kl_config_unref(config);
    setenv("PATH", before, 1);
    free(before);
}

#define NO_PEM "\"clientKeyData\":\"a\",\"clientCertificateData\":\"b\""
#define LOCKED                                      \
    "\"clientKeyData\":\"-----BEGIN ENCRYPTED K\"," \
    "\"clientCertificateData\":\"-----BEGIN C\""

static void an_invalid_answer_is_an_error_with_its_reason(void **state)
{
    static const char *const rows[][2] = {
        {"", "is no JSON: it is empty"},
        {"echo '{'", "is no JSON: line 2"},
        {"echo '{\"kind\":\"Pod\"}'", "is no ExecCredential"},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"x/v1\"}'",
         "answers with apiVersion x/v1, the kubeconfig says " PLUGIN_V1},
        {"echo '" PLUGIN_ANSWER("") "'", "neither a token nor a certificate"},
        {"echo '" PLUGIN_ANSWER("\"token\":\"\"") "'", "neither a token"},
        {"echo '" PLUGIN_ANSWER("\"token\":\"a b\"") "'", "a space in it"},
        {"printf %s '" PLUGIN_ANSWER("\"token\":\"a\\u0000b\"") "'",
         "a NUL character in status.token"},
        {"echo '" PLUGIN_ANSWER("\"clientKeyData\":\"-----BEGIN K\"") "'",
         "a certificate without a key"},
        {"echo '" PLUGIN_ANSWER(NO_PEM) "'", "that is no PEM"},
        {"echo '" PLUGIN_ANSWER(LOCKED) "'", "has a key that has a passphrase"},
        {"echo '" PLUGIN_ANSWER(
             "\"token\":\"t\",\"expirationTimestamp\":\"soon\"") "'",
         "is no RFC 3339"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_credentials_refused(plugin_config(rows[i][0], ""), KL_ECONFIG,
                                   rows[i][1]);
    }
}

static void an_endless_answer_is_an_error(void **state)
{
    (void)state;
    assert_credentials_refused(
        plugin_config("while :; do echo 0123456789012345678901234567; "
                      "done",
                      ""),
        KL_ECONFIG, "wrote more than 1024 KB");
}

static void a_plugin_that_starts_a_daemon_is_not_waited_for(void **state)
{
    char body[400];
    kl_config *config;

    (void)state;
    /* the daemon keeps both pipes open */
    snprintf(body, sizeof(body), "sleep 60 &\necho $! > '%s'\necho '%s'",
             temp_path("daemon"), PLUGIN_ANSWER("\"token\":\"t\""));
    config = plugin_config(body, "");
    assert_authorization(config, "Bearer t");
    kl_config_unref(config);
    {
        kl__buf pid = temp_read("daemon");

        assert_int_equal(kill(atoi(pid.bytes), SIGKILL), 0);
        kl__buf_deinit(&pid);
    }
}

static void a_plugin_that_exceeds_the_timeout_is_killed(void **state)
{
    kl_config_options options = {.kubeconfig = NULL};
    kl_config *config;

    (void)state;
    temp_script("plugin", "#!/bin/sh\nexec sleep 1000");
    options.kubeconfig = kubeconfig_write(
        PLUGIN_CLUSTER, "{exec: {command: ./plugin, apiVersion: " PLUGIN_V1
                        ", interactiveMode: Never}}");
    config = kl__config_load(
        &options, &(kl__config_seams){.plugin_timeout_ms = 100}, NULL);
    assert_non_null(config);
    assert_credentials_refused(config, KL_ETIMEOUT, "did not end within");
}

static void a_plugin_is_not_run_if_a_token_is_configured(void **state)
{
    kl_config_options options = {.kubeconfig = NULL};
    kl_config *config;

    (void)state;
    options.kubeconfig = kubeconfig_write(
        PLUGIN_CLUSTER,
        "{token: t, exec: {command: ./none, apiVersion: " PLUGIN_V1
        ", interactiveMode: Never}}");
    config = config_load(&options);
    assert_authorization(config, "Bearer t");
    kl_config_unref(config);
}

static int count_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static void no_descriptor_is_open_after_a_success_or_failure(void **state)
{
    int before = count_descriptors();
    kl_config *config = plugin_answering("\"token\":\"t\"");

    (void)state;
    assert_authorization(config, "Bearer t");
    kl_config_unref(config);
    assert_credentials_refused(plugin_config("exit 1", ""), KL_ECONFIG, "");
    assert_credentials_refused(plugin_config("yes", ""), KL_ECONFIG, "");
    assert_int_equal(count_descriptors(), before);
}

static kl_code ask_once(void *context)
{
    kl_config_options *options = context;
    kl__credentials credentials;
    kl_error err;
    kl_config *config = kl_config_load(options, &err);
    kl_code code;

    if (config == NULL) {
        return err.code;
    }
    code = kl__config_credentials(config, &credentials, NULL, &err);
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
    return code;
}

static void running_out_of_memory_is_an_error_that_leaks_nothing(void **state)
{
    kl_config_options options = {.kubeconfig = NULL};

    (void)state;
    temp_script("plugin", "#!/bin/sh\necho hm >&2\necho '%s'",
                PLUGIN_ANSWER("\"token\":\"t\",\"expirationTimestamp\":"
                              "\"2999-01-01T00:00:00Z\""));
    options.kubeconfig = kubeconfig_write(
        "{server: \"https://s\", proxy-url: \"socks5://p:1\"}",
        "{as: a, exec: {command: ./plugin, provideClusterInfo: true, env: "
        "[{name: A, value: B}], apiVersion: " PLUGIN_V1
        ", interactiveMode: Never}}");
    failing_alloc_each(ask_once, &options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(the_plugin_runs_once_for_a_token_without_expiry),
        SPEC(a_token_is_kept_until_it_expires),
        SPEC(an_already_expired_token_is_used_for_ten_seconds),
        SPEC(the_plugin_runs_shortly_before_the_token_expires),
        SPEC(a_401_runs_the_plugin_once_more),
        SPEC(a_plugin_may_return_a_certificate_and_key),
        SPEC(a_plugin_may_answer_in_yaml),
        SPEC(arguments_and_environment_reach_the_plugin),
        SPEC(the_plugin_gets_kubernetes_exec_info),
        SPEC(provide_cluster_info_gives_the_plugin_the_cluster),
        SPEC(the_plugin_runs_with_default_signals_and_no_extra_descriptors),
        SPEC(the_error_of_a_failed_plugin_has_its_stderr),
        SPEC(only_the_end_of_a_long_stderr_is_kept),
        SPEC(a_missing_plugin_gives_its_install_hint),
        SPEC(a_plugin_without_a_slash_is_found_in_path),
        SPEC(an_invalid_answer_is_an_error_with_its_reason),
        SPEC(an_endless_answer_is_an_error),
        SPEC(a_plugin_that_starts_a_daemon_is_not_waited_for),
        SPEC(a_plugin_that_exceeds_the_timeout_is_killed),
        SPEC(a_plugin_is_not_run_if_a_token_is_configured),
        SPEC(no_descriptor_is_open_after_a_success_or_failure),
        SPEC(running_out_of_memory_is_an_error_that_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
