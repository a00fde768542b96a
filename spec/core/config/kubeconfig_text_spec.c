/*
 * kubeconfig_text_spec.c - kubeconfigs, certificates and keys that are given as
 * texts, so that none of them touches the disk.
 */
#include "kubelua/config.h"

#include "base/buf.h"
#include "config/credentials.h"
#include "config/file.h"
#include "config/load.h"
#include "failing_alloc.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CERT "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
#define KEY "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n"

static const char shop[] = "current-context: one\n"
                           "clusters:\n"
                           "- name: c\n"
                           "  cluster: {server: \"https://one:6443\"}\n"
                           "users:\n"
                           "- name: u\n"
                           "  user: {client-certificate-data: " KUBECONFIG_PEM
                           ", client-key-data: " KUBECONFIG_PEM "}\n"
                           "contexts:\n"
                           "- name: one\n"
                           "  context: {cluster: c, user: u, namespace: web}\n"
                           "- name: two\n"
                           "  context: {cluster: c}\n";

static void a_kubeconfig_may_be_a_text(void **state)
{
    kl_config *config;

    (void)state;
    setenv("KUBECONFIG", temp_write("other", "{"), 1); /* is not read */
    config = config_load(&(kl_config_options){.kubeconfig_text = shop});
    assert_string_equal(kl_config_server(config), "https://one:6443");
    assert_string_equal(kl_config_namespace(config), "web");
    assert_string_equal(kl_config_source(config),
                        "kubeconfig_text, context one");
    assert_string_equal(config->settings.key.text,
                        "-----BEGIN CERTIFICATE-----\n");
    kl_config_unref(config);
    config = config_load(
        &(kl_config_options){.kubeconfig_text = shop, .context = "two"});
    assert_string_equal(kl_config_namespace(config), "default");
    kl_config_unref(config);
}

static void paths_of_a_text_begin_in_the_working_folder(void **state)
{
    kl__buf text = {0};
    kl_config *config;

    (void)state;
    kl__buf_puts(&text, "{current-context: x, contexts: [{name: x, context: "
                        "{cluster: c, user: u}}], clusters: [{name: c, "
                        "cluster: {server: s}}], users: [{name: u, user: "
                        "{tokenFile: token}}]}");
    config = config_load(&(kl_config_options){.kubeconfig_text = text.bytes});
    kl__buf_deinit(&text);
    assert_int_equal(config->settings.token_file[0], '/');
    assert_non_null(strstr(config->settings.token_file, "/token"));
    kl_config_unref(config);
}

static void errors_of_a_text_name_the_option_and_line(void **state)
{
    (void)state;
    assert_config_error(
        &(kl_config_options){.kubeconfig_text =
                                 "current-context: a\ncontexts:\n- name: a\n"
                                 "  context: {cluster: c}\nclusters:\n"
                                 "- name: c\n  cluster: {server: [1]}\n"},
        "kubeconfig_text:7: clusters[\"c\"].cluster.server: must be text");
    assert_config_error(&(kl_config_options){.kubeconfig_text = "a: [\n"},
                        "kubeconfig_text: ");
    assert_config_error(&(kl_config_options){.kubeconfig_text = "kind: Pod\n"},
                        "kubeconfig_text is no kubeconfig: kind Pod");
    assert_config_error(&(kl_config_options){.kubeconfig_text = ""},
                        "kubeconfig_text names no current-context");
    assert_config_error(
        &(kl_config_options){.kubeconfig_text = shop, .context = "none"},
        "context \"none\" is not in kubeconfig_text; contexts there: one, two");
    assert_config_error(
        &(kl_config_options){.kubeconfig_text = shop, .kubeconfig = "a"},
        "both kubeconfig_text and kubeconfig are given; keep one");
}

static void a_text_that_is_too_large_is_refused(void **state)
{
    char *text = malloc(KL__MAX_FILE + 2);
    kl_error err;

    (void)state;
    memset(text, ' ', KL__MAX_FILE + 1);
    text[KL__MAX_FILE + 1] = '\0';
    assert_null(
        kl_config_load(&(kl_config_options){.kubeconfig_text = text}, &err));
    assert_int_equal(err.code, KL_ETOO_LARGE);
    assert_string_equal(err.message, "kubeconfig_text has more than 16 MB");
    free(text);
}

static void a_client_certificate_may_be_a_text(void **state)
{
    kl__credentials credentials;
    kl_config *config;

    (void)state;
    config = config_load(&(kl_config_options){
        .server = "https://s", .cert_data = CERT, .key_data = KEY});
    assert_true(kl__config_is_still(config));
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, NULL),
                     KL_OK);
    assert_string_equal(kl__tls_get(credentials.tls)->cert, CERT);
    assert_string_equal(kl__tls_get(credentials.tls)->key, KEY);
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
}

static void a_certificate_as_text_replaces_that_of_a_kubeconfig(void **state)
{
    kl_config *config;

    (void)state;
    config = config_load(&(kl_config_options){
        .kubeconfig =
            kubeconfig_write("{server: \"https://s\"}",
                             "{client-certificate: crt, client-key: key}"),
        .cert_data = CERT,
        .key_data = KEY});
    assert_string_equal(config->settings.cert.text, CERT);
    assert_string_equal(config->settings.key.text, KEY);
    assert_null(config->settings.cert.file);
    assert_null(config->settings.key.file);
    kl_config_unref(config);
}

static void a_wrong_certificate_or_key_names_the_option(void **state)
{
    static const struct {
        const char *cert, *key, *message;
    } wrong[] = {
        {CERT, NULL, "a client certificate without its key; give both"},
        {NULL, KEY, "a client key without its certificate; give both"},
        {"/etc/tls.crt", KEY, "cert_data holds no PEM"},
        {CERT, "", "key_data holds no PEM"},
        {CERT, CERT,
         "key_data holds no PEM: it must have a line "
         "\"-----BEGIN ...PRIVATE KEY-----\""},
        {KEY, KEY, "cert_data holds no PEM"},
        {KUBECONFIG_PEM, KEY, "cert_data is base64 of a PEM text"},
        {CERT, KUBECONFIG_PEM, "key_data is base64 of a PEM text"},
        {CERT, "-----BEGIN ENCRYPTED PRIVATE KEY-----",
         "key_data has a passphrase"}};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_config_error(&(kl_config_options){.server = "https://s",
                                                 .cert_data = wrong[i].cert,
                                                 .key_data = wrong[i].key},
                            wrong[i].message);
    }
    assert_config_error(&(kl_config_options){.server = "https://s",
                                             .cert_data = CERT,
                                             .cert_file = "crt",
                                             .key_data = KEY},
                        "both cert_data and cert_file are given; keep one");
    assert_config_error(&(kl_config_options){.server = "https://s",
                                             .cert_data = CERT,
                                             .key_file = "key",
                                             .key_data = KEY},
                        "both key_data and key_file are given; keep one");
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
        .kubeconfig_text = shop, .cert_data = CERT, .key_data = KEY};

    (void)state;
    failing_alloc_each(load_once, &options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_kubeconfig_may_be_a_text),
        SPEC(paths_of_a_text_begin_in_the_working_folder),
        SPEC(errors_of_a_text_name_the_option_and_line),
        SPEC(a_text_that_is_too_large_is_refused),
        SPEC(a_client_certificate_may_be_a_text),
        SPEC(a_certificate_as_text_replaces_that_of_a_kubeconfig),
        SPEC(a_wrong_certificate_or_key_names_the_option),
        SPEC(running_out_of_memory_is_an_error_that_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
