/*
 * kubeconfig_spec.c - kubeconfig files, merged and read as client-go does, and
 * errors that say what to do.
 */
#include "kubelua/config.h"

#include "config/load.h"
#include "failing_alloc.h"
#include "kubelua/log.h"
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

/* "-----BEGIN CERTIFICATE-----\n" in base64 */
#define PEM "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="

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

static kl_config *load(const kl_config_options *options)
{
    kl_error err;
    kl_config *config = kl_config_load(options, &err);

    if (config == NULL) {
        print_error("%s\n", err.message);
    }
    assert_non_null(config);
    return config;
}

static void assert_error(const kl_config_options *options, const char *message)
{
    kl_error err;

    assert_null(kl_config_load(options, &err));
    if (strstr(err.message, message) == NULL) {
        print_error("%s\n", err.message);
    }
    assert_non_null(strstr(err.message, message));
    assert_int_equal(err.code, KL_ECONFIG);
}

/* Writes a kubeconfig of one context; `cluster` and `user` are YAML maps. */
static const char *write_one(const char *cluster, const char *user)
{
    return temp_printf(
        "config",
        "current-context: x\n"
        "clusters: [{name: c, cluster: %s}]\n"
        "users: [{name: u, user: %s}]\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\n",
        cluster, user);
}

static void assert_one_fails(const char *cluster, const char *user,
                             const char *message)
{
    kl_config_options options = {.kubeconfig = write_one(cluster, user)};

    assert_error(&options, message);
}

static void the_current_context_decides(void **state)
{
    const char *path = temp_write("config", two_contexts);
    kl_config_options options = {.kubeconfig = path};
    kl_config *config = load(&options);
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
    kl_config *config = load(&options);

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
    config = load(NULL);
    assert_string_equal(kl_config_server(config), "https://one:6443");
    kl_config_unref(config);
}

static void the_file_in_home_is_found(void **state)
{
    kl_config *config;

    (void)state;
    assert_int_equal(mkdir(temp_path(".kube"), 0700), 0);
    temp_write(".kube/config", two_contexts);
    config = load(NULL);
    assert_string_equal(kl_config_server(config), "https://one:6443");
    kl_config_unref(config);
}

static void of_several_files_the_first_wins_each_name(void **state)
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
    config = load(NULL);
    assert_string_equal(kl_config_server(config), "https://two/prefix");
    kl_config_unref(config);
    config = load(&(kl_config_options){.context = "one"});
    assert_string_equal(kl_config_server(config), "https://a");
    assert_string_equal(config->settings.token, "t1");
    kl_config_unref(config);
}

static void
an_entry_of_the_first_file_is_not_completed_from_others(void **state)
{
    char paths[600];
    kl_config *config;

    (void)state;
    snprintf(paths, sizeof(paths), "%s:%s",
             temp_write("a", "users: [{name: u1, user: {username: bob}}]\n"),
             temp_write("b", two_contexts));
    setenv("KUBECONFIG", paths, 1);
    config = load(NULL);
    assert_null(config->settings.token);
    assert_string_equal(config->settings.username, "bob");
    kl_config_unref(config);
}

static void a_missing_file_is_an_error_only_where_it_was_asked_for(void **state)
{
    (void)state;
    assert_error(&(kl_config_options){.kubeconfig = temp_path("none")},
                 "No such file or directory; check the path");
    setenv("KUBECONFIG", temp_path("none"), 1);
    assert_error(NULL, "none: no such file; no pod: KUBERNETES_SERVICE_HOST");
}

static void a_broken_file_of_several_is_an_error(void **state)
{
    char paths[600];

    (void)state;
    snprintf(paths, sizeof(paths), "%s:%s", temp_write("a", two_contexts),
             temp_write("b", "a: b: c\n"));
    setenv("KUBECONFIG", paths, 1);
    assert_error(NULL, "/b: line 1, column 5: mapping values are not allowed");
}

static void nothing_at_all_says_what_was_looked_for(void **state)
{
    (void)state;
    assert_error(NULL, "/.kube/config: no such file; no pod: "
                       "KUBERNETES_SERVICE_HOST and _PORT are not set. Set "
                       "KUBECONFIG, or give a kubeconfig or a server");
}

static void a_context_that_is_not_there_names_those_that_are(void **state)
{
    kl_config_options options = {.kubeconfig = temp_write("c", two_contexts),
                                 .context = "three"};

    (void)state;
    assert_error(&options, "context \"three\" is not in ");
    assert_error(&options, "/c; contexts there: one, two");
}

