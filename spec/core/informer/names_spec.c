/*
 * names_spec.c - names of built-in resources, and field selectors that a server
 * can read.
 */
#include "api/builtin_names.h"
#include "informer/field_selector.h"
#include "kubelua/informer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect_name(const char *typed, const char *expected)
{
    const kl_kind *found = kl_kind_builtin(typed);
    char name[128];

    if (expected == NULL) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    snprintf(name, sizeof(name), "%s.%s.%s", found->plural, found->version,
             found->group);
    assert_string_equal(name, expected);
}

static void each_spelling_of_a_built_in_has_one_name(void **state)
{
    static const char *const typed[] = {
        "deployments",         "deployment",
        "Deployment",          "deploy",
        "DEPLOYMENTS",         "deployments.apps",
        "deployments.v1.apps", "deploy.apps",
        "apps/v1/Deployment",  "apps/v1/deployments",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(typed) / sizeof(typed[0]); i++) {
        expect_name(typed[i], "deployments.v1.apps");
    }
    expect_name("v1/Pod", "pods.v1.");
    expect_name("pods.v1.", "pods.v1.");
}

static void a_bare_name_means_the_core_group_first(void **state)
{
    (void)state;
    expect_name("events", "events.v1.");
    expect_name("events.events.k8s.io", "events.v1.events.k8s.io");
    expect_name("events.k8s.io/v1/Event", "events.v1.events.k8s.io");
}

static void an_ambiguous_resource_name_means_nothing(void **state)
{
    (void)state;
    expect_name("foos", NULL);
    expect_name("pods.metrics.k8s.io", NULL);
    expect_name("apps/v1beta1/Deployment", NULL);
    expect_name("v1/Deployment", NULL);
    expect_name("", NULL);
    expect_name("/", NULL);
    expect_name(".", NULL);
}

static void valid_field_selectors_are_accepted(void **state)
{
    static const char *const good[] = {
        "",   "a=b",  "spec.nodeName=n1", "a==b,c!=d",
        "a=", "a=b,", "a=b\\,c\\=d\\\\",
    };

    (void)state;
    assert_int_equal(kl__field_selector_check(NULL, NULL), KL_OK);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(kl__field_selector_check(good[i], NULL), KL_OK);
    }
}

static void invalid_field_selectors_are_refused(void **state)
{
    static const char *const bad[] = {
        "a", "=b", "!=b", "a=b=c", "a=b\\x", "a=b\\", "x=1,b", "a in (b)",
    };
    kl_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(kl__field_selector_check(bad[i], &err), KL_EINVAL);
    }
    assert_int_equal(kl__field_selector_check("x=1,nodeName", &err), KL_EINVAL);
    assert_non_null(strstr(err.message, "\"nodeName\""));
}

static void expect_refusal(const kl_informer_options *options, const char *text)
{
    kl_error err;

    assert_int_equal(kl_informer_options_check(options, &err), KL_EINVAL);
    assert_non_null(strstr(err.message, text));
}

static void options_are_refused_without_a_client_or_a_network(void **state)
{
    static const char *const dropped[] = {"metadata.uid", NULL};
    static const char *const spec[] = {"spec.containers[*].env", NULL};

    (void)state;
    assert_int_equal(kl_informer_options_check(
                         &(kl_informer_options){.resource = "foos",
                                                .name_space = "web",
                                                .labels = "app in (shop)",
                                                .fields = "spec.nodeName=n1",
                                                .drop = spec},
                         NULL),
                     KL_OK);
    expect_refusal(&(kl_informer_options){0}, "resource");
    expect_refusal(
        &(kl_informer_options){.resource = "foos", .labels = "app in shop"},
        "app in shop");
    expect_refusal(&(kl_informer_options){.resource = "foos", .fields = "a"},
                   "\"a\"");
    expect_refusal(&(kl_informer_options){.resource = "foos", .drop = dropped},
                   "metadata.uid");
    expect_refusal(
        &(kl_informer_options){.resource = "foos", .name_space = "A"}, "\"A\"");
    expect_refusal(&(kl_informer_options){.resource = "foos", .page_size = -1},
                   "negative");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_spelling_of_a_built_in_has_one_name),
        cmocka_unit_test(a_bare_name_means_the_core_group_first),
        cmocka_unit_test(an_ambiguous_resource_name_means_nothing),
        cmocka_unit_test(valid_field_selectors_are_accepted),
        cmocka_unit_test(invalid_field_selectors_are_refused),
        cmocka_unit_test(options_are_refused_without_a_client_or_a_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
