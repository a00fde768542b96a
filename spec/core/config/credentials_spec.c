/*
 * credentials_spec.c - the credentials of a request, while files are replaced
 * and many threads ask at the same time.
 */
#include "config/credentials.h"
#include "config/load.h"
#include "base/mem.h"
#include "base/str.h"
#include "failing_alloc.h"
#include "kubelua/handler.h"
#include "kubelua/log.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static kl__credentials ask(kl_config *config)
{
    kl__credentials credentials;
    kl_error err;

    if (kl__config_credentials(config, &credentials, NULL, &err) != KL_OK) {
        print_error("%s\n", err.message);
        fail();
    }
    return credentials;
}

static kl_config *load_user(const char *user)
{
    kl_config_options options = {
        .kubeconfig = kubeconfig_write("{server: \"https://s\"}", user)};

    return config_load(&options);
}

static void a_token_is_a_bearer_header(void **state)
{
    kl_config *config = load_user("{token: abc}");

    (void)state;
    assert_authorization(config, "Bearer abc");
    kl_config_unref(config);
}

static void username_and_password_are_basic(void **state)
{
    kl_config *config =
        load_user("{username: Aladdin, password: \"open sesame\"}");

    (void)state;
    assert_authorization(config, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    kl_config_unref(config);
}

static void impersonation_follows_the_authorization(void **state)
{
    kl_config *config = load_user("{token: t, as: jane, as-groups: [dev]}");
    kl__credentials credentials = ask(config);

    (void)state;
    assert_int_equal(credentials.header_count, 3);
    assert_string_equal(credentials.headers[1].name, "Impersonate-User");
    assert_string_equal(credentials.headers[2].value, "dev");
    kl__credentials_clear(&credentials);
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
}

static void a_token_file_wins_over_a_token_and_is_trimmed(void **state)
{
    kl_config *config;

    (void)state;
    temp_write("token", " abc\n\n");
    config = load_user("{token: t, tokenFile: token}");
    assert_authorization(config, "Bearer abc");
    kl_config_unref(config);
}

static void the_token_is_used_if_the_token_file_is_missing(void **state)
{
    kl_config *config = load_user("{token: t, tokenFile: token}");

    (void)state;
    assert_authorization(config, "Bearer t");
    temp_write("token", "abc");
    assert_authorization(config, "Bearer abc");
    kl_config_unref(config);
}

static void a_token_file_is_read_again_when_it_changes(void **state)
{
    kl_config *config;
    char from[300];

    (void)state;
    temp_write("token", "one");
    config = load_user("{tokenFile: token}");
    assert_authorization(config, "Bearer one");
    temp_write("token", "two"); /* in place, same size, same moment */
    assert_authorization(config, "Bearer two");
    snprintf(from, sizeof(from), "%s", temp_write("new", "six"));
    assert_int_equal(rename(from, temp_path("token")), 0);
    assert_authorization(config, "Bearer six");
    kl_config_unref(config);
}

static void an_unchanged_file_is_not_read_again(void **state)
{
    static const struct timespec long_ago[2] = {{.tv_sec = 1000000000},
                                                {.tv_sec = 1000000000}};
    kl__file file = {.path = (char *)temp_write("f", "one")};
    struct stat status;
    bool changed = false;

    (void)state;
    assert_int_equal(utimensat(AT_FDCWD, file.path, long_ago, 0), 0);
    assert_int_equal(kl__file_refresh(&file, &changed, NULL, NULL), KL_OK);
    assert_true(changed);
    /* pretend that it was made long ago: its ctime cannot be set */
    assert_int_equal(stat(file.path, &status), 0);
    assert_false(file.settled);
    file.settled = true;
    kl__free(file.text);
    file.text = kl__strdup("kept");
    changed = false;
    assert_int_equal(kl__file_refresh(&file, &changed, NULL, NULL), KL_OK);
    assert_false(changed);
    assert_string_equal(file.text, "kept");
    temp_write("f", "other");
    assert_int_equal(kl__file_refresh(&file, &changed, NULL, NULL), KL_OK);
    assert_true(changed);
    assert_string_equal(file.text, "other");
    file.path = NULL;
    kl__file_deinit(&file);
}

static int warnings;

static void count_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
    warnings++;
}