static void no_current_context_names_the_contexts(void **state)
{
    kl_config_options options = {
        .kubeconfig = temp_write("c", "contexts: [{name: a}, {name: b}]\n")};

    (void)state;
    assert_error(&options, "/c names no current-context (contexts there: a, b; "
                           "choose one with");
}

static void an_empty_file_is_no_configuration(void **state)
{
    (void)state;
    assert_error(&(kl_config_options){.kubeconfig = temp_write("c", "")},
                 "names no current-context (contexts there: none");
    setenv("KUBECONFIG", "/dev/null", 1);
    assert_error(NULL, "/dev/null names no current-context");
}

static void a_cluster_that_is_not_there_names_those_that_are(void **state)
{
    kl_config_options options = {
        .kubeconfig = temp_write("c", "current-context: x\n"
                                      "clusters: [{name: a}, {name: b}]\n"
                                      "contexts: [{name: x, context: "
                                      "{cluster: c}}]\n")};

    (void)state;
    assert_error(&options, "cluster \"c\" of context \"x\" is not in ");
    assert_error(&options, "clusters there: a, b");
}

static kl_log_level logged_level;
static char logged[1200];

static void keep_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    logged_level = level;
    snprintf(logged, sizeof(logged), "%s", message);
}

static void a_user_that_is_not_there_is_anonymous_with_a_warning(void **state)
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
    kl_config_unref(load(&options));
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_int_equal(logged_level, KL_LOG_WARN);
    assert_non_null(strstr(logged, "user \"nobody\" of context \"x\""));
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
    config = load(&(kl_config_options){.kubeconfig = paths});
    assert_int_equal(chdir(before), 0);
    snprintf(expected, sizeof(expected), "%s", temp_path("a/ca"));
    assert_string_equal(config->settings.ca.file, expected);
    assert_string_equal(config->settings.cert.file, temp_path("b/pki/crt"));
    assert_string_equal(config->settings.key.file, "/abs/key");
    assert_string_equal(config->settings.token_file, temp_path("b/../token"));
    kl_config_unref(config);
}

static void a_plugin_with_a_slash_is_relative_to_its_file_too(void **state)
{
    const char *user = "{exec: {apiVersion: client.authentication.k8s.io/v1, "
                       "interactiveMode: Never, command: %s, args: [a, b]}}";
    char text[300];
    kl_config *config;

    (void)state;
    snprintf(text, sizeof(text), user, "./bin/plugin");
    config = load(&(kl_config_options){
        .kubeconfig = write_one("{server: \"https://s\"}", text)});
    assert_string_equal(config->settings.exec->args[0],
                        temp_path("./bin/plugin"));
    assert_string_equal(config->settings.exec->args[2], "b");
    kl_config_unref(config);
    snprintf(text, sizeof(text), user, "plugin");
    config = load(&(kl_config_options){
        .kubeconfig = write_one("{server: \"https://s\"}", text)});
    assert_string_equal(config->settings.exec->args[0], "plugin");
    kl_config_unref(config);
}

static void data_is_decoded(void **state)
{
    kl_config *config = load(&(kl_config_options){
        .kubeconfig = write_one(
            "{server: \"https://s\", certificate-authority-data: " PEM "}",
            "{client-certificate-data: " PEM ", client-key-data: " PEM "}")});

    (void)state;
    assert_string_equal(config->settings.ca.text,
                        "-----BEGIN CERTIFICATE-----\n");
    assert_string_equal(config->settings.key.text, config->settings.ca.text);
    kl_config_unref(config);
}

static void broken_data_names_file_line_and_field(void **state)
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
    assert_error(&(kl_config_options){.kubeconfig = path}, expected);
    assert_one_fails("{server: s, certificate-authority-data: aGVsbG8=}", "{}",
                     "certificate-authority-data: decodes to something that is "
                     "not PEM");
}

