/*
 * sim_write_spec.c - create, update and patch of an object, and their refusals.
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

/* Creates an object and copies its uid and version. */
static void create(kl_sim *sim, const char *target, const char *body, char *uid,
                   char *version)
{
    sim_reply reply = sim_ask(sim, "POST", target, body);

    assert_int_equal(reply.status, 201);
    strcpy(uid, sim_text(reply.doc, "metadata.uid"));
    strcpy(version, sim_text(reply.doc, "metadata.resourceVersion"));
    sim_reply_clear(&reply);
}

static void a_new_object_gets_uid_version_and_time(void **state)
{
    static const char begins[] =
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"";
    sim_reply reply =
        sim_ask(*state, "POST", CONFIGMAPS,
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                "\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    const char *uid;

    assert_int_equal(reply.status, 201);
    assert_memory_equal(reply.raw.body, begins, sizeof(begins) - 1);
    uid = sim_text(reply.doc, "metadata.uid");
    assert_int_equal(strlen(uid), 36);
    assert_int_equal(uid[14], '4');
    assert_non_null(strchr("89ab", uid[19]));
    assert_int_equal(strlen(sim_text(reply.doc, "metadata.creationTimestamp")),
                     20);
    assert_string_equal(sim_text(reply.doc, "metadata.generation"), "");
    assert_string_equal(sim_text(reply.doc, "data.k"), "v");
    sim_reply_clear(&reply);
}

static void versions_are_one_counter_of_all_changes(void **state)
{
    char uid[64], first[64], second[64];

    create(*state, CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}", uid, first);
    sim_expect(*state, "DELETE", CONFIGMAPS "/a", NULL, 200);
    create(*state, "/api/v1/namespaces/default/secrets",
           "{\"metadata\":{\"name\":\"b\"}}", uid, second);
    assert_int_equal(atoi(second), atoi(first) + 2);
}

static void an_object_without_name_gets_a_generated_one(void **state)
{
    sim_reply reply = sim_ask(*state, "POST", CONFIGMAPS,
                              "{\"metadata\":{\"generateName\":\"x-\"}}");
    const char *name;

    assert_int_equal(reply.status, 201);
    name = sim_text(reply.doc, "metadata.name");
    assert_int_equal(strlen(name), 7);
    assert_memory_equal(name, "x-", 2);
    sim_reply_clear(&reply);
}

static void a_second_object_of_a_name_already_exists(void **state)
{
    sim_add(*state, "a");
    sim_expect_refusal(*state, "POST " CONFIGMAPS,
                       "{\"metadata\":{\"name\":\"a\"}}", 409,
                       "AlreadyExists: "
                       "configmaps \"a\" already exists");
}

static void an_object_needs_its_namespace(void **state)
{
    sim_expect_refusal(*state, "POST /api/v1/namespaces/nope/configmaps",
                       "{\"metadata\":{\"name\":\"a\"}}", 404,
                       "NotFound: "
                       "namespaces \"nope\" not found");
    sim_expect_refusal(*state, "POST " CONFIGMAPS,
                       "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}",
                       400,
                       "BadRequest: "
                       "the namespace of the provided object does not match "
                       "the namespace sent on the request");
}

static void a_name_must_be_one_that_its_kind_allows(void **state)
{
    sim_expect(*state, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"A_b\"}}",
               422);
    sim_expect(*state, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a.b\"}}",
               201);
    sim_expect(*state, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"a.b\"}}", 422);
    sim_expect(*state, "POST",
               "/apis/rbac.authorization.k8s.io/v1/clusterroles",
               "{\"metadata\":{\"name\":\"system:A_b\"}}", 201);
    sim_expect_refusal(*state, "POST " CONFIGMAPS, "{}", 422,
                       "Invalid: "
                       "ConfigMap \"\" is invalid: metadata.name: Required "
                       "value: name or generateName is required");
}

static void invalid_labels_are_refused(void **state)
{
    static const struct {
        const char *labels;
        int status;
    } cases[] = {
        {"{\"app.kubernetes.io/name\":\"a_b.c-d\",\"x\":\"\",\"X\":null}", 201},
        {"{\"A B\":\"c\"}", 422},
        {"{\"a\":\"b c\"}", 422},
        {"{\"/a\":\"b\"}", 422},
        {"{\"a/b/c\":\"d\"}", 422},
        {"{\"A.B/c\":\"d\"}", 422},
        {"{\"\":\"d\"}", 422},
        {"{\"-a\":\"d\"}", 422},
        {"{\"a\":\"d-\"}", 422}};
    char body[256];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"generateName\":\"a\",\"labels\":%s}}",
                 cases[i].labels);
        sim_expect(*state, "POST", CONFIGMAPS, body, cases[i].status);
    }
}

