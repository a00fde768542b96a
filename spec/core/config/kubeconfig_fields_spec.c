/*
 * kubeconfig_fields_spec.c - what stands in a kubeconfig's entries, and errors
 * that name file, line, field and remedy.
 */
#include "config/load.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void base64_data_of_a_kubeconfig_is_decoded(void **state)
{
    kl_config *config = config_load(&(kl_config_options){
        .kubeconfig =
            kubeconfig_write("{server: \"https://s\", "
                             "certificate-authority-data: " KUBECONFIG_PEM "}",
                             "{client-certificate-data: " KUBECONFIG_PEM
                             ", client-key-data: " KUBECONFIG_PEM "}")});

    (void)state;
    assert_string_equal(config->settings.ca.text,
                        "-----BEGIN CERTIFICATE-----\n");
    assert_string_equal(config->settings.key.text, config->settings.ca.text);
    kl_config_unref(config);
}

static void invalid_base64_names_file_line_and_field(void **state)
{
    char expected[300];
    const char *path =
        temp_write("config", "current-context: x\n"
                             "clusters:\n"
                             "- name: c\n"
                             "  cluster:\n"
                             "    server: https://s\n"
                             "contexts: [{name: x, context: {cluster: c, "
                             "user: bob}}]\n"
                             "users:\n"
                             "- name: al\n"
                             "- name: bob\n"
                             "  user:\n"
                             "    client-key-data: \"%%%\"\n");

    (void)state;
    snprintf(expected, sizeof(expected),
             "%s:11: users[\"bob\"].user.client-key-data: is not base64", path);
    assert_config_error(&(kl_config_options){.kubeconfig = path}, expected);
    assert_entry_error(
        "{server: s, certificate-authority-data: aGVsbG8=}", "{}",
        "certificate-authority-data: decodes to something that is "
        "not PEM");
}

static void contradicting_fields_are_an_error_with_a_remedy(void **state)
{
    const char *https = "{server: \"https://s\"}";

    (void)state;
    assert_entry_error("{}", "{}", "has no server");
    assert_entry_error("{server: 12}", "{}", "server: must be text");
    assert_entry_error("[]", "{}", "clusters[\"c\"].cluster: must be a map");
    assert_entry_error("{server: \"ftp://s\"}", "{}", "is no URL of the form");
    assert_entry_error("{server: \"https://\"}", "{}", "is no URL of the form");
    assert_entry_error("{server: \"https://#x\"}", "{}",
                       "is no URL of the form");
    assert_entry_error(
        "{server: \"https://s\", insecure-skip-tls-verify: true, "
        "certificate-authority-data: " KUBECONFIG_PEM "}",
        "{}", "contradicts the certificate authority");
    assert_entry_error("{server: \"https://s\", certificate-authority: a, "
                       "certificate-authority-data: " KUBECONFIG_PEM "}",
                       "{}", "certificate-authority-data is set too");
    assert_entry_error("{server: \"https://s\", proxy-url: \"ftp://p\"}", "{}",
                       "proxy-url: the proxy's URL is not of the form");
    assert_entry_error(https, "{client-certificate-data: " KUBECONFIG_PEM "}",
                       "has a client certificate without its key");
    assert_entry_error(https,
                       "{client-certificate: c, client-key: k, "
                       "client-key-data: " KUBECONFIG_PEM "}",
                       "client-key-data is set too");
    assert_entry_error(https,
                       "{client-certificate: c, client-key-data: "
                       "LS0tLS1CRUdJTiBFTkNSWVBURUQgUF"
                       "JJVkFURSBLRVktLS0tLQo=}",
                       "client-key-data: has a passphrase, which is not "
                       "supported: decrypt it");
    assert_entry_error(https, "{token: t, username: u}",
                       "both a token and a username");
    assert_entry_error(https, "{token: \"a\\nb\"}", "holds a line break");
    assert_entry_error(https, "{as-groups: [g]}", "add \"as: NAME\"");
    assert_entry_error(https, "{as: a, as-groups: [1]}", "must hold text only");
    assert_entry_error(https, "{as: a, as-groups: g}", "must be a list");
    assert_entry_error(https, "{auth-provider: {name: gcp}}",
                       "gke-gcloud-auth-plugin");
    assert_entry_error(https, "{auth-provider: {name: oidc}}", "oidc-login");
}