static void a_missing_file_keeps_its_last_content(void **state)
{
    kl_config *config;

    (void)state;
    temp_write("token", "one");
    config = load_user("{tokenFile: token}");
    assert_authorization(config, "Bearer one");
    warnings = 0;
    kl_set_log(count_line, NULL, KL_LOG_WARN);
    assert_int_equal(unlink(temp_path("token")), 0);
    assert_authorization(config, "Bearer one");
    assert_authorization(config, "Bearer one");
    temp_write("token", "\n");
    assert_authorization(config, "Bearer one");
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_int_equal(warnings, 1);
    temp_write("token", "two");
    assert_authorization(config, "Bearer two");
    kl_config_unref(config);
}

static void a_file_that_was_never_valid_is_an_error(void **state)
{
    (void)state;
    assert_credentials_refused(
        load_user("{tokenFile: token}"), KL_ECONFIG,
        "/token: No such file or directory; check the path");
    temp_write("token", " \n");
    assert_credentials_refused(load_user("{tokenFile: token}"), KL_ECONFIG,
                               "/token is empty");
    temp_write("token", "a b");
    assert_credentials_refused(load_user("{tokenFile: token}"), KL_ECONFIG,
                               "holds more than a token");
    temp_write_bytes("token", "a\0b", 3);
    assert_credentials_refused(load_user("{tokenFile: token}"), KL_ECONFIG,
                               "holds a NUL byte");
    temp_write("key", "-----BEGIN");
    temp_write("crt", "hello");
    assert_credentials_refused(
        load_user("{client-certificate: crt, client-key: key}"), KL_ECONFIG,
        "/crt holds no PEM");
    temp_write("key", "-----BEGIN ENCRYPTED PRIVATE KEY-----");
    temp_write("crt", "-----BEGIN");
    assert_credentials_refused(
        load_user("{client-certificate: crt, client-key: key}"), KL_ECONFIG,
        "/key has a passphrase, which is not supported");
}

static char last_line[300];

static void keep_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    (void)level;
    snprintf(last_line, sizeof(last_line), "%s", message);
}

static void broken_certificates_of_a_ca_file_are_a_warning(void **state)
{
    kl__credentials credentials;
    kl_config *config;

    (void)state;
    temp_write("ca", "-----BEGIN CERTIFICATE-----\nMAA=\n"
                     "-----END CERTIFICATE-----\n");
    config = config_load(&(kl_config_options){
        .kubeconfig = kubeconfig_write(
            "{server: \"https://s\", certificate-authority: ca}", "{}")});
    kl_set_log(keep_line, NULL, KL_LOG_WARN);
    credentials = ask(config);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_non_null(strstr(last_line, temp_path("ca")));
    assert_non_null(strstr(last_line, "1 of the certificates"));
    assert_non_null(strstr(last_line, "is not trusted"));
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
}