static void a_body_must_be_an_object_of_the_kind(void **state)
{
    sim_expect(*state, "POST", CONFIGMAPS, "{\"metadata\":", 400);
    sim_expect(*state, "POST", CONFIGMAPS, "[]", 400);
    sim_expect(*state, "POST", CONFIGMAPS, NULL, 400);
    sim_expect(*state, "POST", CONFIGMAPS,
               "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}", 400);
    sim_expect(*state, "POST", CONFIGMAPS,
               "{\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":5}}}", 400);
    sim_expect(*state, "POST", CONFIGMAPS, "{\"metadata\":[]}", 400);
    sim_expect_refusal(*state, "POST " CONFIGMAPS,
                       "{\"metadata\":{\"name\":5}}", 400,
                       "BadRequest: "
                       "ConfigMap in version \"v1\" cannot be handled as a "
                       "ConfigMap: json: cannot unmarshal number into Go "
                       "struct field ObjectMeta.metadata.name of type string");
}

static void a_nesting_bomb_is_a_bad_request(void **state)
{
    enum { DEEP = 100000 };
    char *body = malloc(2 * DEEP + 64);
    size_t at = (size_t)sprintf(body, "{\"metadata\":{\"name\":\"a\"},\"x\":");

    memset(body + at, '[', DEEP);
    memset(body + at + DEEP, ']', DEEP);
    strcpy(body + at + 2 * DEEP, "}");
    sim_expect(*state, "POST", CONFIGMAPS, body, 400);
    free(body);
}

static void an_upload_of_more_than_3_mb_is_too_large(void **state)
{
    enum { BIG = 3 * 1024 * 1024 + 1 };
    char *body = malloc(BIG + 1);

    memset(body, ' ', BIG);
    body[BIG] = '\0';
    sim_expect_refusal(*state, "POST " CONFIGMAPS, body, 413,
                       "RequestEntityTooLarge: "
                       "Request entity too large: limit is 3145728");
    free(body);
}

static void a_replaced_object_keeps_its_identity(void **state)
{
    char uid[64], version[64], body[256];
    sim_reply reply;

    create(*state, CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}", uid, version);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"%s\"},"
             "\"data\":{\"k\":\"v\"}}",
             version);
    reply = sim_ask(*state, "PUT", CONFIGMAPS "/a", body);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "metadata.uid"), uid);
    assert_string_equal(sim_text(reply.doc, "data.k"), "v");
    assert_int_equal(atoi(sim_text(reply.doc, "metadata.resourceVersion")),
                     atoi(version) + 1);
    sim_reply_clear(&reply);
    sim_expect_refusal(*state, "PUT " CONFIGMAPS "/a", body, 409,
                       "Conflict: "
                       "Operation cannot be fulfilled on configmaps \"a\": the "
                       "object has been modified; please apply your changes to "
                       "the latest version and try again");
}

static void an_update_without_changes_makes_no_version(void **state)
{
    char uid[64], version[64];
    sim_reply reply;

    create(*state, CONFIGMAPS,
           "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}", uid,
           version);
    reply = sim_ask(*state, "PUT", CONFIGMAPS "/a",
                    "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "metadata.resourceVersion"),
                        version);
    sim_reply_clear(&reply);
}