static void a_plugins_settings_are_checked_when_loading(void **state)
{
    const char *https = "{server: \"https://s\"}";
    const char *v1 = "apiVersion: client.authentication.k8s.io/v1";
    char user[300];

    (void)state;
    snprintf(user, sizeof(user), "{exec: {%s}}", v1);
    assert_entry_error(https, user, "user.exec: has no command");
    snprintf(user, sizeof(user), "{exec: {command: a, %s}}", v1);
    assert_entry_error(https, user, "has no interactiveMode, which v1 demands");
    snprintf(user, sizeof(user),
             "{exec: {command: a, %s, interactiveMode: Always}}", v1);
    assert_entry_error(https, user, "gets no terminal here");
    snprintf(user, sizeof(user),
             "{exec: {command: a, %s, interactiveMode: Maybe}}", v1);
    assert_entry_error(https, user, "is \"Maybe\"; known are");
    assert_entry_error(https, "{exec: {command: a}}", "apiVersion: is missing");
    assert_entry_error(https,
                       "{exec: {command: a, apiVersion: "
                       "client.authentication.k8s.io/v1alpha1}}",
                       "known are client.authentication.k8s.io/v1 and v1beta1");
    snprintf(user, sizeof(user), "{exec: {command: a, %s, env: [{value: 1}]}}",
             v1);
    assert_entry_error(https, user, "must hold maps with a name and a value");
}

static void a_duplicate_name_is_an_error(void **state)
{
    kl_config_options options = {
        .kubeconfig = temp_write("c", "current-context: x\n"
                                      "contexts:\n"
                                      "- {name: x, context: {}}\n"
                                      "- {name: x, context: {}}\n")};

    (void)state;
    assert_config_error(&options,
                        "/c:4: contexts[\"x\"].context: the name is there "
                        "twice");
}

static void a_file_that_is_not_a_kubeconfig_is_an_error(void **state)
{
    static char huge[KL__MAX_FILE + 2];

    (void)state;
    assert_config_error(
        &(kl_config_options){.kubeconfig = temp_write("c", "kind: Pod\n")},
        "is no kubeconfig: kind Pod");
    assert_config_error(
        &(kl_config_options){.kubeconfig = temp_write("c", "[a]\n")},
        "it holds no map");
    assert_config_error(&(kl_config_options){.kubeconfig = temp_write(
                                                 "c", "clusters: {}\n"
                                                      "current-context: a\n"
                                                      "contexts: 3\n")},
                        "/c:3: contexts: must be a list");
    assert_config_error(&(kl_config_options){.kubeconfig = temp_path("")},
                        "Is a directory; name the file in it");
    memset(huge, '#', sizeof(huge));
    assert_null(kl_config_load(
        &(kl_config_options){.kubeconfig =
                                 temp_write_bytes("huge", huge, sizeof(huge))},
        NULL));
}

static void an_unreadable_file_is_an_error_with_a_remedy(void **state)
{
    const char *path = temp_write("c", "");
    kl_config_options options = {.kubeconfig = path};
    bool failed;
    kl_error err;

    (void)state;
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(temp_path(""), 0755), 0);
    if (geteuid() != 0) {
        assert_config_error(&options,
                            "Permission denied; let this user read it");
        return;
    }
    /* root may read everything: use another user id for a moment */
    assert_int_equal(seteuid(65534), 0);
    failed = kl_config_load(&options, &err) == NULL;
    assert_int_equal(seteuid(0), 0);
    assert_true(failed);
    assert_non_null(strstr(err.message, "Permission denied; let this user"));
}

static void a_client_key_without_a_certificate_is_ignored(void **state)
{
    kl_config *config = config_load(&(kl_config_options){
        .kubeconfig = kubeconfig_write("{server: \"https://s\"}",
                                       "{client-key: k, token: t}")});

    (void)state;
    assert_null(config->settings.key.file);
    assert_string_equal(config->settings.token, "t");
    kl_config_unref(config);
}

