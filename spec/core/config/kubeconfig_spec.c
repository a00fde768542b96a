/*
 * kubeconfig_spec.c - kubeconfig files, merged and read as client-go does.
 */
#include "kubelua/config.h"

#include "config/load.h"
#include "failing_alloc.h"
#include "kubelua/log.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char two_contexts[] =
    "apiVersion: v1\n"
    "kind: Config\n"
    "current-context: one\n"
    "clusters:\n"
    "- name: c1\n"
    "  cluster: {server: \"https://one:6443/\"}\n"
    "- name: c2\n"
    "  cluster:\n"
    "    server: https://two/prefix//\n"
    "    tls-server-name: api\n"
    "users:\n"
    "- name: u1\n"
    "  user: {token: t1}\n"
    "- name: u2\n"
    "contexts:\n"
    "- name: one\n"
    "  context: {cluster: c1, user: u1}\n"
    "- name: two\n"
    "  context: {cluster: c2, user: u2, "
    "namespace: web}\n";

static void current_context_is_the_default_context(void **state)
{
    const char *path = temp_write("config", two_contexts);
    kl_config_options options = {.kubeconfig = path};
    kl_config *config = config_load(&options);
    char source[300];

    (void)state;
    snprintf(source, sizeof(source), "%s, context one", path);
    assert_string_equal(kl_config_server(config), "https://one:6443");
    assert_string_equal(kl_config_namespace(config), "default");
    assert_string_equal(kl_config_source(config), source);
    kl_config_unref(config);
}

static void a_context_can_be_chosen(void **state)
{
    kl_config_options options = {.kubeconfig = temp_write("c", two_contexts),
                                 .context = "two"};
    kl_config *config = config_load(&options);

    (void)state;
    assert_string_equal(kl_config_server(config), "https://two/prefix");
    assert_string_equal(kl_config_namespace(config), "web");
    assert_string_equal(config->settings.tls_server_name, "api");
    kl_config_unref(config);
}

static void kubeconfig_of_the_environment_is_found(void **state)
{
    kl_config *config;

    (void)state;
    setenv("KUBECONFIG", temp_write("elsewhere", two_contexts), 1);
    config = config_load(NULL);
    assert_string_equal(kl_config_server(config), "https://one:6443");
    kl_config_unref(config);
}

static void the_file_in_home_is_found(void **state)
{
    kl_config *config;

    (void)state;
    assert_int_equal(mkdir(temp_path(".kube"), 0700), 0);
    temp_write(".kube/config", two_contexts);
    config = config_load(NULL);
    assert_string_equal(kl_config_server(config), "https://one:6443");
    kl_config_unref(config);
}

static void an_entry_of_the_first_file_with_its_name_is_used(void **state)
{
    char paths[900];
    kl_config *config;

    (void)state;
    snprintf(paths, sizeof(paths), "%s:%s::%s", temp_path("missing"),
             temp_write("a", "clusters:\n"
                             "- {name: c1, cluster: {server: \"https://a\"}}\n"
                             "current-context: two\n"),
             temp_write("b", two_contexts));
    setenv("KUBECONFIG", paths, 1);
    config = config_load(NULL);
    assert_string_equal(kl_config_server(config), "https://two/prefix");
    kl_config_unref(config);
    config = config_load(&(kl_config_options){.context = "one"});
    assert_string_equal(kl_config_server(config), "https://a");
    assert_string_equal(config->settings.token, "t1");
    kl_config_unref(config);
}

static void entries_of_one_name_are_not_merged_field_by_field(void **state)
{
    char paths[600];
    kl_config *config;

    (void)state;
    snprintf(paths, sizeof(paths), "%s:%s",
             temp_write("a", "users: [{name: u1, user: {username: bob}}]\n"),
             temp_write("b", two_contexts));
    setenv("KUBECONFIG", paths, 1);
    config = config_load(NULL);
    assert_null(config->settings.token);
    assert_string_equal(config->settings.username, "bob");
    kl_config_unref(config);
}

static void a_missing_file_is_an_error_only_if_given_explicitly(void **state)
{
    (void)state;
    assert_config_error(&(kl_config_options){.kubeconfig = temp_path("none")},
                        "No such file or directory; check the path");
    setenv("KUBECONFIG", temp_path("none"), 1);
    assert_config_error(NULL,
                        "none: no such file; no pod: KUBERNETES_SERVICE_HOST");
}

static void one_invalid_file_of_several_is_an_error(void **state)
{
    char paths[600];

    (void)state;
    snprintf(paths, sizeof(paths), "%s:%s", temp_write("a", two_contexts),
             temp_write("b", "a: b: c\n"));
    setenv("KUBECONFIG", paths, 1);
    assert_config_error(NULL,
                        "/b: line 1, column 5: mapping values are not allowed");
}

static void no_configuration_is_an_error_that_lists_what_was_tried(void **state)
{
    (void)state;
    assert_config_error(NULL,
                        "/.kube/config: no such file; no pod: "
                        "KUBERNETES_SERVICE_HOST and _PORT are not set. Set "
                        "KUBECONFIG, or give a kubeconfig or a server");
}