static void an_update_must_match_the_stored_object(void **state)
{
    sim_add(*state, "a");
    sim_expect(*state, "PUT", CONFIGMAPS "/b",
               "{\"metadata\":{\"name\":\"b\"}}", 404);
    sim_expect(*state, "PUT", CONFIGMAPS "/a", "{\"metadata\":{}}", 400);
    sim_expect(*state, "PUT", CONFIGMAPS "/a",
               "{\"metadata\":{\"name\":\"a\",\"uid\":\"x\"}}", 409);
    sim_expect(*state, "PUT", CONFIGMAPS "/a",
               "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"x\"}}",
               500);
    sim_expect(*state, "PUT", CONFIGMAPS, "{}", 405);
    sim_expect_refusal(*state, "PUT " CONFIGMAPS "/a",
                       "{\"metadata\":{\"name\":\"b\"}}", 400,
                       "BadRequest: "
                       "the name of the object (b) does not match the name on "
                       "the URL (a)");
}

static void a_merge_patch_changes_and_removes_members(void **state)
{
    sim_reply reply;

    sim_expect(*state, "POST", CONFIGMAPS,
               "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\",\"l\":"
               "\"w\"}}",
               201);
    reply = sim_ask(*state, "PATCH", CONFIGMAPS "/a",
                    "{\"metadata\":{\"labels\":{\"x\":\"y\"}},\"data\":{\"k\":"
                    "null,\"m\":\"n\"}}");
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "data"),
                        "{\"l\":\"w\",\"m\":\"n\"}");
    assert_string_equal(sim_text(reply.doc, "metadata.labels.x"), "y");
    sim_reply_clear(&reply);
    sim_expect(*state, "PATCH", CONFIGMAPS "/a",
               "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409);
    sim_expect(*state, "PATCH", CONFIGMAPS "/a", "[]", 400);
    sim_expect(*state, "PATCH", CONFIGMAPS "/a",
               "{\"metadata\":{\"labels\":7}}", 422);
    sim_expect(*state, "PATCH", CONFIGMAPS "/a", "{\"metadata\":null}", 400);
    sim_expect(*state, "PATCH", CONFIGMAPS "/zz", "{}", 404);
}

static void an_unknown_kind_of_patch_is_unsupported(void **state)
{
    const kl_call call = {.method = "PATCH",
                          .target = CONFIGMAPS "/a",
                          .body = "[]",
                          .body_length = 2,
                          .content_type = "application/patch+json"};
    kl_reply reply;

    sim_add(*state, "a");
    assert_int_equal(kl_sim_call(*state, &call, &reply, NULL), KL_OK);
    assert_int_equal(reply.status, 415);
    kl_reply_clear(&reply);
}

static void a_body_may_be_yaml(void **state)
{
    static const char yaml[] = "metadata:\n  name: a\ndata: {k: v}\n";
    const kl_call call = {.method = "POST",
                          .target = CONFIGMAPS,
                          .body = yaml,
                          .body_length = sizeof(yaml) - 1,
                          .content_type = "application/yaml"};
    kl_reply reply;

    assert_int_equal(kl_sim_call(*state, &call, &reply, NULL), KL_OK);
    assert_int_equal(reply.status, 201);
    kl_reply_clear(&reply);
}

static void a_spec_has_a_generation_and_a_status_of_its_own(void **state)
{
    sim_reply reply;

    sim_expect(*state, "POST", "/api/v1/namespaces/default/pods",
               "{\"metadata\":{\"name\":\"p\"},\"spec\":{"
               "\"activeDeadlineSeconds\":9,\"containers\":[{\"name\":\"c\","
               "\"image\":\"i\"}]}}",
               201);
    reply = sim_ask(
        *state, "PUT", "/api/v1/namespaces/default/pods/p/status",
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"activeDeadlineSeconds\":8},"
        "\"status\":{\"phase\":\"Running\"}}");
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "spec.activeDeadlineSeconds"), "9");
    assert_string_equal(sim_text(reply.doc, "status.phase"), "Running");
    assert_string_equal(sim_text(reply.doc, "metadata.generation"), "1");
    sim_reply_clear(&reply);
    reply = sim_ask(*state, "PATCH", "/api/v1/namespaces/default/pods/p",
                    "{\"spec\":{\"activeDeadlineSeconds\":7},\"status\":{"
                    "\"phase\":\"Failed\"}}");
    assert_string_equal(sim_text(reply.doc, "spec.activeDeadlineSeconds"), "7");
    assert_string_equal(sim_text(reply.doc, "status.phase"), "Running");
    assert_string_equal(sim_text(reply.doc, "metadata.generation"), "2");
    sim_reply_clear(&reply);
    sim_expect(*state, "GET", "/api/v1/namespaces/default/pods/p/status", NULL,
               200);
    sim_expect(*state, "GET", CONFIGMAPS "/p/status", NULL, 404);
}