static void certificates_are_read_again_when_they_change(void **state)
{
    kl_config_options options = {.kubeconfig = NULL};
    kl__credentials one, two, three;
    kl_config *config;

    (void)state;
    temp_write("ca", "-----BEGIN CA1");
    temp_write("crt", "-----BEGIN C1");
    temp_write("key", "-----BEGIN K1");
    options.kubeconfig = kubeconfig_write(
        "{server: \"https://s\", certificate-authority: ca, tls-server-name: "
        "api}",
        "{client-certificate: crt, client-key: key}");
    config = config_load(&options);
    one = ask(config);
    two = ask(config);
    assert_ptr_equal(one.tls, two.tls);
    assert_int_equal(one.generation, two.generation);
    assert_string_equal(kl__tls_get(one.tls)->cert, "-----BEGIN C1");
    assert_string_equal(kl__tls_get(one.tls)->server_name, "api");
    temp_write("ca", "-----BEGIN CA2");
    temp_write("key", "-----BEGIN K2");
    three = ask(config);
    assert_ptr_not_equal(one.tls, three.tls);
    assert_int_not_equal(one.generation, three.generation);
    assert_string_equal(kl__tls_get(three.tls)->ca, "-----BEGIN CA2");
    assert_string_equal(kl__tls_get(three.tls)->key, "-----BEGIN K2");
    kl__credentials_clear(&one);
    kl__credentials_clear(&two);
    kl__credentials_clear(&three);
    kl_config_unref(config);
}

static void a_new_token_keeps_the_tls_settings(void **state)
{
    kl__credentials one, two;
    kl_config *config;

    (void)state;
    temp_write("token", "one");
    config = load_user("{tokenFile: token}");
    one = ask(config);
    temp_write("token", "two");
    two = ask(config);
    assert_ptr_equal(one.tls, two.tls);
    kl__credentials_clear(&one);
    kl__credentials_clear(&two);
    kl_config_unref(config);
}

static void plain_http_gets_no_credentials_and_a_warning(void **state)
{
    kl_config_options options = {.server = "http://s", .token = "t"};
    kl__credentials credentials;
    kl_config *config;

    (void)state;
    warnings = 0;
    kl_set_log(count_line, NULL, KL_LOG_WARN);
    config = config_load(&options);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    credentials = ask(config);
    assert_int_equal(warnings, 1);
    assert_int_equal(credentials.header_count, 0);
    assert_null(credentials.tls);
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
}

static void after_a_401_a_retry_needs_a_changed_token_file(void **state)
{
    kl_config *config;
    kl__credentials credentials;

    (void)state;
    temp_write("token", "one");
    config = load_user("{tokenFile: token}");
    credentials = ask(config);
    assert_false(kl__config_rejected(config, credentials.generation, NULL));
    temp_write("token", "two");
    assert_true(kl__config_rejected(config, credentials.generation, NULL));
    assert_authorization(config, "Bearer two");
    assert_true(kl__config_rejected(config, credentials.generation, NULL));
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
}

static void socks5_means_that_the_proxy_resolves_names(void **state)
{
    kl_config_options options = {.server = "https://s",
                                 .proxy_url = "socks5://p:1080"};
    kl_config *config = config_load(&options);
    kl__credentials credentials = ask(config);

    (void)state;
    assert_string_equal(credentials.proxy_url, "socks5h://p:1080");
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
}

/* What a config says in a child of fork(). */
static kl_code code_in_child(kl_config *config)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        kl__credentials credentials;

        _exit((int)kl__config_credentials(config, &credentials, NULL, NULL));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return (kl_code)WEXITSTATUS(status);
}

static void a_forked_child_may_use_a_config_with_one_reference(void **state)
{
    kl_config *config = load_user("{token: t}");

    (void)state;
    assert_authorization(config, "Bearer t");
    assert_int_equal(code_in_child(config), KL_OK);
    kl_config_ref(config);
    assert_int_equal(code_in_child(config), KL_EFORKED);
    kl_config_unref(config);
    kl_config_unref(config);
}

