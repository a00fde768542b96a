/*
 * sim_delete_spec.c - deletion: at once, kept by finalizers, or of a namespace
 * with its objects.
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

static void a_deleted_object_is_gone(void **state)
{
    sim_reply reply;

    sim_add(*state, "a");
    reply = sim_ask(*state, "DELETE", CONFIGMAPS "/a", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "status"), "Success");
    assert_string_equal(sim_text(reply.doc, "details.name"), "a");
    sim_reply_clear(&reply);
    sim_expect_refusal(*state, "GET " CONFIGMAPS "/a", NULL, 404,
                       "NotFound: "
                       "configmaps \"a\" not found");
    sim_expect(*state, "DELETE", CONFIGMAPS "/a", NULL, 404);
}

static void a_delete_keeps_to_its_preconditions(void **state)
{
    sim_add(*state, "a");
    sim_expect(*state, "DELETE", CONFIGMAPS "/a",
               "{\"preconditions\":{\"uid\":\"x\"}}", 409);
    sim_expect(*state, "DELETE", CONFIGMAPS "/a",
               "{\"preconditions\":{\"resourceVersion\":\"1\"}}", 409);
    sim_expect(*state, "DELETE", CONFIGMAPS "/a", "{\"preconditions\":", 400);
    sim_expect(*state, "GET", CONFIGMAPS "/a", NULL, 200);
}

static void finalizers_keep_an_object_until_they_are_gone(void **state)
{
    sim_reply reply;

    sim_expect(*state, "POST", CONFIGMAPS,
               "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.y/z\"]}}",
               201);
    reply = sim_ask(*state, "DELETE", CONFIGMAPS "/a", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_not_equal(sim_text(reply.doc, "metadata.deletionTimestamp"),
                            "");
    sim_reply_clear(&reply);
    sim_expect(*state, "DELETE", CONFIGMAPS "/a", NULL, 200);
    sim_expect(*state, "GET", CONFIGMAPS "/a", NULL, 200);
    sim_expect(*state, "PATCH", CONFIGMAPS "/a",
               "{\"metadata\":{\"finalizers\":[\"new.y/z\"]}}", 422);
    sim_expect(*state, "PATCH", CONFIGMAPS "/a",
               "{\"metadata\":{\"finalizers\":null}}", 200);
    sim_expect(*state, "GET", CONFIGMAPS "/a", NULL, 404);
}

static void a_collection_is_deleted_by_its_labels(void **state)
{
    sim_reply reply;

    sim_add(*state, "a");
    sim_add(*state, "b");
    sim_expect(*state, "PATCH", CONFIGMAPS "/b",
               "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", 200);
    reply = sim_ask(*state, "DELETE", CONFIGMAPS "?labelSelector=x", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "items[1].metadata.name"), "b");
    assert_string_equal(sim_text(reply.doc, "items[2]"), "");
    sim_reply_clear(&reply);
    sim_expect(*state, "GET", CONFIGMAPS "/a", NULL, 200);
    sim_expect(*state, "GET", CONFIGMAPS "/b", NULL, 404);
    sim_expect(*state, "DELETE", "/api/v1/namespaces", NULL, 405);
}

static void a_dry_run_changes_nothing(void **state)
{
    sim_expect(*state, "POST", CONFIGMAPS "?dryRun=All",
               "{\"metadata\":{\"name\":\"a\"}}", 201);
    sim_expect(*state, "GET", CONFIGMAPS "/a", NULL, 404);
    sim_add(*state, "b");
    sim_expect(*state, "DELETE", CONFIGMAPS "/b?dryRun=All", NULL, 200);
    sim_expect(*state, "GET", CONFIGMAPS "/b", NULL, 200);
    sim_expect(*state, "DELETE", CONFIGMAPS "/b?dryRun=Some", NULL, 422);
    sim_expect(*state, "POST", CONFIGMAPS "?dryRun=Some",
               "{\"metadata\":{\"name\":\"a\"}}", 422);
}

static void deleting_a_namespace_deletes_its_objects(void **state)
{
    sim_reply reply;

    sim_expect(*state, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"n\"}}", 201);
    sim_expect(*state, "POST", "/api/v1/namespaces/n/configmaps",
               "{\"metadata\":{\"name\":\"a\"}}", 201);
    sim_expect(*state, "POST", "/api/v1/namespaces/n/configmaps",
               "{\"metadata\":{\"name\":\"b\",\"finalizers\":[\"x.y/z\"]}}",
               201);
    reply = sim_ask(*state, "DELETE", "/api/v1/namespaces/n", NULL);
    assert_string_equal(sim_text(reply.doc, "status.phase"), "Terminating");
    sim_reply_clear(&reply);
    sim_expect(*state, "GET", "/api/v1/namespaces/n/configmaps/a", NULL, 404);
    sim_expect_refusal(*state, "POST /api/v1/namespaces/n/configmaps",
                       "{\"metadata\":{\"name\":\"c\"}}", 403,
                       "Forbidden: "
                       "configmaps \"c\" is forbidden: unable to create new "
                       "content in namespace n because it is being "
                       "terminated");
    sim_expect(*state, "PATCH", "/api/v1/namespaces/n/configmaps/b",
               "{\"metadata\":{\"finalizers\":null}}", 200);
    sim_expect(*state, "GET", "/api/v1/namespaces/n", NULL, 404);
    sim_expect_refusal(*state, "DELETE /api/v1/namespaces/default", NULL, 403,
                       "Forbidden: "
                       "namespaces \"default\" is forbidden: this namespace "
                       "may not be deleted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_deleted_object_is_gone, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(a_delete_keeps_to_its_preconditions,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            finalizers_keep_an_object_until_they_are_gone, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(a_collection_is_deleted_by_its_labels,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_dry_run_changes_nothing, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(
            deleting_a_namespace_deletes_its_objects, sim_set_up,
            sim_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
