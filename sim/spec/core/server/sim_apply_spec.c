/*
 * sim_apply_spec.c - managers of fields: managedFields after writes, and
 * server-side apply. Expected values are kube-apiserver's answers.
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
#define MERGE_PATCH "application/merge-patch+json"
#define APPLY "application/apply-patch+yaml"
#define MAP "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\""

static void a_new_object_is_managed_by_its_creator(void **state)
{
    sim_expect(*state, "POST", CONFIGMAPS "?fieldManager=me",
               "{" MAP ",\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}}"
               ",\"data\":{\"k\":\"v\"}}",
               201);
    sim_expect_patch(*state, CONFIGMAPS "/a", MERGE_PATCH, "{}",
                     "200 \"fieldsV1\":{\"f:data\":{\".\":{},\"f:k\":{}},"
                     "\"f:metadata\":{\"f:labels\":{\".\":{},\"f:l\":{}}}}");
}

static void a_manager_that_changes_a_field_owns_it(void **state)
{
    sim_expect(*state, "POST", CONFIGMAPS "?fieldManager=a",
               "{" MAP ",\"metadata\":{\"name\":\"a\"},"
               "\"data\":{\"k\":\"v\",\"n\":\"1\"}}",
               201);
    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=b", MERGE_PATCH,
                     "{\"data\":{\"n\":\"2\"}}",
                     "200 \"fieldsV1\":{\"f:data\":{\"f:n\":{}}}");
    sim_expect_patch(*state, CONFIGMAPS "/a", MERGE_PATCH, "{}",
                     "200 \"fieldsV1\":{\"f:data\":{\".\":{},\"f:k\":{}}}");
    sim_expect_patch(*state, CONFIGMAPS "/a", MERGE_PATCH,
                     "{\"metadata\":{\"managedFields\":[]}}",
                     "200 \"data\":{\"k\":\"v\"");
    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=c", MERGE_PATCH,
                     "{\"data\":{\"m\":\"3\"}}", "200 Timestamp\":\"");
}

static void an_apply_creates_changes_and_removes_fields(void **state)
{
    sim_expect_patch(
        *state, CONFIGMAPS "/a", APPLY, "{" MAP "}",
        "422 fieldManager: Required value: is required for apply patch");
    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY,
                     "{" MAP ",\"metadata\":{\"name\":\"a\"},"
                     "\"data\":{\"a\":\"1\",\"b\":\"2\"}}",
                     "201 \"operation\":\"Apply\"");
    sim_expect_patch(
        *state, CONFIGMAPS "/a?fieldManager=x", APPLY,
        "apiVersion: v1\nkind: ConfigMap\ndata: {b: '2', c: '3'}\n",
        "200 \"data\":{\"b\":\"2\",\"c\":\"3\"}");
    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=y", APPLY,
                     "{" MAP ",\"data\":{\"b\":\"2\"}}",
                     "200 \"manager\":\"y\"");
    /* What another applies as well stays. */
    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY, "{" MAP "}",
                     "200 \"data\":{\"b\":\"2\"}");
}

static void a_conflict_names_the_manager_of_the_field(void **state)
{
    sim_expect_patch(
        *state, DEPLOYMENTS "/d?fieldManager=x", APPLY,
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"spec\":{"
        "\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{"
        "\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":["
        "{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":80}]}"
        "]}}}}",
        "201 \"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\"");
    sim_expect_patch(*state, DEPLOYMENTS "/d?fieldManager=u", MERGE_PATCH,
                     "{\"spec\":{\"replicas\":3}}", "200 \"replicas\":3");
    sim_expect_patch(
        *state, DEPLOYMENTS "/d?fieldManager=y", APPLY,
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
        "\"spec\":{\"replicas\":5}}",
        "409 \"message\":\"Apply failed with 1 conflict: conflict with "
        "\\\"u\\\" using apps/v1: .spec.replicas\",\"reason\":\"Conflict\","
        "\"details\":{\"causes\":[{\"reason\":\"FieldManagerConflict\","
        "\"message\":\"conflict with \\\"u\\\" using apps/v1\","
        "\"field\":\".spec.replicas\"}]},\"code\":409");
    sim_expect_patch(*state, DEPLOYMENTS "/d?fieldManager=y&force=true", APPLY,
                     "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
                     "\"spec\":{\"replicas\":5}}",
                     "200 \"replicas\":5");
    sim_expect_patch(*state, DEPLOYMENTS "/d/status?fieldManager=s", APPLY,
                     "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
                     "\"status\":{\"replicas\":2},\"spec\":{\"replicas\":9}}",
                     "200 \"fieldsType\":\"FieldsV1\","
                     "\"fieldsV1\":{\"f:status\":{\"f:replicas\":{}}},"
                     "\"subresource\":\"status\"}");
}

static void an_apply_without_changes_makes_no_version(void **state)
{
    static const char body[] = "{" MAP ",\"data\":{\"a\":\"1\"}}";
    sim_reply reply;
    char version[32];

    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY, body,
                     "201 ");
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    snprintf(version, sizeof(version), "%s",
             sim_text(reply.doc, "metadata.resourceVersion"));
    sim_reply_clear(&reply);
    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY, body,
                     "200 ");
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    assert_string_equal(sim_text(reply.doc, "metadata.resourceVersion"),
                        version);
    sim_reply_clear(&reply);
}