static void a_nul_in_a_text_is_an_error(void **state)
{
    const char *https = "{server: \"https://s\"}";

    (void)state;
    assert_entry_error(https, "{as: a, as-groups: [\"dev\\0ops\"]}",
                       "without NUL characters");
    assert_entry_error(https, "{as: a, as-user-extra: {x: [\"a\\0b\"]}}",
                       "without NUL characters");
    assert_entry_error(https,
                       "{exec: {command: x, args: [\"a\\0b\"], apiVersion: "
                       "client.authentication.k8s.io/v1, interactiveMode: "
                       "Never}}",
                       "without NUL characters");
    assert_entry_error(https, "{as: \"a\\0b\"}", "holds a NUL character");
    assert_config_error(&(kl_config_options){.kubeconfig = temp_write(
                                                 "config", "current-context: "
                                                           "\"x\\0y\"\n")},
                        "without NUL characters");
}

static void a_name_with_a_nul_is_another_name(void **state)
{
    (void)state;
    assert_config_error(
        &(kl_config_options){
            .kubeconfig = temp_write(
                "config", "current-context: x\n"
                          "clusters: [{name: c, cluster: {server: s}}]\n"
                          "contexts: [{name: \"x\\0y\", context: {cluster: "
                          "c}}]\n")},
        "x");
}

static void a_nul_in_the_name_of_an_extra_value_is_encoded(void **state)
{
    kl_config *config = config_load(&(kl_config_options){
        .kubeconfig =
            kubeconfig_write("{server: \"https://s\"}",
                             "{as: a, as-user-extra: {\"a\\0b\": [v]}}")});

    (void)state;
    assert_string_equal(config->settings.impersonation[1].name,
                        "Impersonate-Extra-a%00b");
    kl_config_unref(config);
}

static void a_password_in_a_servers_url_is_not_shown(void **state)
{
    kl_error err = {0};

    (void)state;
    assert_null(kl_config_load(
        &(kl_config_options){.server = "ftp://joe:secret@host"}, &err));
    assert_non_null(strstr(err.message, "ftp://***@host"));
    assert_null(strstr(err.message, "secret"));
}

static void impersonation_becomes_headers(void **state)
{
    static const char *const expected[][2] = {
        {"Impersonate-User", "jane"},
        {"Impersonate-Uid", "7"},
        {"Impersonate-Group", "dev"},
        {"Impersonate-Group", "ops"},
        {"Impersonate-Extra-acme.io%2Fscope", "view"},
        {"Impersonate-Extra-acme.io%2Fscope", "edit"},
    };
    kl_config *config = config_load(&(kl_config_options){
        .kubeconfig =
            kubeconfig_write("{server: \"https://s\"}",
                             "{as: jane, as-uid: \"7\", as-groups: [dev, "
                             "ops], as-user-extra: {acme.io/scope: [view, "
                             "edit]}}")});
    const kl__settings *settings = &config->settings;

    (void)state;
    assert_int_equal(settings->impersonation_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(settings->impersonation[i].name, expected[i][0]);
        assert_string_equal(settings->impersonation[i].value, expected[i][1]);
    }
    kl_config_unref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(base64_data_of_a_kubeconfig_is_decoded),
        SPEC(invalid_base64_names_file_line_and_field),
        SPEC(contradicting_fields_are_an_error_with_a_remedy),
        SPEC(a_plugins_settings_are_checked_when_loading),
        SPEC(a_duplicate_name_is_an_error),
        SPEC(a_file_that_is_not_a_kubeconfig_is_an_error),
        SPEC(an_unreadable_file_is_an_error_with_a_remedy),
        SPEC(a_client_key_without_a_certificate_is_ignored),
        SPEC(a_nul_in_a_text_is_an_error),
        SPEC(a_name_with_a_nul_is_another_name),
        SPEC(a_nul_in_the_name_of_an_extra_value_is_encoded),
        SPEC(a_password_in_a_servers_url_is_not_shown),
        SPEC(impersonation_becomes_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
