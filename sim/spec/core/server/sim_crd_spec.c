/*
 * sim_crd_spec.c - the life of CustomResourceDefinitions, and of their objects.
 */
#include "sim_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define FOOS "/apis/example.com/v1/namespaces/default/foos"
#define OLD_FOOS "/apis/example.com/v1beta1/namespaces/default/foos"

/* A definition of that plural, kind Foo, with a replica count and a colour; its
 * older version knows the colour only. */
static void define(kl_sim *sim, const char *plural)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"%s.example.com\"},\"spec\":{\"group\":"
        "\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%s\","
        "\"kind\":\"Foo\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
        "\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{"
        "\"specReplicasPath\":\".spec.n\",\"statusReplicasPath\":\".status.n\"}"
        "},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":"
        "{\"spec\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
        "\"integer\",\"default\":1,\"maximum\":9},\"color\":{\"type\":"
        "\"string\",\"enum\":[\"red\",\"blue\"]}}},\"status\":{\"type\":"
        "\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}}}}},{"
        "\"name\":\"v1beta1\",\"served\":true,\"storage\":false,\"deprecated\":"
        "true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
        "\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{"
        "\"color\":{\"type\":\"string\"}}}}}}}]}}";
    char body[2048];

    snprintf(body, sizeof(body), text, plural, plural);
    sim_expect(sim, "POST", DEFINITIONS, body, 201);
}

static void add(kl_sim *sim, const char *metadata, const char *spec)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":"
             "%s,\"spec\":%s}",
             metadata, spec);
    sim_expect(sim, "POST", FOOS, body, 201);
}

static void expect_text(kl_sim *sim, const char *target, const char *path,
                        const char *expected)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, path), expected);
    sim_reply_clear(&reply);
}

static void objects_are_completed_pruned_and_refused(void **state)
{
    define(*state, "foos");
    add(*state, "{\"name\":\"a\"}", "{\"color\":\"red\",\"more\":1}");
    expect_text(*state, FOOS "/a", "spec", "{\"color\":\"red\",\"n\":1}");
    sim_expect_refusal(
        *state, "POST " FOOS,
        "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{"
        "\"name\":\"b\"},\"spec\":{\"n\":10,\"color\":\"green\"}}",
        422,
        "Invalid: Foo.example.com \"b\" is invalid: [spec.n: Invalid value: "
        "10: spec.n in body should be less than or equal to 9, spec.color: "
        "Unsupported value: \"green\": supported values: \"red\", \"blue\"]");
    sim_expect_refusal(
        *state, "POST " FOOS "?fieldValidation=Strict",
        "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{"
        "\"name\":\"b\"},\"spec\":{\"n\":1,\"n\":2,\"x\":1}}",
        400,
        "BadRequest: Foo in version \"v1\" cannot be handled as a Foo: strict "
        "decoding error: duplicate field \"spec.n\", unknown field "
        "\"spec.x\"");
}

static void each_version_shows_the_fields_of_its_schema(void **state)
{
    define(*state, "foos");
    add(*state, "{\"name\":\"a\"}", "{\"color\":\"red\",\"n\":3}");
    expect_text(*state, OLD_FOOS "/a", "spec", "{\"color\":\"red\"}");
    expect_text(*state, OLD_FOOS, "items[*].spec", "{\"color\":\"red\"}");
    sim_expect(*state, "PATCH", OLD_FOOS "/a",
               "{\"spec\":{\"color\":\"blue\"}}", 200);
    expect_text(*state, FOOS "/a", "spec", "{\"color\":\"blue\",\"n\":1}");
}

static void the_scale_of_a_custom_object_sets_its_field(void **state)
{
    define(*state, "foos");
    add(*state, "{\"name\":\"a\"}", "{}");
    sim_expect(*state, "PATCH", FOOS "/a/scale", "{\"spec\":{\"replicas\":4}}",
               200);
    expect_text(*state, FOOS "/a", "spec.n", "4");
    sim_expect(*state, "PATCH", FOOS "/a/scale", "{\"spec\":{\"replicas\":10}}",
               422);
    sim_expect(*state, "GET", OLD_FOOS "/a/scale", NULL, 404);
}

static void a_new_schema_applies_to_existing_objects(void **state)
{
    define(*state, "foos");
    add(*state, "{\"name\":\"a\"}", "{\"color\":\"red\"}");
    sim_expect(*state, "PATCH", DEFINITIONS "/foos.example.com",
               "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,"
               "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
               "\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
               "\"properties\":{\"size\":{\"type\":\"string\",\"default\":"
               "\"big\"}}}}}}}]}}",
               200);
    expect_text(*state, FOOS "/a", "spec", "{\"size\":\"big\"}");
    sim_expect(*state, "GET", OLD_FOOS "/a", NULL, 404);
}

static void taken_names_are_accepted_once_they_are_free(void **state)
{
    define(*state, "foos");
    define(*state, "others");
    expect_text(*state, DEFINITIONS "/others.example.com",
                "status.conditions[1].reason", "ListKindConflict");
    sim_expect(*state, "GET", "/apis/example.com/v1/others", NULL, 404);
    sim_expect(*state, "DELETE", DEFINITIONS "/foos.example.com", NULL, 200);
    sim_expect(*state, "GET", "/apis/example.com/v1/others", NULL, 200);
    expect_text(*state, DEFINITIONS "/others.example.com",
                "status.conditions[1].reason", "NoConflicts");
}

static void a_definition_waits_for_the_end_of_its_objects(void **state)
{
    define(*state, "foos");
    add(*state, "{\"name\":\"plain\"}", "{}");
    add(*state, "{\"name\":\"kept\",\"finalizers\":[\"a.b/c\"]}", "{}");
    sim_expect(*state, "DELETE", DEFINITIONS "/foos.example.com", NULL, 200);
    expect_text(*state, DEFINITIONS "/foos.example.com",
                "status.conditions[3].reason", "InstanceDeletionInProgress");
    expect_text(*state, FOOS, "items[*].metadata.name", "kept");
    sim_expect_refusal(
        *state, "POST " FOOS,
        "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{"
        "\"name\":\"new\"}}",
        403,
        "Forbidden: foos.example.com \"new\" is forbidden: create not allowed "
        "while custom resource definition is terminating");
    sim_expect(*state, "PATCH", FOOS "/kept",
               "{\"metadata\":{\"finalizers\":null}}", 200);
    sim_expect(*state, "GET", DEFINITIONS "/foos.example.com", NULL, 404);
    sim_expect(*state, "GET", FOOS, NULL, 404);
}

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, sim_set_up, sim_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(objects_are_completed_pruned_and_refused),
        SPEC(each_version_shows_the_fields_of_its_schema),
        SPEC(the_scale_of_a_custom_object_sets_its_field),
        SPEC(a_new_schema_applies_to_existing_objects),
        SPEC(taken_names_are_accepted_once_they_are_free),
        SPEC(a_definition_waits_for_the_end_of_its_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
