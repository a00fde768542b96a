/*
 * sim_gc_spec.c - garbage collection: dependents are deleted after their owner,
 * before it, or orphaned; namespaces get their objects, and are deleted in
 * order.
 */
#include "sim_rig.h"

#include "failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAPS "/api/v1/namespaces/default/configmaps"

static void watch(sim_rig *f)
{
    sim_watch_open(&f->watch, f->transport, "",
                   MAPS "?watch=1&resourceVersion=0");
}

/* The UID of what is at a target; static until the next call. */
static const char *uid_of(kl_sim *sim, const char *target)
{
    static char uid[64];
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_int_equal(reply.status, 200);
    snprintf(uid, sizeof(uid), "%s", sim_text(reply.doc, "metadata.uid"));
    sim_reply_clear(&reply);
    return uid;
}

/* Creates a ConfigMap of that name, owned by another one. */
static void add_owned(kl_sim *sim, const char *name, const char *owner,
                      bool blocks)
{
    char body[512], target[128];

    snprintf(target, sizeof(target), MAPS "/%s", owner);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{"
             "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%s\","
             "\"uid\":\"%s\",\"blockOwnerDeletion\":%s}]}}",
             name, owner, uid_of(sim, target), blocks ? "true" : "false");
    sim_expect(sim, "POST", MAPS, body, 201);
}

static void dependents_are_deleted_after_their_owner(void **state)
{
    sim_rig *f = *state;

    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    add_owned(f->sim, "c", "b", false);
    watch(f);
    sim_watch_expect(&f->watch, "ADDED", "a");
    sim_watch_expect(&f->watch, "ADDED", "b");
    sim_watch_expect(&f->watch, "ADDED", "c");
    sim_expect(f->sim, "DELETE", MAPS "/a", NULL, 200);
    sim_watch_expect(&f->watch, "DELETED", "a");
    sim_watch_expect(&f->watch, "DELETED", "b");
    sim_watch_expect(&f->watch, "DELETED", "c");
}

static void blocking_dependents_are_deleted_before_their_owner(void **state)
{
    sim_rig *f = *state;
    sim_reply reply;

    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    add_owned(f->sim, "c", "b", true);
    watch(f);
    sim_watch_expect(&f->watch, "ADDED", "a");
    sim_watch_expect(&f->watch, "ADDED", "b");
    sim_watch_expect(&f->watch, "ADDED", "c");
    reply =
        sim_ask(f->sim, "DELETE", MAPS "/a?propagationPolicy=Foreground", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "metadata.finalizers[1]"),
                        "foregroundDeletion");
    sim_reply_clear(&reply);
    sim_watch_expect(&f->watch, "MODIFIED", "a");
    sim_watch_expect(&f->watch, "MODIFIED", "b");
    sim_watch_expect(&f->watch, "DELETED", "c");
    sim_watch_expect(&f->watch, "DELETED", "b");
    sim_watch_expect(&f->watch, "DELETED", "a");
}

static void owners_in_a_circle_do_not_wait_for_each_other(void **state)
{
    sim_rig *f = *state;
    char body[512];

    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\","
             "\"kind\":\"ConfigMap\",\"name\":\"b\",\"uid\":\"%s\","
             "\"blockOwnerDeletion\":true}]}}",
             uid_of(f->sim, MAPS "/b"));
    sim_expect(f->sim, "PATCH", MAPS "/a", body, 200);
    sim_expect(f->sim, "DELETE", MAPS "/a?propagationPolicy=Foreground", NULL,
               200);
    sim_expect(f->sim, "GET", MAPS "/a", NULL, 404);
    sim_expect(f->sim, "GET", MAPS "/b", NULL, 404);
}

static void a_dependent_with_a_finalizer_keeps_its_owner(void **state)
{
    sim_rig *f = *state;

    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    sim_expect(f->sim, "PATCH", MAPS "/b",
               "{\"metadata\":{\"finalizers\":[\"x/y\"]}}", 200);
    sim_expect(f->sim, "DELETE", MAPS "/a?propagationPolicy=Foreground", NULL,
               200);
    sim_expect(f->sim, "GET", MAPS "/a", NULL, 200);
    sim_expect(f->sim, "PATCH", MAPS "/b",
               "{\"metadata\":{\"finalizers\":null}}", 200);
    sim_expect(f->sim, "GET", MAPS "/a", NULL, 404);
    sim_expect(f->sim, "GET", MAPS "/b", NULL, 404);
}

