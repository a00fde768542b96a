/*
 * adopt_spec.c - a config takes over the credentials of another one for the
 * same server: kl__config_adopt.
 */
#include "base/thread.h"
#include "config/credentials.h"
#include "config/load.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static kl_config *load(const char *cluster, const char *user)
{
    return config_load(
        &(kl_config_options){.kubeconfig = kubeconfig_write(cluster, user)});
}

static kl_config *load_user(const char *user)
{
    return load("{server: \"https://s\"}", user);
}

/* The code of an exchange; frees `fresh`. */
static kl_code adopt(kl_config *config, kl_config *fresh, kl_error *err)
{
    kl_code code = kl__config_adopt(config, fresh, err);

    kl_config_unref(fresh);
    return code;
}

static void a_new_token_counts_for_the_next_request(void **state)
{
    kl_config *config = load_user("{token: old}");
    kl_error err;

    (void)state;
    assert_authorization(config, "Bearer old");
    assert_int_equal(adopt(config, load_user("{token: new}"), &err), KL_OK);
    assert_authorization(config, "Bearer new");
    kl_config_unref(config);
}

static void a_refused_generation_has_been_renewed(void **state)
{
    kl_config *config = load_user("{token: old}");
    kl__credentials credentials;
    kl_error err;

    (void)state;
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, &err),
                     KL_OK);
    assert_false(kl__config_renewed(config, credentials.generation));
    assert_int_equal(adopt(config, load_user("{token: new}"), &err), KL_OK);
    assert_true(kl__config_renewed(config, credentials.generation));
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
}

static void a_password_takes_the_place_of_a_token(void **state)
{
    kl_config *config = load_user("{token: old}");
    kl_error err;

    (void)state;
    assert_int_equal(
        adopt(config,
              load_user("{username: Aladdin, password: \"open sesame\"}"),
              &err),
        KL_OK);
    assert_authorization(config, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    kl_config_unref(config);
}

static void another_user_is_impersonated(void **state)
{
    kl_config *config = load_user("{token: t, as: jane}");
    kl__credentials credentials;
    kl_error err;

    (void)state;
    assert_int_equal(
        adopt(config, load_user("{token: t, as: joe, as-groups: [dev]}"), &err),
        KL_OK);
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, &err),
                     KL_OK);
    assert_int_equal(credentials.header_count, 3);
    assert_string_equal(credentials.headers[1].value, "joe");
    assert_string_equal(credentials.headers[2].value, "dev");
    kl__credentials_clear(&credentials);
    kl_config_unref(config);
}

static void a_new_authority_makes_new_tls_settings(void **state)
{
    kl_config *config = load_user("{token: t}");
    kl__credentials before, after;
    kl_error err;

    (void)state;
    assert_int_equal(kl__config_credentials(config, &before, NULL, &err),
                     KL_OK);
    assert_int_equal(
        adopt(config,
              load("{server: \"https://s\", certificate-authority-data: "
                   "\"" KUBECONFIG_PEM "\"}",
                   "{token: t}"),
              &err),
        KL_OK);
    assert_int_equal(kl__config_credentials(config, &after, NULL, &err), KL_OK);
    assert_null(kl__tls_get(before.tls)->ca);
    assert_non_null(kl__tls_get(after.tls)->ca);
    kl__credentials_clear(&before);
    kl__credentials_clear(&after);
    kl_config_unref(config);
}

static void refuses(const char *cluster, const char *user, const char *what)
{
    kl_config *config = load_user("{token: old}");
    kl_error err;

    assert_int_equal(adopt(config, load(cluster, user), &err), KL_ECONFLICT);
    assert_non_null(strstr(err.message, what));
    assert_authorization(config, "Bearer old");
    kl_config_unref(config);
}

static void what_needs_a_new_client_changes_nothing(void **state)
{
    (void)state;
    refuses("{server: \"https://other\"}", "{token: new}", "server is");
    refuses("{server: \"https://s\", proxy-url: \"http://p\"}", "{token: new}",
            "proxy-url is");
    refuses("{server: \"https://s\", tls-server-name: \"n\"}", "{token: new}",
            "tls-server-name is");
    refuses("{server: \"https://s\", insecure-skip-tls-verify: true}",
            "{token: new}", "insecure-skip-tls-verify is");
    refuses("{server: \"https://s\"}", "{tokenFile: /nowhere}", "tokenFile is");
    refuses("{server: \"https://s\"}",
            "{exec: {apiVersion: " PLUGIN_V1
            ", command: a, interactiveMode: Never}}",
            "exec is");
}

static void files_are_read_from_their_new_paths(void **state)
{
    kl_config *config, *fresh;
    kl_error err;
    char user[600];

    (void)state;
    temp_write("a", "one");
    temp_write("b", "two");
    snprintf(user, sizeof(user), "{tokenFile: %s}", temp_path("a"));
    config = load_user(user);
    assert_authorization(config, "Bearer one");
    snprintf(user, sizeof(user), "{tokenFile: %s}", temp_path("b"));
    fresh = load_user(user);
    assert_int_equal(adopt(config, fresh, &err), KL_OK);
    assert_authorization(config, "Bearer two");
    kl_config_unref(config);
}

typedef struct exchanges {
    kl_config *config;
    atomic_bool are_over;
} exchanges;

static void *exchange_again_and_again(void *arg)
{
    exchanges *self = arg;
    char user[600];

    for (int i = 0; i < 2000; i++) {
        kl_config *fresh;

        snprintf(user, sizeof(user), "{tokenFile: %s}", temp_path("token"));
        fresh = i % 2 == 0 ? load("{server: \"https://s\", "
                                  "certificate-authority: ca}",
                                  "{token: t}")
                           : load_user(user);
        assert_int_equal(adopt(self->config, fresh, NULL), KL_OK);
    }
    atomic_store(&self->are_over, true);
    return NULL;
}

/* A client's first request, which asks that, may come during an exchange. */
static void a_config_with_files_never_seems_to_have_none(void **state)
{
    exchanges self = {.are_over = false};
    kl__thread thread;
    char user[600];

    (void)state;
    temp_write("token", "one");
    temp_write("ca", KUBECONFIG_PEM);
    snprintf(user, sizeof(user), "{tokenFile: %s}", temp_path("token"));
    self.config = load_user(user);
    assert_int_equal(kl__thread_start(&thread, "exchanger",
                                      exchange_again_and_again, &self, NULL),
                     KL_OK);
    while (!atomic_load(&self.are_over)) {
        assert_false(kl__config_is_still(self.config));
    }
    kl__thread_join(&thread);
    kl_config_unref(self.config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_new_token_counts_for_the_next_request),
        SPEC(a_refused_generation_has_been_renewed),
        SPEC(a_password_takes_the_place_of_a_token),
        SPEC(another_user_is_impersonated),
        SPEC(a_new_authority_makes_new_tls_settings),
        SPEC(what_needs_a_new_client_changes_nothing),
        SPEC(files_are_read_from_their_new_paths),
        SPEC(a_config_with_files_never_seems_to_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
