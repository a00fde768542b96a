/*
 * sim_replay_spec.c - recorded objects of another server: their versions, and
 * the events that watches get.
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

static kl_code replay(kl_sim *sim, kl_sim_change change, const char *version,
                      const char *value, kl_error *err)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
             "\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"u-1\","
             "\"resourceVersion\":\"%s\",\"creationTimestamp\":"
             "\"2020-01-01T00:00:00Z\"},\"data\":{\"v\":\"%s\"}}",
             version, value);
    return kl_sim_replay(sim, change, json, strlen(json), err);
}

static void a_replayed_object_keeps_uid_version_and_time(void **state)
{
    sim_reply reply;

    assert_int_equal(replay(*state, KL_SIM_PUT, "5000", "1", NULL), KL_OK);
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "metadata.uid"), "u-1");
    assert_string_equal(sim_text(reply.doc, "metadata.resourceVersion"),
                        "5000");
    assert_string_equal(sim_text(reply.doc, "metadata.creationTimestamp"),
                        "2020-01-01T00:00:00Z");
    sim_reply_clear(&reply);
    reply = sim_ask(*state, "GET", CONFIGMAPS, NULL);
    assert_string_equal(sim_text(reply.doc, "metadata.resourceVersion"),
                        "5000");
    sim_reply_clear(&reply);
}

static void a_watch_sees_the_changes_with_their_versions(void **state)
{
    kl_transport *transport = kl_sim_transport(*state, NULL);
    sim_watch watch;

    sim_watch_open(&watch, transport, "",
                   CONFIGMAPS "?watch=true&fieldSelector=metadata.name%3Da");
    replay(*state, KL_SIM_PUT, "5000", "1", NULL);
    replay(*state, KL_SIM_PUT, "6000", "2", NULL);
    replay(*state, KL_SIM_DELETED, "7000", "2", NULL);
    sim_watch_expect(&watch, "ADDED", "a");
    sim_watch_expect(&watch, "MODIFIED", "a");
    assert_string_equal(
        sim_text(watch.event, "object.metadata.resourceVersion"), "6000");
    sim_watch_expect(&watch, "DELETED", "a");
    assert_string_equal(
        sim_text(watch.event, "object.metadata.resourceVersion"), "7000");
    sim_watch_close(&watch);
    kl_transport_unref(transport);
}

static void a_version_of_the_past_becomes_the_next_one(void **state)
{
    sim_reply reply;

    replay(*state, KL_SIM_PUT, "5000", "1", NULL);
    replay(*state, KL_SIM_PUT, "4000", "2", NULL);
    reply = sim_ask(*state, "GET", CONFIGMAPS "/a", NULL);
    assert_string_equal(sim_text(reply.doc, "metadata.resourceVersion"),
                        "5001");
    sim_reply_clear(&reply);
}

static void objects_of_the_first_state_may_have_any_version(void **state)
{
    sim_watch watch;
    kl_transport *transport = kl_sim_transport(*state, NULL);
    sim_reply reply;

    replay(*state, KL_SIM_INITIAL, "5000", "1", NULL);
    replay(*state, KL_SIM_INITIAL, "4000", "2", NULL);
    kl_sim_compact(*state);
    reply = sim_ask(*state, "GET", CONFIGMAPS, NULL);
    assert_string_equal(sim_text(reply.doc, "metadata.resourceVersion"),
                        "5000");
    sim_reply_clear(&reply);
    sim_watch_open(&watch, transport, "",
                   CONFIGMAPS "?watch=true&resourceVersion=5000");
    replay(*state, KL_SIM_PUT, "5001", "3", NULL);
    sim_watch_expect(&watch, "MODIFIED", "a");
    sim_watch_close(&watch);
    kl_transport_unref(transport);
}

static void an_impossible_change_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\"}"
        "}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
        "\"a\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\","
        "\"labels\":5}}",
        "[1]",
        "{"};
    kl_error err;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        kl_code code =
            kl_sim_replay(*state, KL_SIM_PUT, wrong[i], strlen(wrong[i]), &err);

        assert_true(code == KL_EINVAL || code == KL_EPARSE);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(replay(*state, KL_SIM_DELETED, "9", "1", NULL), KL_OK);
}

static const char DEFINITION[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
    "\"CustomResourceDefinition\",\"metadata\":{\"name\":\"gears.a.io\"},"
    "\"spec\":{\"group\":\"a.io\",\"scope\":\"Namespaced\",\"names\":{"
    "\"plural\":\"gears\",\"kind\":\"Gear\"},\"versions\":[{\"name\":"
    "\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";

/* A gear that the object "a" of replay() owns. */
static void replay_gear(kl_sim *sim, kl_sim_change change, const char *uid)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"a.io/v1\",\"kind\":\"Gear\",\"metadata\":{"
             "\"name\":\"g\",\"namespace\":\"default\",\"uid\":\"%s\","
             "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
             "\"ConfigMap\",\"name\":\"a\",\"uid\":\"u-1\"}]}}",
             uid);
    assert_int_equal(kl_sim_replay(sim, change, json, strlen(json), NULL),
                     KL_OK);
}

/* The garbage collector remembers nothing that is in no resource. */
static void a_deleted_object_leaves_no_trace_among_owners(void **state)
{
    static const char definitions[] =
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

    replay(*state, KL_SIM_PUT, "5000", "1", NULL);
    sim_expect(*state, "POST", definitions, DEFINITION, 201);
    replay_gear(*state, KL_SIM_PUT, "g-1");
    replay_gear(*state, KL_SIM_PUT, "g-2"); /* another one, as it seems */
    replay_gear(*state, KL_SIM_DELETED, "g-2");
    sim_expect(*state, "DELETE",
               "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
               "gears.a.io",
               NULL, 200);
    sim_expect(*state, "DELETE", CONFIGMAPS "/a", NULL, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_replayed_object_keeps_uid_version_and_time, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(
            a_watch_sees_the_changes_with_their_versions, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(
            a_version_of_the_past_becomes_the_next_one, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(
            objects_of_the_first_state_may_have_any_version, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(an_impossible_change_is_refused,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            a_deleted_object_leaves_no_trace_among_owners, sim_set_up,
            sim_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