static void a_new_pod_is_pending_whatever_it_says(void **state)
{
    sim_reply reply = sim_ask(
        *state, "POST", "/api/v1/namespaces/default/pods",
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":"
        "\"c\",\"image\":\"i\"}]},\"status\":{\"phase\":\"Running\"}}");

    assert_string_equal(sim_text(reply.doc, "status"),
                        "{\"phase\":\"Pending\",\"qosClass\":"
                        "\"BestEffort\"}");
    sim_reply_clear(&reply);
}

static void invalid_methods_and_paths_are_refused(void **state)
{
    sim_expect(*state, "POST", CONFIGMAPS "/a", "{}", 405);
    sim_expect(*state, "BREW", CONFIGMAPS, NULL, 405);
    sim_expect(*state, "POST", "/api/v1/configmaps",
               "{\"metadata\":{\"name\":\"a\"}}", 405);
    sim_expect(*state, "GET", "/apis/none/v1/x", NULL, 404);
    sim_expect(*state, "GET", CONFIGMAPS "/a/b/c/d/e", NULL, 404);
    sim_expect(*state, "GET", "/%00/%ff?%zz=%", NULL, 404);
    sim_expect(*state, "GET", CONFIGMAPS "/%ff%fe", NULL, 404);
    sim_expect(*state, "GET", "/api/v1/configmaps/a", NULL, 404);
    sim_expect_refusal(*state, "GET /api/v1/namespaces/default/nothings", NULL,
                       404,
                       "NotFound: "
                       "the server could not find the requested resource");
}

/* A ConfigMap "a" whose data are k0, k1, ... of one value, or null. */
static const char *many_names(char *text, size_t size, int count,
                              const char *value)
{
    size_t at = (size_t)snprintf(text, size,
                                 "{\"metadata\":{\"name\":\"a\"},\"data\":{");

    for (int i = 0; i < count; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s\"k%d\":%s",
                               i > 0 ? "," : "", i, value);
    }
    snprintf(text + at, size - at, "}}");
    return text;
}

static void a_merge_patch_may_have_many_members(void **state)
{
    char text[2048];
    sim_reply reply;

    sim_expect(*state, "POST", CONFIGMAPS,
               many_names(text, sizeof(text), 40, "\"v\""), 201);
    sim_expect(*state, "PATCH", CONFIGMAPS "/a",
               many_names(text, sizeof(text), 38, "null"), 200);
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    assert_string_equal(sim_text(reply.doc, "data"),
                        "{\"k38\":\"v\",\"k39\":\"v\"}");
    sim_reply_clear(&reply);
    sim_expect(*state, "PATCH", CONFIGMAPS "/a",
               many_names(text, sizeof(text), 40, "\"w\""), 200);
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    assert_string_equal(sim_text(reply.doc, "data.k0"), "w");
    assert_string_equal(sim_text(reply.doc, "data.k39"), "w");
    sim_reply_clear(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(invalid_labels_are_refused, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(a_new_object_gets_uid_version_and_time,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(versions_are_one_counter_of_all_changes,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            an_object_without_name_gets_a_generated_one, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(
            a_second_object_of_a_name_already_exists, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(an_object_needs_its_namespace,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_name_must_be_one_that_its_kind_allows,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_body_must_be_an_object_of_the_kind,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_nesting_bomb_is_a_bad_request,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            an_upload_of_more_than_3_mb_is_too_large, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(a_replaced_object_keeps_its_identity,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            an_update_without_changes_makes_no_version, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(an_update_must_match_the_stored_object,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            a_merge_patch_changes_and_removes_members, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(a_merge_patch_may_have_many_members,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_kind_of_patch_is_unsupported,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_body_may_be_yaml, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(
            a_spec_has_a_generation_and_a_status_of_its_own, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(a_new_pod_is_pending_whatever_it_says,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(invalid_methods_and_paths_are_refused,
                                        sim_set_up, sim_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