static void what_cannot_be_applied_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"{\"kind\":\"ConfigMap\"}",
         "400 \"invalid object type: /, Kind=ConfigMap\""},
        {"", "400 \"invalid object type: /, Kind=\""},
        {"{\"apiVersion\":\"apps/v1\",\"kind\":\"Pod\"}",
         "400 \"invalid object type: apps/v1, Kind=Pod\""},
        {"{" MAP ",\"metadata\":{\"managedFields\":[]}}",
         "400 \"metadata.managedFields must be nil\""},
        {"{" MAP ",\"metadata\":{\"name\":\"b\"}}",
         "400 the name of the object (b) does not match"},
        {"{" MAP ",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}",
         "409 uid mismatch: the provided object specified uid u, and no "
         "existing object was found"},
        {"{" MAP ",\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":1},\"b\":1}",
         "500 failed to create typed patch object (/a; /v1, Kind=ConfigMap): "
         "errors:\\n  .data.a: expected string, got "
         "&value.valueUnstructured{Value:1}\\n  .b: field not declared in "
         "schema"},
        {"{" MAP ",\"metadata\":{\"finalizers\":[\"a/b\",\"a/b\"]}}",
         "500 .metadata.finalizers: duplicate entries for key [=\\\"a/b\\\"]"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY,
                         cases[i][0], cases[i][1]);
    }
    sim_expect_patch(*state, DEPLOYMENTS "/d/status?fieldManager=x", APPLY,
                     "{}", "404 NotFound");
}

/* An apply merges first; the merged object then does not convert, which is no
 * 400 as of other writes. */
static void a_value_that_does_not_convert_is_an_internal_error(void **state)
{
#define NOT_AS                                                 \
    "500 failed to convert to unversioned: unable to convert " \
    "unstructured object to "
#define IN_DEFAULT "/api/v1/namespaces/default/"
    static const char *const cases[][3] = {
        {CONFIGMAPS "/a", "{" MAP ",\"binaryData\":{\"a\":\"n!t\"}}",
         NOT_AS "/v1, Kind=ConfigMap: illegal base64 data at input byte 1"},
        {IN_DEFAULT "secrets/a",
         "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"n!t\"}}",
         NOT_AS "/v1, Kind=Secret: illegal base64 data at input byte 1"},
        {IN_DEFAULT "pods/a",
         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"containers\":[{"
         "\"name\":\"a\",\"image\":\"a\",\"resources\":{\"requests\":{\"cpu\":"
         "\"lots\"}}}]}}",
         NOT_AS "/v1, Kind=Pod: quantities must match the regular expression"},
        {DEPLOYMENTS "/a",
         "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"spec\":{"
         "\"replicas\":1.5}}",
         NOT_AS "apps/v1, Kind=Deployment: json: cannot unmarshal number 1.5"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char target[200];

        snprintf(target, sizeof(target), "%s?fieldManager=x", cases[i][0]);
        sim_expect_patch(*state, target, APPLY, cases[i][1], cases[i][2]);
    }
    sim_expect_refusal(
        *state, "POST " IN_DEFAULT "secrets",
        "{\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":\"n!t\"}}", 400,
        "BadRequest: Secret in version \"v1\" cannot be handled "
        "as a Secret: illegal base64 data at input byte 1");
}

static void managed_fields_that_are_null_are_none(void **state)
{
    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY,
                     "{" MAP ",\"metadata\":{\"managedFields\":null},"
                     "\"data\":{\"a\":\"1\"}}",
                     "201 \"f:data\":{\"f:a\":{}}");
}

/* What is applied by either way of kubectl, the other finds. */
static void the_last_applied_annotation_is_kept(void **state)
{
    static const char old[] =
        "{" MAP ",\"metadata\":{\"name\":\"a\",\"annotations\":{"
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"old\"}}}";
    static const char wanted[] =
        "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"\\u003cb\",\"c\":\"d\"},"
        "\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}\n";
    static const char path[] = "metadata.annotations[\"kubectl.kubernetes.io/"
                               "last-applied-configuration\"]";
    static const char body[] = "{" MAP ",\"metadata\":{\"name\":\"a\"},"
                               "\"data\":{\"c\":\"d\",\"a\":\"<b\"}}";
    sim_reply reply;

    sim_expect(*state, "POST", CONFIGMAPS, old, 201);
    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY, body,
                     "200 ");
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    assert_string_equal(sim_text(reply.doc, path), "old");
    sim_reply_clear(&reply);
    sim_expect_patch(*state, CONFIGMAPS "/a?fieldManager=kubectl", APPLY, body,
                     "200 ");
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    assert_string_equal(sim_text(reply.doc, path), wanted);
    sim_reply_clear(&reply);
}

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, sim_set_up, sim_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_new_object_is_managed_by_its_creator),
        SPEC(a_manager_that_changes_a_field_owns_it),
        SPEC(an_apply_creates_changes_and_removes_fields),
        SPEC(a_conflict_names_the_manager_of_the_field),
        SPEC(an_apply_without_changes_makes_no_version),
        SPEC(the_last_applied_annotation_is_kept),
        SPEC(what_cannot_be_applied_is_refused),
        SPEC(a_value_that_does_not_convert_is_an_internal_error),
        SPEC(managed_fields_that_are_null_are_none)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
