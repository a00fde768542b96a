/*
 * sim_openapi_spec.c - OpenAPI: the index, the documents, and that every
 * reference in them has a target.
 */
#include "sim_rig.h"

#include "failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static sim_reply get(kl_sim *sim, const char *target)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_int_equal(reply.status, 200);
    assert_non_null(reply.doc);
    return reply;
}

/* Asserts the JSON at a path whose names have dots: two of them, then one. */
static void expect_at(const sim_reply *reply, const char *type,
                      const char *path, const char *wanted)
{
    char whole[512];

    snprintf(whole, sizeof(whole), "components.schemas[\"%s\"]%s%s", type,
             *path != '\0' ? "." : "", path);
    assert_string_equal(sim_text(reply->doc, whole), wanted);
}

static void the_index_leads_to_every_group_and_version(void **state)
{
    sim_reply reply = get(*state, "/openapi/v3");
    const kl_value *paths = kl_value_get(kl_doc_root(reply.doc), "paths");
    kl_value_iter iter = {0};
    const kl_value *path, *name;
    size_t count = 0;

    while ((path = kl_value_next(paths, &iter, &name)) != NULL) {
        const char *url =
            kl_value_string(kl_value_get(path, "serverRelativeURL"), NULL);
        sim_reply one;

        assert_non_null(strstr(url, kl_value_string(name, NULL)));
        assert_non_null(strstr(url, "?hash="));
        one = get(*state, url);
        assert_string_equal(sim_text(one.doc, "openapi"), "3.0.0");
        sim_reply_clear(&one);
        count++;
    }
    assert_true(count > 15);
    sim_reply_clear(&reply);
    sim_expect(*state, "GET", "/openapi/v3/apis/nope/v1", NULL, 404);
    sim_expect(*state, "GET", "/openapi/v4", NULL, 404);
}

/* Goes through a document and asserts that what is referred to is in it. */
static void check_references(const kl_value *schemas, const kl_value *value)
{
    static const char prefix[] = "#/components/schemas/";
    const char *ref = kl_value_string(kl_value_get(value, "$ref"), NULL);
    kl_value_iter iter = {0};
    const kl_value *inner;

    if (ref != NULL) {
        assert_memory_equal(ref, prefix, sizeof(prefix) - 1);
        assert_non_null(kl_value_get(schemas, ref + sizeof(prefix) - 1));
    }
    while ((inner = kl_value_next(value, &iter, NULL)) != NULL) {
        check_references(schemas, inner);
    }
}

static void every_reference_of_openapi_has_a_target(void **state)
{
    static const char *const targets[] = {
        "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1",
        "/openapi/v3/apis/apiextensions.k8s.io/v1"};

    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        sim_reply reply = get(*state, targets[i]);
        const kl_value *root = kl_doc_root(reply.doc);

        check_references(
            kl_value_get(kl_value_get(root, "components"), "schemas"), root);
        sim_reply_clear(&reply);
    }
}

static void a_type_has_fields_keys_and_its_kind(void **state)
{
    sim_reply reply = get(*state, "/openapi/v3/apis/apps/v1");

    expect_at(&reply, "io.k8s.api.apps.v1.Deployment",
              "x-kubernetes-group-version-kind[1].kind", "Deployment");
    expect_at(&reply, "io.k8s.api.apps.v1.DeploymentSpec", "required[2]",
              "template");
    expect_at(&reply, "io.k8s.api.apps.v1.DeploymentSpec",
              "properties.strategy.x-kubernetes-patch-strategy", "retainKeys");
    expect_at(&reply, "io.k8s.api.core.v1.PodSpec",
              "properties.containers.x-kubernetes-patch-merge-key", "name");
    expect_at(&reply, "io.k8s.api.core.v1.Container",
              "properties.ports.x-kubernetes-list-map-keys",
              "[\"containerPort\",\"protocol\"]");
    expect_at(&reply, "io.k8s.api.core.v1.PodSpec",
              "properties.restartPolicy.enum",
              "[\"Always\",\"Never\",\"OnFailure\"]");
    expect_at(&reply, "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
              "properties.accessModes.items.enum[2]", "ReadWriteMany");
    expect_at(&reply, "io.k8s.apimachinery.pkg.apis.meta.v1.Time", "",
              "{\"type\":\"string\",\"format\":\"date-time\"}");
    expect_at(&reply, "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
              "x-kubernetes-map-type", "atomic");
    sim_reply_clear(&reply);
}