static void dependents_that_do_not_block_are_deleted_after_it(void **state)
{
    sim_rig *f = *state;

    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", false);
    watch(f);
    sim_watch_expect(&f->watch, "ADDED", "a");
    sim_watch_expect(&f->watch, "ADDED", "b");
    sim_expect(f->sim, "DELETE", MAPS "/a?propagationPolicy=Foreground", NULL,
               200);
    sim_watch_expect(&f->watch, "MODIFIED", "a");
    sim_watch_expect(&f->watch, "DELETED", "a");
    sim_watch_expect(&f->watch, "DELETED", "b");
}

static void orphaned_dependents_lose_the_owner_reference(void **state)
{
    sim_rig *f = *state;
    sim_reply reply;

    sim_add(f->sim, "a");
    add_owned(f->sim, "b", "a", true);
    watch(f);
    sim_watch_expect(&f->watch, "ADDED", "a");
    sim_watch_expect(&f->watch, "ADDED", "b");
    sim_expect(f->sim, "DELETE", MAPS "/a",
               "{\"propagationPolicy\":\"Orphan\"}", 200);
    sim_watch_expect(&f->watch, "MODIFIED", "a");
    sim_watch_expect(&f->watch, "MODIFIED", "b");
    sim_watch_expect(&f->watch, "DELETED", "a");
    reply = sim_ask(f->sim, "GET", MAPS "/b", NULL);
    assert_string_equal(sim_text(reply.doc, "metadata.ownerReferences"), "");
    sim_reply_clear(&reply);
}

static void an_object_whose_owner_does_not_exist_is_deleted(void **state)
{
    sim_rig *f = *state;

    sim_add(f->sim, "a");
    sim_expect(f->sim, "POST", MAPS,
               "{\"metadata\":{\"name\":\"b\",\"ownerReferences\":[{"
               "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"a\","
               "\"uid\":\"other\"}]}}",
               201);
    sim_expect(f->sim, "GET", MAPS "/b", NULL, 404);
    sim_expect(f->sim, "POST", MAPS,
               "{\"metadata\":{\"name\":\"b\",\"ownerReferences\":[{"
               "\"apiVersion\":\"example.com/v1\",\"kind\":\"None\",\"name\":"
               "\"a\",\"uid\":\"other\"}]}}",
               201);
    sim_expect(f->sim, "GET", MAPS "/b", NULL, 200);
}

static void a_dependent_stays_while_one_of_two_owners_exists(void **state)
{
    sim_rig *f = *state;
    sim_reply reply;
    char body[512];

    sim_add(f->sim, "a");
    sim_add(f->sim, "o");
    add_owned(f->sim, "b", "a", false);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\","
             "\"kind\":\"ConfigMap\",\"name\":\"gone\",\"uid\":\"x\"},{"
             "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"o\","
             "\"uid\":\"%s\"}]}}",
             uid_of(f->sim, MAPS "/o"));
    sim_expect(f->sim, "PATCH", MAPS "/b", body, 200);
    reply = sim_ask(f->sim, "GET", MAPS "/b", NULL);
    assert_string_equal(sim_text(reply.doc, "metadata.ownerReferences[1].name"),
                        "o");
    sim_reply_clear(&reply);
    sim_expect(f->sim, "DELETE", MAPS "/o", NULL, 200);
    sim_expect(f->sim, "GET", MAPS "/b", NULL, 404);
}

static void a_loaded_object_may_lack_its_owner(void **state)
{
    static const char text[] =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
        "  ownerReferences:\n  - {apiVersion: v1, kind: ConfigMap, name: gone, "
        "uid: x}\n";
    sim_rig *f = *state;

    assert_int_equal(kl_sim_load(f->sim, text, sizeof(text) - 1, NULL), KL_OK);
    sim_expect(f->sim, "GET", MAPS "/a", NULL, 200);
}

static void a_job_leaves_its_pods(void **state)
{
    sim_rig *f = *state;
    sim_reply reply;

    sim_expect(f->sim, "POST", "/apis/batch/v1/namespaces/default/jobs",
               "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{"
               "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
               "\"name\":\"c\",\"image\":\"i\"}]}}}}",
               201);
    reply = sim_ask(f->sim, "DELETE",
                    "/apis/batch/v1/namespaces/default/jobs/j", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "metadata.finalizers[1]"),
                        "orphan");
    assert_non_null(strstr(reply.raw.warnings, "child pods are preserved"));
    sim_reply_clear(&reply);
    sim_expect(f->sim, "GET", "/apis/batch/v1/namespaces/default/jobs/j", NULL,
               404);
}