static void what_cannot_work_is_refused_with_a_remedy(void **state)
{
    const char *https = "{server: \"https://s\"}";

    (void)state;
    assert_one_fails("{}", "{}", "has no server");
    assert_one_fails("{server: 12}", "{}", "server: must be text");
    assert_one_fails("[]", "{}", "clusters[\"c\"].cluster: must be a map");
    assert_one_fails("{server: \"ftp://s\"}", "{}", "is no URL of the form");
    assert_one_fails("{server: \"https://\"}", "{}", "is no URL of the form");
    assert_one_fails("{server: \"https://s\", insecure-skip-tls-verify: true, "
                     "certificate-authority-data: " PEM "}",
                     "{}", "contradicts the certificate authority");
    assert_one_fails("{server: \"https://s\", certificate-authority: a, "
                     "certificate-authority-data: " PEM "}",
                     "{}", "certificate-authority-data is set too");
    assert_one_fails("{server: \"https://s\", proxy-url: \"ftp://p\"}", "{}",
                     "proxy-url: the proxy's URL is not of the form");
    assert_one_fails(https, "{client-certificate-data: " PEM "}",
                     "a client certificate without its key");
    assert_one_fails(https, "{client-key: k}", "a client key without its");
    assert_one_fails(https, "{client-key: k, client-key-data: " PEM "}",
                     "client-key-data is set too");
    assert_one_fails(https, "{token: t, username: u}",
                     "both a token and a username");
    assert_one_fails(https, "{token: \"a\\nb\"}", "holds a line break");
    assert_one_fails(https, "{as-groups: [g]}", "add \"as: NAME\"");
    assert_one_fails(https, "{as: a, as-groups: [1]}", "must hold text only");
    assert_one_fails(https, "{as: a, as-groups: g}", "must be a list");
    assert_one_fails(https, "{auth-provider: {name: gcp}}",
                     "gke-gcloud-auth-plugin");
    assert_one_fails(https, "{auth-provider: {name: oidc}}", "oidc-login");
}

static void a_plugin_is_checked_before_it_is_ever_run(void **state)
{
    const char *https = "{server: \"https://s\"}";
    const char *v1 = "apiVersion: client.authentication.k8s.io/v1";
    char user[300];

    (void)state;
    snprintf(user, sizeof(user), "{exec: {%s}}", v1);
    assert_one_fails(https, user, "user.exec: has no command");
    snprintf(user, sizeof(user), "{exec: {command: a, %s}}", v1);
    assert_one_fails(https, user, "has no interactiveMode, which v1 demands");
    snprintf(user, sizeof(user),
             "{exec: {command: a, %s, interactiveMode: Always}}", v1);
    assert_one_fails(https, user, "gets no terminal here");
    snprintf(user, sizeof(user),
             "{exec: {command: a, %s, interactiveMode: Maybe}}", v1);
    assert_one_fails(https, user, "is \"Maybe\"; known are");
    assert_one_fails(https, "{exec: {command: a}}", "apiVersion: is missing");
    assert_one_fails(https,
                     "{exec: {command: a, apiVersion: "
                     "client.authentication.k8s.io/v1alpha1}}",
                     "known are client.authentication.k8s.io/v1 and v1beta1");
    snprintf(user, sizeof(user), "{exec: {command: a, %s, env: [{value: 1}]}}",
             v1);
    assert_one_fails(https, user, "must hold maps with a name and a value");
}

static void a_name_that_is_there_twice_is_refused(void **state)
{
    kl_config_options options = {
        .kubeconfig = temp_write("c", "current-context: x\n"
                                      "contexts:\n"
                                      "- {name: x, context: {}}\n"
                                      "- {name: x, context: {}}\n")};

    (void)state;
    assert_error(&options, "/c:4: contexts[\"x\"].context: the name is there "
                           "twice");
}

static void what_is_no_kubeconfig_is_refused(void **state)
{
    static char huge[KL__MAX_FILE + 2];

    (void)state;
    assert_error(
        &(kl_config_options){.kubeconfig = temp_write("c", "kind: Pod\n")},
        "is no kubeconfig: kind Pod");
    assert_error(&(kl_config_options){.kubeconfig = temp_write("c", "[a]\n")},
                 "it holds no map");
    assert_error(&(kl_config_options){.kubeconfig =
                                          temp_write("c", "clusters: {}\n"
                                                          "current-context: a\n"
                                                          "contexts: 3\n")},
                 "/c:3: contexts: must be a list");
    assert_error(&(kl_config_options){.kubeconfig = temp_path("")},
                 "Is a directory; name the file in it");
    memset(huge, '#', sizeof(huge));
    assert_null(kl_config_load(
        &(kl_config_options){.kubeconfig =
                                 temp_write_bytes("huge", huge, sizeof(huge))},
        NULL));
}

static void a_file_that_may_not_be_read_says_so(void **state)
{
    const char *path = temp_write("c", two_contexts);
    kl_config_options options = {.kubeconfig = path};
    bool failed;
    kl_error err;

    (void)state;
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(temp_path(""), 0755), 0);
    if (geteuid() != 0) {
        assert_error(&options, "Permission denied; let this user read it");
        return;
    }
    /* root may read everything: be nobody for a moment */
    assert_int_equal(seteuid(65534), 0);
    failed = kl_config_load(&options, &err) == NULL;
    assert_int_equal(seteuid(0), 0);
    assert_true(failed);
    assert_non_null(strstr(err.message, "Permission denied; let this user"));
}