static void paths_tell_actions_and_parameters(void **state)
{
    sim_reply reply = get(*state, "/openapi/v3/api/v1");

    assert_string_equal(sim_text(reply.doc,
                                 "paths[\"/api/v1/namespaces/{namespace}/pods/"
                                 "{name}\"].patch.parameters[3].name"),
                        "fieldValidation");
    assert_string_equal(
        sim_text(reply.doc, "paths[\"/api/v1/pods\"].get.x-kubernetes-action"),
        "list");
    assert_string_equal(sim_text(reply.doc, "paths[\"/api/v1/pods\"].post"),
                        "");
    sim_reply_clear(&reply);
}

static void a_new_definition_is_in_openapi_at_once(void **state)
{
    static const char definition[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
        "\"CustomResourceDefinition\",\"metadata\":{\"name\":"
        "\"foos.example.com\"},\"spec\":{\"group\":\"example.com\",\"names\":{"
        "\"plural\":\"foos\",\"kind\":\"Foo\"},\"scope\":\"Namespaced\","
        "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
        "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"
        "\"spec\":{\"type\":\"object\",\"description\":\"it\"}}}}}]}}";
    sim_reply reply;

    sim_expect(*state, "GET", "/openapi/v3/apis/example.com/v1", NULL, 404);
    sim_expect(*state, "POST",
               "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               definition, 201);
    reply = get(*state, "/openapi/v3/apis/example.com/v1");
    expect_at(&reply, "com.example.v1.Foo", "properties.spec.description",
              "it");
    expect_at(&reply, "com.example.v1.Foo",
              "x-kubernetes-group-version-kind[1].group", "example.com");
    expect_at(&reply, "com.example.v1.FooList", "required[1]", "items");
    check_references(
        kl_value_get(kl_value_get(kl_doc_root(reply.doc), "components"),
                     "schemas"),
        kl_doc_root(reply.doc));
    sim_reply_clear(&reply);
}

static void openapi_v2_has_all_groups_in_one_document(void **state)
{
    sim_reply reply = get(*state, "/openapi/v2");

    assert_string_equal(sim_text(reply.doc, "swagger"), "2.0");
    assert_string_equal(sim_text(reply.doc,
                                 "definitions[\"io.k8s.api.core.v1.Pod\"]."
                                 "properties.spec[\"$ref\"]"),
                        "#/definitions/io.k8s.api.core.v1.PodSpec");
    sim_reply_clear(&reply);
}

static kl_code ask(void *context)
{
    const kl_call call = {.method = "GET",
                          .target = "/openapi/v3/apis/coordination.k8s.io/v1"};
    kl_error err = {0};
    kl_reply reply;
    kl_code code = kl_sim_call(context, &call, &reply, &err);

    kl_reply_clear(&reply);
    return code;
}

static void a_document_can_run_out_of_memory(void **state)
{
    failing_alloc_each(ask, *state);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, sim_set_up, sim_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_index_leads_to_every_group_and_version),
        TEST(every_reference_of_openapi_has_a_target),
        TEST(a_type_has_fields_keys_and_its_kind),
        TEST(paths_tell_actions_and_parameters),
        TEST(a_new_definition_is_in_openapi_at_once),
        TEST(openapi_v2_has_all_groups_in_one_document),
        TEST(a_document_can_run_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