/* The pod's files and variables; the folder for kl__config_seams. */
static const char *be_in_a_pod(const char *host)
{
    temp_write("token", "abc\n");
    temp_write("ca.crt", "-----BEGIN CA");
    temp_write("namespace", "web\n");
    setenv("KUBERNETES_SERVICE_HOST", host, 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    return temp_path("");
}

static void in_a_pod_the_service_account_is_used(void **state)
{
    kl__config_seams seams = {.service_account = be_in_a_pod("10.0.0.1")};
    kl_config *config = kl__config_load(NULL, &seams, NULL);
    kl__credentials credentials;

    (void)state;
    assert_non_null(config);
    assert_string_equal(kl_config_server(config), "https://10.0.0.1:443");
    assert_string_equal(kl_config_namespace(config), "web");
    assert_string_equal(kl_config_source(config), "in-cluster");
    assert_authorization(config, "Bearer abc");
    credentials = ask(config);
    assert_string_equal(kl__tls_get(credentials.tls)->ca, "-----BEGIN CA");
    kl__credentials_clear(&credentials);
    temp_write("token", "def");
    temp_write("ca.crt", "-----BEGIN CA2");
    assert_authorization(config, "Bearer def");
    kl_config_unref(config);
}

static void an_ipv6_service_host_is_put_in_brackets(void **state)
{
    kl__config_seams seams = {.service_account = be_in_a_pod("fd00::1")};
    kl_config *config = kl__config_load(NULL, &seams, NULL);

    (void)state;
    assert_non_null(config);
    assert_string_equal(kl_config_server(config), "https://[fd00::1]:443");
    kl_config_unref(config);
}

static void pod_namespace_wins_over_the_file(void **state)
{
    kl__config_seams seams = {.service_account = be_in_a_pod("h")};
    kl_config *config;

    (void)state;
    setenv("POD_NAMESPACE", "given", 1);
    config = kl__config_load(NULL, &seams, NULL);
    assert_non_null(config);
    assert_string_equal(kl_config_namespace(config), "given");
    kl_config_unref(config);
}

static void a_pod_without_a_service_account_is_an_error(void **state)
{
    kl__config_seams seams = {.service_account = be_in_a_pod("h")};
    kl_error err;

    (void)state;
    assert_int_equal(unlink(temp_path("token")), 0);
    assert_null(kl__config_load(NULL, &seams, &err));
    assert_int_equal(err.code, KL_ECONFIG);
    assert_non_null(strstr(err.message, "no service account: "));
    assert_non_null(strstr(err.message, "automountServiceAccountToken"));
}

static void a_kubeconfig_takes_precedence_over_the_service_account(void **state)
{
    kl__config_seams seams = {.service_account = be_in_a_pod("h")};
    kl_config *config;

    (void)state;
    setenv("KUBECONFIG", kubeconfig_write("{server: \"https://s\"}", "{}"), 1);
    config = kl__config_load(NULL, &seams, NULL);
    assert_non_null(config);
    assert_string_equal(kl_config_server(config), "https://s");
    kl_config_unref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_token_is_a_bearer_header),
        SPEC(username_and_password_are_basic),
        SPEC(impersonation_follows_the_authorization),
        SPEC(a_token_file_wins_over_a_token_and_is_trimmed),
        SPEC(the_token_is_used_if_the_token_file_is_missing),
        SPEC(a_token_file_is_read_again_when_it_changes),
        SPEC(an_unchanged_file_is_not_read_again),
        SPEC(a_missing_file_keeps_its_last_content),
        SPEC(a_file_that_was_never_valid_is_an_error),
        SPEC(broken_certificates_of_a_ca_file_are_a_warning),
        SPEC(certificates_are_read_again_when_they_change),
        SPEC(a_new_token_keeps_the_tls_settings),
        SPEC(plain_http_gets_no_credentials_and_a_warning),
        SPEC(after_a_401_a_retry_needs_a_changed_token_file),
        SPEC(socks5_means_that_the_proxy_resolves_names),
        SPEC(a_forked_child_may_use_a_config_with_one_reference),
        SPEC(in_a_pod_the_service_account_is_used),
        SPEC(an_ipv6_service_host_is_put_in_brackets),
        SPEC(pod_namespace_wins_over_the_file),
        SPEC(a_pod_without_a_service_account_is_an_error),
        SPEC(a_kubeconfig_takes_precedence_over_the_service_account),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
