/*
 * sim_apply_spec.c - who manages fields: what writes leave in managedFields,
 * and server-side apply. What is expected is what kube-apiserver answered.
 */
#include "sim_client.h"

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

static int set_up(void **state)
{
    kl_error err = {0};
    kl_sim *sim = kl_sim_new(NULL, &err);

    *state = sim;
    return sim != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    kl_sim_unref(*state);
    sim_expect_nothing_lives();
    return 0;
}

/* Sends a patch; `expected` is the answer's status, a blank, and what is in its
 * body. */
static void patch(kl_sim *sim, const char *target, const char *type,
                  const char *body, const char *expected)
{
    const kl_call call = {.method = "PATCH",
                          .target = target,
                          .content_type = type,
                          .body = body,
                          .body_length = strlen(body)};
    const int status = atoi(expected);
    const char *text = strchr(expected, ' ') + 1;
    kl_error err = {0};
    kl_reply reply;

    if (kl_sim_call(sim, &call, &reply, &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
    if (reply.status != status || strstr(reply.body, text) == NULL) {
        fail_msg("%s with %s: %d %s", target, body, reply.status, reply.body);
    }
    kl_reply_clear(&reply);
}

static void a_new_object_belongs_to_who_made_it(void **state)
{
    sim_expect(*state, "POST", CONFIGMAPS "?fieldManager=me",
               "{" MAP ",\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}}"
               ",\"data\":{\"k\":\"v\"}}",
               201);
    patch(*state, CONFIGMAPS "/a", MERGE_PATCH, "{}",
          "200 \"fieldsV1\":{\"f:data\":{\".\":{},\"f:k\":{}},"
          "\"f:metadata\":{\"f:labels\":{\".\":{},\"f:l\":{}}}}");
}

static void who_changes_a_field_takes_it(void **state)
{
    sim_expect(*state, "POST", CONFIGMAPS "?fieldManager=a",
               "{" MAP ",\"metadata\":{\"name\":\"a\"},"
               "\"data\":{\"k\":\"v\",\"n\":\"1\"}}",
               201);
    patch(*state, CONFIGMAPS "/a?fieldManager=b", MERGE_PATCH,
          "{\"data\":{\"n\":\"2\"}}",
          "200 \"fieldsV1\":{\"f:data\":{\"f:n\":{}}}");
    patch(*state, CONFIGMAPS "/a", MERGE_PATCH, "{}",
          "200 \"fieldsV1\":{\"f:data\":{\".\":{},\"f:k\":{}}}");
    patch(*state, CONFIGMAPS "/a", MERGE_PATCH,
          "{\"metadata\":{\"managedFields\":[]}}", "200 \"data\":{\"k\":\"v\"");
    patch(*state, CONFIGMAPS "/a?fieldManager=c", MERGE_PATCH,
          "{\"data\":{\"m\":\"3\"}}", "200 Timestamp\":\"");
}

static void an_apply_makes_changes_and_takes_back(void **state)
{
    patch(*state, CONFIGMAPS "/a", APPLY, "{" MAP "}",
          "422 fieldManager: Required value: is required for apply patch");
    patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY,
          "{" MAP ",\"metadata\":{\"name\":\"a\"},"
          "\"data\":{\"a\":\"1\",\"b\":\"2\"}}",
          "201 \"operation\":\"Apply\"");
    patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY,
          "apiVersion: v1\nkind: ConfigMap\ndata: {b: '2', c: '3'}\n",
          "200 \"data\":{\"b\":\"2\",\"c\":\"3\"}");
    patch(*state, CONFIGMAPS "/a?fieldManager=y", APPLY,
          "{" MAP ",\"data\":{\"b\":\"2\"}}", "200 \"manager\":\"y\"");
    /* What another applies as well stays. */
    patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY, "{" MAP "}",
          "200 \"data\":{\"b\":\"2\"}");
}

static void a_conflict_names_who_manages_the_field(void **state)
{
    patch(*state, DEPLOYMENTS "/d?fieldManager=x", APPLY,
          "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"spec\":{"
          "\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{"
          "\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":["
          "{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":80}]}"
          "]}}}}",
          "201 \"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\"");
    patch(*state, DEPLOYMENTS "/d?fieldManager=u", MERGE_PATCH,
          "{\"spec\":{\"replicas\":3}}", "200 \"replicas\":3");
    patch(*state, DEPLOYMENTS "/d?fieldManager=y", APPLY,
          "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
          "\"spec\":{\"replicas\":5}}",
          "409 \"message\":\"Apply failed with 1 conflict: conflict with "
          "\\\"u\\\" using apps/v1: .spec.replicas\",\"reason\":\"Conflict\","
          "\"details\":{\"causes\":[{\"reason\":\"FieldManagerConflict\","
          "\"message\":\"conflict with \\\"u\\\" using apps/v1\","
          "\"field\":\".spec.replicas\"}]},\"code\":409");
    patch(*state, DEPLOYMENTS "/d?fieldManager=y&force=true", APPLY,
          "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
          "\"spec\":{\"replicas\":5}}",
          "200 \"replicas\":5");
    patch(*state, DEPLOYMENTS "/d/status?fieldManager=s", APPLY,
          "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
          "\"status\":{\"replicas\":2},\"spec\":{\"replicas\":9}}",
          "200 \"fieldsV1\":{\"f:status\":{\"f:replicas\":{}}},"
          "\"manager\":\"s\",\"operation\":\"Apply\","
          "\"subresource\":\"status\"");
}

static void an_apply_that_changes_nothing_is_no_version(void **state)
{
    static const char body[] = "{" MAP ",\"data\":{\"a\":\"1\"}}";
    sim_reply reply;
    char version[32];

    patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY, body, "201 ");
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    snprintf(version, sizeof(version), "%s",
             sim_text(reply.doc, "metadata.resourceVersion"));
    sim_reply_clear(&reply);
    patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY, body, "200 ");
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
        patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY, cases[i][0],
              cases[i][1]);
    }
    patch(*state, DEPLOYMENTS "/d/status?fieldManager=x", APPLY, "{}",
          "404 NotFound");
}

/* What is applied by either way of kubectl, the other finds. */
static void what_kubectl_applied_last_is_kept(void **state)
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
    patch(*state, CONFIGMAPS "/a?fieldManager=x", APPLY, body, "200 ");
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    assert_string_equal(sim_text(reply.doc, path), "old");
    sim_reply_clear(&reply);
    patch(*state, CONFIGMAPS "/a?fieldManager=kubectl", APPLY, body, "200 ");
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    assert_string_equal(sim_text(reply.doc, path), wanted);
    sim_reply_clear(&reply);
}

#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_new_object_belongs_to_who_made_it),
        SPEC(who_changes_a_field_takes_it),
        SPEC(an_apply_makes_changes_and_takes_back),
        SPEC(a_conflict_names_who_manages_the_field),
        SPEC(an_apply_that_changes_nothing_is_no_version),
        SPEC(what_kubectl_applied_last_is_kept),
        SPEC(what_cannot_be_applied_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