/* --- Namespaces. ---------------------------------------------------------- */

static void a_new_namespace_gets_its_service_account(void **state)
{
    sim_rig *f = *state;

    sim_expect(f->sim, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"web\"}}", 201);
    sim_expect(f->sim, "GET", "/api/v1/namespaces/web/serviceaccounts/default",
               NULL, 200);
    sim_expect(f->sim, "DELETE",
               "/api/v1/namespaces/web/configmaps/kube-root-ca.crt", NULL, 200);
    sim_expect(f->sim, "GET",
               "/api/v1/namespaces/web/configmaps/kube-root-ca.crt", NULL, 200);
}

static void a_terminating_namespace_reports_what_is_left(void **state)
{
    sim_rig *f = *state;
    sim_reply reply;

    sim_expect(f->sim, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"web\"}}", 201);
    sim_expect(f->sim, "POST", "/api/v1/namespaces/web/configmaps",
               "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x/y\"]}}", 201);
    reply = sim_ask(f->sim, "DELETE", "/api/v1/namespaces/web", NULL);
    assert_string_equal(sim_text(reply.doc, "status.phase"), "Terminating");
    sim_reply_clear(&reply);
    reply = sim_ask(f->sim, "GET", "/api/v1/namespaces/web", NULL);
    assert_string_equal(sim_text(reply.doc, "status.conditions[4].message"),
                        "Some resources are remaining: configmaps. has 1 "
                        "resource instances");
    assert_string_equal(sim_text(reply.doc, "status.conditions[5].message"),
                        "Some content in the namespace has finalizers "
                        "remaining: x/y in 1 resource instances");
    sim_reply_clear(&reply);
    sim_expect(f->sim, "POST", "/api/v1/namespaces/web/configmaps",
               "{\"metadata\":{\"name\":\"b\"}}", 403);
    sim_expect(f->sim, "PATCH", "/api/v1/namespaces/web/configmaps/a",
               "{\"metadata\":{\"finalizers\":null}}", 200);
    sim_expect(f->sim, "GET", "/api/v1/namespaces/web", NULL, 404);
}

static void a_terminating_namespace_updates_what_is_left(void **state)
{
    static const char kept[] =
        "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x/y\"]}}";
    sim_rig *f = *state;
    sim_reply reply;

    sim_expect(f->sim, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"web\"}}", 201);
    sim_expect(f->sim, "POST", "/api/v1/namespaces/web/configmaps", kept, 201);
    sim_expect(f->sim, "POST", "/api/v1/namespaces/web/secrets", kept, 201);
    sim_expect(f->sim, "DELETE", "/api/v1/namespaces/web", NULL, 200);
    sim_expect(f->sim, "PATCH", "/api/v1/namespaces/web/secrets/a",
               "{\"metadata\":{\"finalizers\":null}}", 200);
    reply = sim_ask(f->sim, "GET", "/api/v1/namespaces/web", NULL);
    assert_string_equal(sim_text(reply.doc, "status.conditions[4].message"),
                        "Some resources are remaining: configmaps. has 1 "
                        "resource instances");
    assert_string_equal(sim_text(reply.doc, "status.conditions[5].message"),
                        "Some content in the namespace has finalizers "
                        "remaining: x/y in 1 resource instances");
    sim_reply_clear(&reply);
}

static void a_namespace_waits_for_each_of_its_finalizers(void **state)
{
    const kl_sim_options options = {.no_controllers = true};
    kl_sim *sim = kl_sim_new(&options, NULL);

    (void)state;
    sim_expect(sim, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"finalizers\":["
               "\"x/y\"]}}",
               201);
    sim_expect(sim, "PUT", "/api/v1/namespaces/web",
               "{\"metadata\":{\"name\":\"web\"},\"spec\":{}}", 200);
    sim_expect(sim, "DELETE", "/api/v1/namespaces/web", NULL, 200);
    sim_expect(sim, "PUT", "/api/v1/namespaces/web/finalize",
               "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"finalizers\":["
               "\"x/y\"]}}",
               200);
    sim_expect(sim, "GET", "/api/v1/namespaces/web", NULL, 200);
    sim_expect(sim, "GET", "/api/v1/namespaces/web/finalize", NULL, 405);
    sim_expect(sim, "PUT", "/api/v1/namespaces/web/finalize",
               "{\"metadata\":{\"name\":\"web\"},\"spec\":{}}", 200);
    sim_expect(sim, "GET", "/api/v1/namespaces/web", NULL, 404);
    kl_sim_unref(sim);
}

