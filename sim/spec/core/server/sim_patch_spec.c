/*
 * sim_patch_spec.c - PATCH by media type: which types are taken, what each does
 * to an object, and the refusals.
 */
#include "sim_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"

#define JSON_PATCH "application/json-patch+json"
#define MERGE_PATCH "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"

static void add_deployment(kl_sim *sim)
{
    sim_expect(sim, "POST", DEPLOYMENTS,
               "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
               "\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{"
               "\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{"
               "\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":["
               "{\"name\":\"one\",\"image\":\"x\"},"
               "{\"name\":\"two\",\"image\":\"y\"}]}}}}",
               201);
}

static void strict_field_validation_reports_repeated_fields(void **state)
{
    sim_add(*state, "a");
    sim_expect_patch(
        *state, CONFIGMAPS "/a?fieldValidation=Strict", MERGE_PATCH,
        "{\"data\":{\"m\":\"1\",\"m\":\"2\"}}",
        "422 : strict decoding error: duplicate field \\\"data.m\\\"\"");
    sim_expect_patch(
        *state, CONFIGMAPS "/a?fieldValidation=Strict", JSON_PATCH,
        "[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"a\":\"1\","
        "\"a\":\"2\"},\"nix\":1}]",
        "422 : strict decoding error: json patch duplicate field "
        "\\\"[0].value.a\\\", json patch unknown field \\\"[0].nix\\\", "
        "duplicate field \\\"data.a\\\"\"");
    sim_expect_patch(
        *state, CONFIGMAPS "/a?fieldValidation=Ignore", JSON_PATCH,
        "[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"a\":\"1\","
        "\"a\":\"2\"},\"nix\":1}]",
        "200 \"data\":{\"a\":\"2\"}");
    /* What a path leads through has each name once. */
    sim_expect_patch(
        *state, CONFIGMAPS "/a?fieldValidation=Strict&dryRun=All", JSON_PATCH,
        "[{\"op\":\"add\",\"path\":\"/data\",\"value\":{}},"
        "{\"op\":\"replace\",\"path\":\"/data\",\"value\":{\"a\":\"1\"}},"
        "{\"op\":\"add\",\"path\":\"/data/b\",\"value\":\"2\"}]",
        "200 \"data\":{\"a\":\"1\",\"b\":\"2\"}");
}

static void a_json_patch_changes_an_object(void **state)
{
    sim_add(*state, "a");
    sim_expect_patch(
        *state, CONFIGMAPS "/a", JSON_PATCH,
        "[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"n\":\"1\"}},"
        "{\"op\":\"copy\",\"from\":\"/data/n\",\"path\":\"/data/m\"}]",
        "200 \"data\":{\"m\":\"1\",\"n\":\"1\"}");
    sim_expect_patch(
        *state, CONFIGMAPS "/a", JSON_PATCH "; charset=utf-8",
        "[{\"op\":\"test\",\"path\":\"/data/n\",\"value\":\"2\"}]",
        "422 \"message\":\"the server rejected our request due to an error in "
        "our request\",\"reason\":\"Invalid\",\"details\":{},\"code\":422");
    sim_expect_patch(
        *state, CONFIGMAPS "/a", JSON_PATCH, "{}",
        "400 error decoding patch: json: cannot unmarshal object into Go value "
        "of type []handlers.jsonPatchOp");
    sim_expect_patch(
        *state, CONFIGMAPS "/a", JSON_PATCH, "",
        "400 \"error decoding patch: unexpected end of JSON input\"");
    sim_expect_patch(*state, CONFIGMAPS "/b", JSON_PATCH, "{}", "404 NotFound");
}

static void a_strategic_patch_merges_containers_by_name(void **state)
{
    add_deployment(*state);
    sim_expect_patch(*state, DEPLOYMENTS "/d", STRATEGIC,
                     "{\"kind\":\"Other\",\"spec\":{\"template\":{\"spec\":{"
                     "\"containers\":[{\"name\":\"two\",\"image\":\"z\"}]}}}}",
                     "200 \"image\":\"x\"");
    sim_expect_patch(*state, DEPLOYMENTS "/d", STRATEGIC, "{}",
                     "200 \"image\":\"z\"");
    sim_expect_patch(*state, DEPLOYMENTS "/d", MERGE_PATCH,
                     "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}",
                     "200 \"labels\":{\"l\":\"1\"}");
    sim_expect_patch(
        *state, DEPLOYMENTS "/d", STRATEGIC,
        "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{}]}}}}",
        "500 \"message\":\"map: map[] does not contain declared merge key: "
        "name\",\"code\":500");
    sim_expect_patch(*state, DEPLOYMENTS "/d", STRATEGIC, "[]",
                     "400 \"json: cannot unmarshal array into Go value of type "
                     "map[string]interface {}\"");
}

static void other_patches_are_unsupported(void **state)
{
    sim_add(*state, "a");
    sim_expect_patch(
        *state, CONFIGMAPS "/a", "application/json", "{}",
        "415 \"message\":\"415: Unsupported Media Type\","
        "\"reason\":\"UnsupportedMediaType\",\"details\":{},\"code\":415");
    sim_expect_patch(*state, CONFIGMAPS "/a", "application/apply-patch+cbor",
                     "{}", "415 UnsupportedMediaType");
}

static void options_of_a_patch_are_checked(void **state)
{
    char target[256] = CONFIGMAPS "/a?fieldManager=";

    sim_add(*state, "a");
    sim_expect_patch(
        *state, CONFIGMAPS "/a?force=true", MERGE_PATCH, "{}",
        "422 PatchOptions.meta.k8s.io \\\"\\\" is invalid: force: Forbidden: "
        "may not be specified for non-apply patch");
    memset(target + strlen(target), 'm', 129);
    sim_expect_patch(
        *state, target, MERGE_PATCH, "{}",
        "422 fieldManager: Too long: may not be more than 128 bytes");
}

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, sim_set_up, sim_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(strict_field_validation_reports_repeated_fields),
        SPEC(a_json_patch_changes_an_object),
        SPEC(a_strategic_patch_merges_containers_by_name),
        SPEC(other_patches_are_unsupported),
        SPEC(options_of_a_patch_are_checked)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