static void options_alone_make_a_config(void **state)
{
    kl_config *config = load(&(kl_config_options){
        .server = "https://s:1/", .token = "t", .name_space = "web"});

    (void)state;
    assert_string_equal(kl_config_server(config), "https://s:1");
    assert_string_equal(kl_config_namespace(config), "web");
    assert_string_equal(kl_config_source(config), "server https://s:1/");
    kl_config_unref(config);
}

static void options_override_a_kubeconfig_as_flags_of_kubectl(void **state)
{
    const char *path =
        write_one("{server: \"https://s\", tls-server-name: api, "
                  "certificate-authority-data: " PEM "}",
                  "{username: a, password: b}");
    kl_config *config = load(&(kl_config_options){
        .kubeconfig = path, .insecure = true, .token = "t"});

    (void)state;
    assert_true(config->settings.insecure);
    assert_null(config->settings.ca.text);
    assert_string_equal(config->settings.token, "t");
    assert_null(config->settings.username);
    assert_string_equal(config->settings.tls_server_name, "api");
    kl_config_unref(config);
    config = load(&(kl_config_options){
        .kubeconfig = path, .server = "https://other", .ca_file = "/ca"});
    assert_string_equal(kl_config_server(config), "https://other");
    assert_null(config->settings.tls_server_name);
    assert_string_equal(config->settings.ca.file, "/ca");
    assert_null(config->settings.ca.text);
    assert_string_equal(config->settings.username, "a");
    kl_config_unref(config);
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
    kl_config *config = load(&(kl_config_options){
        .kubeconfig = write_one("{server: \"https://s\"}",
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

static void a_json_kubeconfig_is_read_too(void **state)
{
    kl_config *config = load(&(kl_config_options){
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
        .kubeconfig = write_one(
            "{server: \"https://s\", certificate-authority-data: " PEM
            ", proxy-url: \"http://p:1\", tls-server-name: api, extensions: "
            "[{name: client.authentication.k8s.io/exec, extension: {a: 1}}]}",
            "{tokenFile: t, client-certificate: crt, client-key: key, as: a, "
            "as-groups: [g], as-user-extra: {k: [v]}, exec: {command: ./a, "
            "args: [b], env: [{name: A, value: B}], installHint: hint, "
            "apiVersion: client.authentication.k8s.io/v1beta1}}")};

    (void)state;
    failing_alloc_each(load_once, &options);
}

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, temp_files_setup, temp_files_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(the_current_context_decides),
        SPEC(a_context_can_be_chosen),
        SPEC(kubeconfig_of_the_environment_is_found),
        SPEC(the_file_in_home_is_found),
        SPEC(of_several_files_the_first_wins_each_name),
        SPEC(an_entry_of_the_first_file_is_not_completed_from_others),
        SPEC(a_missing_file_is_an_error_only_where_it_was_asked_for),
        SPEC(a_broken_file_of_several_is_an_error),
        SPEC(nothing_at_all_says_what_was_looked_for),
        SPEC(a_context_that_is_not_there_names_those_that_are),
        SPEC(no_current_context_names_the_contexts),
        SPEC(an_empty_file_is_no_configuration),
        SPEC(a_cluster_that_is_not_there_names_those_that_are),
        SPEC(a_user_that_is_not_there_is_anonymous_with_a_warning),
        SPEC(paths_are_relative_to_the_folder_of_their_file),
        SPEC(a_plugin_with_a_slash_is_relative_to_its_file_too),
        SPEC(data_is_decoded),
        SPEC(broken_data_names_file_line_and_field),
        SPEC(what_cannot_work_is_refused_with_a_remedy),
        SPEC(a_plugin_is_checked_before_it_is_ever_run),
        SPEC(a_name_that_is_there_twice_is_refused),
        SPEC(what_is_no_kubeconfig_is_refused),
        SPEC(a_file_that_may_not_be_read_says_so),
        SPEC(options_alone_make_a_config),
        SPEC(options_override_a_kubeconfig_as_flags_of_kubectl),
        SPEC(impersonation_becomes_headers),
        SPEC(a_json_kubeconfig_is_read_too),
        SPEC(running_out_of_memory_is_an_error_that_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