static void no_home_and_no_kubeconfig_is_an_error(void **state)
{
    (void)state;
    unsetenv("HOME");
    assert_config_error(NULL, "neither KUBECONFIG nor HOME is set; no pod: ");
    assert_config_error(&(kl_config_options){.kubeconfig = ""},
                        "the kubeconfig's path is empty. Set KUBECONFIG");
}

static void an_unknown_context_error_lists_the_contexts(void **state)
{
    kl_config_options options = {.kubeconfig = temp_write("c", two_contexts),
                                 .context = "three"};

    (void)state;
    assert_config_error(&options, "context \"three\" is not in ");
    assert_config_error(&options, "/c; contexts there: one, two");
}

static void a_missing_current_context_error_lists_the_contexts(void **state)
{
    kl_config_options options = {
        .kubeconfig = temp_write("c", "contexts: [{name: a}, {name: b}]\n")};

    (void)state;
    assert_config_error(&options,
                        "/c names no current-context (contexts there: a, b; "
                        "choose one with");
}

static void an_empty_file_is_no_configuration(void **state)
{
    (void)state;
    assert_config_error(&(kl_config_options){.kubeconfig = temp_write("c", "")},
                        "names no current-context (contexts there: none");
    setenv("KUBECONFIG", "/dev/null", 1);
    assert_config_error(NULL, "/dev/null names no current-context");
}

static void an_unknown_cluster_error_lists_the_clusters(void **state)
{
    kl_config_options options = {
        .kubeconfig = temp_write("c", "current-context: x\n"
                                      "clusters: [{name: a}, {name: b}]\n"
                                      "contexts: [{name: x, context: "
                                      "{cluster: c}}]\n")};

    (void)state;
    assert_config_error(&options, "cluster \"c\" of context \"x\" is not in ");
    assert_config_error(&options, "clusters there: a, b");
}

static kl_log_level logged_level;
static char logged[1200];

static void keep_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    logged_level = level;
    snprintf(logged, sizeof(logged), "%s", message);
}

static void an_unknown_user_is_anonymous_with_a_warning(void **state)
{
    kl_config_options options = {
        .kubeconfig =
            temp_write("c", "current-context: x\n"
                            "clusters: [{name: c, cluster: {server: "
                            "\"https://s\"}}]\n"
                            "contexts: [{name: x, context: {cluster: c, "
                            "user: nobody}}]\n")};

    (void)state;
    kl_set_log(keep_line, NULL, KL_LOG_WARN);
    kl_config_unref(config_load(&options));
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_int_equal(logged_level, KL_LOG_WARN);
    assert_non_null(strstr(logged, "user \"nobody\" of context \"x\""));
}

static void count_line(void *context, kl_log_level level, const char *message)
{
    (void)level;
    (void)message;
    (*(int *)context)++;
}

static void only_the_first_document_is_read_with_one_warning(void **state)
{
    char text[sizeof(two_contexts) + 64];
    kl_config_options options = {0};
    int warnings = 0;
    kl_config *config;

    (void)state;
    snprintf(text, sizeof(text), "%s---\na: b\n---\nc: d\n---\ne: f\n",
             two_contexts);
    options.kubeconfig = temp_write("config", text);
    kl_set_log(count_line, &warnings, KL_LOG_WARN);
    config = config_load(&options);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_string_equal(kl_config_server(config), "https://one:6443");
    assert_int_equal(warnings, 1);
    kl_config_unref(config);
}

static void paths_are_relative_to_the_folder_of_their_file(void **state)
{
    char paths[600], expected[300], before[1000];
    kl_config *config;

    (void)state;
    assert_int_equal(mkdir(temp_path("a"), 0700), 0);
    assert_int_equal(mkdir(temp_path("b"), 0700), 0);
    temp_write("a/config",
               "clusters:\n"
               "- name: c\n"
               "  cluster: {server: \"https://s\", certificate-authority: ca}\n"
               "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
               "current-context: x\n");
    temp_write("b/config", "users:\n"
                           "- name: u\n"
                           "  user: {client-certificate: pki/crt, "
                           "client-key: /abs/key, tokenFile: ../token}\n");
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(temp_path("")), 0);
    snprintf(paths, sizeof(paths), "a/config:%s", temp_path("b/config"));
    config = config_load(&(kl_config_options){.kubeconfig = paths});
    assert_int_equal(chdir(before), 0);
    snprintf(expected, sizeof(expected), "%s", temp_path("a/ca"));
    assert_string_equal(config->settings.ca.file, expected);
    assert_string_equal(config->settings.cert.file, temp_path("b/pki/crt"));
    assert_string_equal(config->settings.key.file, "/abs/key");
    assert_string_equal(config->settings.token_file, temp_path("b/../token"));
    kl_config_unref(config);
}

