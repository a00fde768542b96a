/*
 * sim_snapshot_spec.c - snapshots: a cluster goes back to an earlier state.
 */
#include "fault_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char crd[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
    "\"CustomResourceDefinition\",\"metadata\":{\"name\":\"gears.a.io\"},"
    "\"spec\":{\"group\":\"a.io\",\"scope\":\"Namespaced\",\"names\":{"
    "\"plural\":\"gears\",\"kind\":\"Gear\"},\"versions\":[{\"name\":\"v1\","
    "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
    "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

static int64_t list_version(sim_rig *f)
{
    sim_reply list = sim_ask(f->sim, "GET", FAULT_OBJECTS, NULL);
    int64_t version =
        strtoll(sim_text(list.doc, "metadata.resourceVersion"), NULL, 10);

    sim_reply_clear(&list);
    return version;
}

static void expect_data(sim_rig *f, const char *name, const char *value)
{
    char target[128];
    sim_reply reply;

    snprintf(target, sizeof(target), FAULT_OBJECTS "/%s", name);
    reply = sim_ask(f->sim, "GET", target, NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "data.k"), value);
    sim_reply_clear(&reply);
}

static void a_snapshot_is_restored_with_its_version(void **state)
{
    sim_rig *f = *state;
    int64_t version;

    sim_add(f->sim, "a");
    sim_touch(f->sim, "a", "1");
    assert_int_equal(kl_sim_snapshot(f->sim, &version, NULL), KL_OK);
    assert_int_equal(version, list_version(f));
    sim_touch(f->sim, "a", "2");
    sim_add(f->sim, "b");
    kl_sim_compact(f->sim); /* a snapshot needs no history */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
        assert_int_equal(list_version(f), version);
        expect_data(f, "a", "1");
        sim_expect(f->sim, "GET", FAULT_OBJECTS "/b", NULL, 404);
        sim_add(f->sim, "b");
        assert_int_equal(list_version(f), version + 1);
    }
}

static void any_version_of_the_history_can_be_restored(void **state)
{
    sim_rig *f = *state;
    int64_t version;
    kl_error err;

    sim_add(f->sim, "a");
    sim_touch(f->sim, "a", "1");
    version = list_version(f);
    sim_touch(f->sim, "a", "2");
    sim_expect(f->sim, "DELETE", FAULT_OBJECTS "/a", NULL, 200);
    assert_int_equal(kl_sim_restore(f->sim, version + 5, &err), KL_EINVAL);
    assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
    expect_data(f, "a", "1");
    assert_int_equal(kl_sim_restore(f->sim, version - 1, &err), KL_EINVAL);
    assert_non_null(strstr(err.message, "nor in the history"));
}

static void a_restore_breaks_watches_and_leaves_no_history(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;
    int64_t version;
    kl_error err;

    sim_add(f->sim, "a");
    assert_int_equal(kl_sim_snapshot(f->sim, &version, NULL), KL_OK);
    sim_watch_open(&stream, f->transport, "", FAULT_WATCH);
    sim_watch_expect(&stream, "ADDED", "a");
    assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
    assert_int_equal(sim_watch_failure(&stream, &err), KL_EUNAVAILABLE);
    sim_watch_close(&stream);
    sim_watch_open(&stream, f->transport, "", FAULT_WATCH);
    assert_string_equal(sim_watch_next(&stream), "ERROR");
    assert_string_equal(sim_text(stream.event, "object.code"), "410");
    sim_watch_close(&stream);
}

static void a_restore_serves_the_kinds_of_its_snapshot(void **state)
{
    sim_rig *f = *state;
    int64_t without, with;

    assert_int_equal(kl_sim_snapshot(f->sim, &without, NULL), KL_OK);
    sim_expect(f->sim, "POST",
               "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd,
               201);
    sim_expect(f->sim, "POST", "/apis/a.io/v1/namespaces/default/gears",
               "{\"apiVersion\":\"a.io/v1\",\"kind\":\"Gear\",\"metadata\":{"
               "\"name\":\"g\"}}",
               201);
    assert_int_equal(kl_sim_snapshot(f->sim, &with, NULL), KL_OK);
    assert_int_equal(kl_sim_restore(f->sim, without, NULL), KL_OK);
    sim_expect(f->sim, "GET", "/apis/a.io/v1/gears", NULL, 404);
    assert_int_equal(kl_sim_restore(f->sim, with, NULL), KL_OK);
    sim_expect(f->sim, "GET", "/apis/a.io/v1/namespaces/default/gears/g", NULL,
               200);
}

static void a_definition_after_a_restore_is_new(void **state)
{
    sim_rig *f = *state;
    int64_t version;

    assert_int_equal(kl_sim_snapshot(f->sim, &version, NULL), KL_OK);
    sim_add(f->sim, "a");
    sim_add(f->sim, "b");
    sim_expect(f->sim, "POST",
               "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd,
               201);
    for (int i = 0; i < 8; i++) { /* the last look was at a later version */
        sim_touch(f->sim, "a", i % 2 != 0 ? "1" : "2");
    }
    sim_expect(f->sim, "DELETE",
               "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
               "gears.a.io",
               NULL, 200);
    assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
    sim_expect(f->sim, "POST",
               "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd,
               201);
    sim_expect(f->sim, "GET", "/apis/a.io/v1/gears", NULL, 200);
}

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, sim_rig_set_up, sim_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_snapshot_is_restored_with_its_version),
        SPEC(any_version_of_the_history_can_be_restored),
        SPEC(a_restore_breaks_watches_and_leaves_no_history),
        SPEC(a_restore_serves_the_kinds_of_its_snapshot),
        SPEC(a_definition_after_a_restore_is_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