static void namespaces_of_the_system_stay(void **state)
{
    sim_rig *f = *state;

    sim_expect_refusal(f->sim, "DELETE /api/v1/namespaces/kube-public", NULL,
                       403,
                       "Forbidden: namespaces \"kube-public\" is forbidden: "
                       "this namespace may not be deleted");
    sim_expect(f->sim, "DELETE", "/api/v1/namespaces/kube-node-lease", NULL,
               200);
}

static void without_controllers_dependents_and_namespaces_stay(void **state)
{
    const kl_sim_options options = {.no_controllers = true};
    kl_sim *sim = kl_sim_new(&options, NULL);

    (void)state;
    sim_add(sim, "a");
    add_owned(sim, "b", "a", true);
    sim_expect(sim, "DELETE", MAPS "/a", NULL, 200);
    sim_expect(sim, "GET", MAPS "/b", NULL, 200);
    sim_expect(sim, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"web\"}}", 201);
    sim_expect(sim, "GET", "/api/v1/namespaces/web/serviceaccounts/default",
               NULL, 404);
    sim_expect(sim, "DELETE", "/api/v1/namespaces/web", NULL, 200);
    sim_expect(sim, "GET", "/api/v1/namespaces/web", NULL, 200);
    kl_sim_unref(sim);
}

/* --- Memory. -------------------------------------------------------------- */

static kl_code delete_owner(void *context)
{
    const kl_call call = {.method = "DELETE",
                          .target = MAPS "/a?propagationPolicy=Foreground"};
    kl_reply reply;
    kl_error err = {0};
    kl_code code = kl_sim_call(context, &call, &reply, &err);

    if (code == KL_OK) {
        kl_reply_clear(&reply);
    }
    return code;
}

/* Whatever fails, the next request brings it to its end. */
static void controllers_catch_up_after_running_out_of_memory(void **state)
{
    bool failed = true;

    (void)state;
    for (long nth = 1; failed; nth++) {
        kl_sim *sim = kl_sim_new(NULL, NULL);
        kl_code code;

        sim_add(sim, "a");
        add_owned(sim, "b", "a", true);
        failing_alloc_install();
        failing_alloc_fail_at(nth, 0);
        code = delete_owner(sim);
        failed = failing_alloc_has_failed();
        failing_alloc_fail_at(0, 0);
        failing_alloc_uninstall();
        assert_true(code == KL_OK || code == KL_ENOMEM);
        sim_expect(sim, "GET", MAPS, NULL, 200);
        if (code == KL_OK) {
            sim_expect(sim, "GET", MAPS "/a", NULL, 404);
            sim_expect(sim, "GET", MAPS "/b", NULL, 404);
        }
        kl_sim_unref(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            dependents_are_deleted_after_their_owner, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            blocking_dependents_are_deleted_before_their_owner, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            owners_in_a_circle_do_not_wait_for_each_other, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_dependent_with_a_finalizer_keeps_its_owner, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            dependents_that_do_not_block_are_deleted_after_it, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            orphaned_dependents_lose_the_owner_reference, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            an_object_whose_owner_does_not_exist_is_deleted, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_dependent_stays_while_one_of_two_owners_exists, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(a_loaded_object_may_lack_its_owner,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(a_job_leaves_its_pods, sim_rig_set_up,
                                        sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_new_namespace_gets_its_service_account, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_terminating_namespace_reports_what_is_left, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_terminating_namespace_updates_what_is_left, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            a_namespace_waits_for_each_of_its_finalizers, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(namespaces_of_the_system_stay,
                                        sim_rig_set_up, sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            without_controllers_dependents_and_namespaces_stay, sim_rig_set_up,
            sim_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            controllers_catch_up_after_running_out_of_memory, sim_rig_set_up,
            sim_rig_tear_down)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