static void a_plugin_path_is_relative_to_its_kubeconfig(void **state)
{
    const char *user = "{exec: {apiVersion: client.authentication.k8s.io/v1, "
                       "interactiveMode: Never, command: %s, args: [a, b]}}";
    char text[300];
    kl_config *config;

    (void)state;
    snprintf(text, sizeof(text), user, "./bin/plugin");
    config = config_load(&(kl_config_options){
        .kubeconfig = kubeconfig_write("{server: \"https://s\"}", text)});
    assert_string_equal(config->settings.exec->args[0],
                        temp_path("./bin/plugin"));
    assert_string_equal(config->settings.exec->args[2], "b");
    kl_config_unref(config);
    snprintf(text, sizeof(text), user, "plugin");
    config = config_load(&(kl_config_options){
        .kubeconfig = kubeconfig_write("{server: \"https://s\"}", text)});
    assert_string_equal(config->settings.exec->args[0], "plugin");
    kl_config_unref(config);
}

static void options_alone_are_a_configuration(void **state)
{
    kl_config *config = config_load(&(kl_config_options){
        .server = "https://s:1/", .token = "t", .name_space = "web"});

    (void)state;
    assert_string_equal(kl_config_server(config), "https://s:1");
    assert_string_equal(kl_config_namespace(config), "web");
    assert_string_equal(kl_config_source(config), "server https://s:1/");
    kl_config_unref(config);
}

static void options_override_a_kubeconfig_as_kubectl_flags_do(void **state)
{
    const char *path =
        kubeconfig_write("{server: \"https://s\", tls-server-name: api, "
                         "certificate-authority-data: " KUBECONFIG_PEM "}",
                         "{username: a, password: b}");
    kl_config *config = config_load(&(kl_config_options){
        .kubeconfig = path, .insecure = true, .token = "t"});

    (void)state;
    assert_true(config->settings.insecure);
    assert_null(config->settings.ca.text);
    assert_string_equal(config->settings.token, "t");
    assert_null(config->settings.username);
    assert_string_equal(config->settings.tls_server_name, "api");
    kl_config_unref(config);
    config = config_load(&(kl_config_options){
        .kubeconfig = path, .server = "https://other", .ca_file = "/ca"});
    assert_string_equal(kl_config_server(config), "https://other");
    assert_null(config->settings.tls_server_name);
    assert_string_equal(config->settings.ca.file, "/ca");
    assert_null(config->settings.ca.text);
    assert_string_equal(config->settings.username, "a");
    kl_config_unref(config);
}

static void a_json_kubeconfig_is_read_too(void **state)
{
    kl_config *config = config_load(&(kl_config_options){
        .kubeconfig = temp_write(
            "c", "{\"current-context\":\"x\",\"contexts\":[{\"name\":\"x\","
                 "\"context\":{\"cluster\":\"c\"}}],\"clusters\":[{\"name\":"
                 "\"c\",\"cluster\":{\"server\":\"s:1\"}}]}")});

    (void)state;
    assert_string_equal(kl_config_server(config), "http://s:1");
    kl_config_unref(config);
}

static kl_code load_once(void *context)
{
    kl_error err = {.code = KL_OK};
    kl_config *config = kl_config_load(context, &err);

    kl_config_unref(config);
    return config != NULL ? KL_OK : err.code;
}

static void running_out_of_memory_is_an_error_that_leaks_nothing(void **state)
{
    kl_config_options options = {
        .kubeconfig = kubeconfig_write(
            "{server: \"https://s\", "
            "certificate-authority-data: " KUBECONFIG_PEM
            ", proxy-url: \"http://p:1\", tls-server-name: api, extensions: "
            "[{name: client.authentication.k8s.io/exec, extension: {a: 1}}]}",
            "{tokenFile: t, client-certificate: crt, client-key: key, as: a, "
            "as-groups: [g], as-user-extra: {k: [v]}, exec: {command: ./a, "
            "args: [b], env: [{name: A, value: B}], installHint: hint, "
            "apiVersion: client.authentication.k8s.io/v1beta1}}")};

    (void)state;
    failing_alloc_each(load_once, &options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(current_context_is_the_default_context),
        SPEC(a_context_can_be_chosen),
        SPEC(kubeconfig_of_the_environment_is_found),
        SPEC(the_file_in_home_is_found),
        SPEC(an_entry_of_the_first_file_with_its_name_is_used),
        SPEC(entries_of_one_name_are_not_merged_field_by_field),
        SPEC(a_missing_file_is_an_error_only_if_given_explicitly),
        SPEC(one_invalid_file_of_several_is_an_error),
        SPEC(no_configuration_is_an_error_that_lists_what_was_tried),
        SPEC(no_home_and_no_kubeconfig_is_an_error),
        SPEC(an_unknown_context_error_lists_the_contexts),
        SPEC(a_missing_current_context_error_lists_the_contexts),
        SPEC(an_empty_file_is_no_configuration),
        SPEC(an_unknown_cluster_error_lists_the_clusters),
        SPEC(an_unknown_user_is_anonymous_with_a_warning),
        SPEC(only_the_first_document_is_read_with_one_warning),
        SPEC(paths_are_relative_to_the_folder_of_their_file),
        SPEC(a_plugin_path_is_relative_to_its_kubeconfig),
        SPEC(options_alone_are_a_configuration),
        SPEC(options_override_a_kubeconfig_as_kubectl_flags_do),
        SPEC(a_json_kubeconfig_is_read_too),
        SPEC(running_out_of_memory_is_an_error_that_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
