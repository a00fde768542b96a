/*
 * resource_spec.c - resources and the URLs of their collections.
 */
#include "failing_alloc.h"
#include "object/resource.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static kl__resource resource(const char *group, const char *plural,
                             bool namespaced)
{
    return (kl__resource){(char *)(uintptr_t)group, (char *)(uintptr_t) "v1",
                          (char *)(uintptr_t)plural, (char *)(uintptr_t) "Kind",
                          namespaced};
}

static void has_path(const char *group, const char *plural,
                     const char *name_space, const char *expected)
{
    kl__resource self = resource(group, plural, true);
    kl__buf out = {0};

    kl__resource_path(&self, name_space, &out);
    assert_string_equal(out.bytes, expected);
    kl__buf_deinit(&out);
}

static void a_collection_has_its_path(void **state)
{
    kl__resource nodes = resource("", "nodes", false);
    kl__buf out = {0};

    (void)state;
    has_path("", "pods", NULL, "/api/v1/pods");
    has_path("", "pods", "web", "/api/v1/namespaces/web/pods");
    has_path("apps", "deployments", NULL, "/apis/apps/v1/deployments");
    has_path("apps", "deployments", "web",
             "/apis/apps/v1/namespaces/web/deployments");
    has_path("", "pods", "../a%b?", "/api/v1/namespaces/..%2Fa%25b%3F/pods");
    kl__resource_path(&nodes, "web", &out);
    assert_string_equal(out.bytes, "/api/v1/nodes");
    kl__buf_deinit(&out);
}

static void an_api_version_names_the_group_unless_it_is_the_core(void **state)
{
    kl__resource pods = resource("", "pods", true);
    kl__resource deployments = resource("apps", "deployments", true);
    kl__buf out = {0};

    (void)state;
    kl__resource_api_version(&pods, &out);
    kl__buf_putc(&out, ' ');
    kl__resource_api_version(&deployments, &out);
    assert_string_equal(out.bytes, "v1 apps/v1");
    kl__buf_deinit(&out);
}

static kl_code copy(void *context)
{
    kl__resource from = resource("apps", "deployments", true);
    kl__resource to;

    (void)context;
    if (!kl__resource_copy(&to, &from)) {
        assert_null(to.group);
        assert_null(to.kind);
        return KL_ENOMEM;
    }
    assert_string_equal(to.group, "apps");
    assert_string_equal(to.version, "v1");
    assert_string_equal(to.plural, "deployments");
    assert_string_equal(to.kind, "Kind");
    assert_true(to.namespaced);
    kl__resource_clear(&to);
    assert_null(to.plural);
    return KL_OK;
}

static void a_resource_copy_owns_its_strings_or_is_empty(void **state)
{
    (void)state;
    assert_int_equal(failing_alloc_each(copy, NULL), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collection_has_its_path),
        cmocka_unit_test(an_api_version_names_the_group_unless_it_is_the_core),
        cmocka_unit_test(a_resource_copy_owns_its_strings_or_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
