/*
 * sim_below_spec.c - subresources: scale, binding, eviction, tokens, and those
 * that only a kubelet could answer.
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

#define PODS "/api/v1/namespaces/default/pods"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

static void add_pod(kl_sim *sim, const char *name)
{
    char body[256];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"e\"}},"
             "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
             name);
    sim_expect(sim, "POST", PODS, body, 201);
}

/* Makes a pod run on a node, ready. */
static void run_pod(kl_sim *sim, const char *name)
{
    char target[128], binding[128];

    snprintf(target, sizeof(target), PODS "/%s/binding", name);
    snprintf(binding, sizeof(binding),
             "{\"metadata\":{\"name\":\"%s\"},\"target\":{\"name\":\"n\"}}",
             name);
    sim_expect(sim, "POST", target, binding, 201);
    snprintf(target, sizeof(target), PODS "/%s/status", name);
    sim_expect(sim, "PATCH", target,
               "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
               "\"Ready\",\"status\":\"True\"}]}}",
               200);
}

static void expect_text(kl_sim *sim, const char *target, const char *path,
                        const char *text)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_string_equal(sim_text(reply.doc, path), text);
    sim_reply_clear(&reply);
}

static void add_deployment(kl_sim *sim)
{
    sim_expect(sim, "POST", DEPLOYMENTS,
               "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2,"
               "\"selector\":{\"matchLabels\":{\"a\":\"b\"},"
               "\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"In\","
               "\"values\":[\"d\",\"e\"]}]},\"template\":{\"metadata\":{"
               "\"labels\":{\"a\":\"b\",\"c\":\"d\"}},\"spec\":{"
               "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
               201);
}

static void a_deployment_is_scaled(void **state)
{
    sim_reply reply;

    add_deployment(*state);
    reply = sim_ask(*state, "GET", DEPLOYMENTS "/d/scale", NULL);
    assert_string_equal(sim_text(reply.doc, "kind"), "Scale");
    assert_string_equal(sim_text(reply.doc, "spec.replicas"), "2");
    assert_string_equal(sim_text(reply.doc, "status.selector"),
                        "a=b,c in (d,e)");
    sim_reply_clear(&reply);
    sim_expect(*state, "PUT", DEPLOYMENTS "/d/scale",
               "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":3}}",
               200);
    expect_text(*state, DEPLOYMENTS "/d", "spec.replicas", "3");
    expect_text(*state, DEPLOYMENTS "/d", "metadata.generation", "2");
    reply = sim_ask(*state, "PATCH", DEPLOYMENTS "/d/scale",
                    "{\"spec\":{\"replicas\":5}}");
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "spec.replicas"), "5");
    sim_reply_clear(&reply);
    expect_text(*state, DEPLOYMENTS "/d", "spec.replicas", "5");
}

static void an_invalid_scale_is_refused(void **state)
{
    add_deployment(*state);
    sim_expect_refusal(
        *state, "PUT " DEPLOYMENTS "/d/scale",
        "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":-1}}", 422,
        "Invalid: Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid "
        "value: -1: must be greater than or equal to 0");
    sim_expect_refusal(
        *state, "PUT " DEPLOYMENTS "/d/scale",
        "{\"metadata\":{\"name\":\"d\",\"resourceVersion\":\"1\"}}", 409,
        "Conflict: Operation cannot be fulfilled on deployments.apps \"d\": "
        "the object has been modified; please apply your changes to the latest "
        "version and try again");
    sim_expect(*state, "PUT", DEPLOYMENTS "/d/scale",
               "{\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\"}}", 400);
    sim_expect(*state, "PATCH", DEPLOYMENTS "/d/scale",
               "{\"spec\":{\"replicas\":\"x\"}}", 422);
    sim_expect(*state, "DELETE", DEPLOYMENTS "/d/scale", NULL, 405);
    sim_expect(*state, "GET", DEPLOYMENTS "/none/scale", NULL, 404);
    expect_text(*state, DEPLOYMENTS "/d", "spec.replicas", "2");
}

static void a_pod_is_bound_once(void **state)
{
    static const char binding[] = "{\"metadata\":{\"name\":\"p\"},\"target\":{"
                                  "\"kind\":\"Node\",\"name\":\"n\"}}";

    add_pod(*state, "p");
    sim_expect(*state, "POST", PODS "/p/binding",
               "{\"metadata\":{\"name\":\"p\"},\"target\":{}}", 500);
    sim_expect(*state, "POST", "/api/v1/namespaces/default/bindings", binding,
               201);
    expect_text(*state, PODS "/p", "spec.nodeName", "n");
    expect_text(*state, PODS "/p", "status.conditions[1].type", "PodScheduled");
    sim_expect_refusal(*state, "POST " PODS "/p/binding", binding, 409,
                       "Conflict: Operation cannot be fulfilled on "
                       "pods/binding \"p\": pod p is already assigned to node "
                       "\"n\"");
    sim_expect(*state, "POST", PODS "/none/binding",
               "{\"metadata\":{\"name\":\"none\"},\"target\":{\"name\":\"n\"}}",
               404);
}

static void a_binding_is_of_one_pod_and_gives_it_labels(void **state)
{
    add_pod(*state, "p");
    sim_expect_refusal(*state, "POST " PODS "/p/binding",
                       "{\"target\":{\"name\":\"n\"}}", 400,
                       "BadRequest: name in URL does not match name in Binding "
                       "object");
    sim_expect(*state, "POST", PODS "/p/binding",
               "{\"metadata\":{\"name\":\"p\",\"uid\":\"x\"},\"target\":{"
               "\"name\":\"n\"}}",
               409);
    sim_expect(*state, "POST", PODS "/p/binding",
               "{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"1\"},"
               "\"target\":{\"name\":\"n\"}}",
               409);
    sim_expect(*state, "POST", PODS "/p/binding",
               "{\"metadata\":{\"name\":\"p\",\"labels\":{\"given\":\"l\"},"
               "\"annotations\":{\"given\":\"a\"}},\"target\":{\"name\":"
               "\"n\"}}",
               201);
    expect_text(*state, PODS "/p", "metadata.labels.given", "l");
    expect_text(*state, PODS "/p", "metadata.annotations.given", "a");
}

static void an_eviction_deletes_with_a_grace_period(void **state)
{
    add_pod(*state, "p");
    run_pod(*state, "p");
    sim_expect(*state, "POST", PODS "/p/eviction",
               "{\"metadata\":{\"name\":\"p\"}}", 201);
    expect_text(*state, PODS "/p", "metadata.deletionGracePeriodSeconds", "30");
    expect_text(*state, PODS "/p", "status.conditions[2].reason",
                "EvictionByEvictionAPI");
    sim_expect(*state, "POST", PODS "/none/eviction",
               "{\"metadata\":{\"name\":\"none\"}}", 404);
}

static void a_budget_limits_evictions(void **state)
{
    sim_expect(*state, "POST", BUDGETS,
               "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"minAvailable\":1,"
               "\"selector\":{\"matchLabels\":{\"app\":\"e\"}}}}",
               201);
    add_pod(*state, "p");
    add_pod(*state, "q");
    run_pod(*state, "p");
    run_pod(*state, "q");
    expect_text(*state, BUDGETS "/b", "status.disruptionsAllowed", "1");
    expect_text(*state, BUDGETS "/b", "status.conditions[1].reason",
                "SufficientPods");
    sim_expect(*state, "POST", PODS "/p/eviction",
               "{\"metadata\":{\"name\":\"p\"},\"deleteOptions\":{\"dryRun\":["
               "\"All\"]}}",
               201);
    sim_expect(*state, "POST", PODS "/p/eviction",
               "{\"metadata\":{\"name\":\"p\"}}", 201);
    expect_text(*state, BUDGETS "/b", "status.disruptionsAllowed", "0");
    sim_expect_refusal(*state, "POST " PODS "/q/eviction",
                       "{\"metadata\":{\"name\":\"q\"}}", 429,
                       "TooManyRequests: Cannot evict pod as it would violate "
                       "the pod's disruption budget.");
    expect_text(*state, PODS "/q", "metadata.deletionTimestamp", "");
}

static void a_service_account_has_tokens(void **state)
{
    sim_reply reply;

    sim_expect(*state, "POST", "/api/v1/namespaces/default/serviceaccounts",
               "{\"metadata\":{\"name\":\"s\"}}", 201);
    reply = sim_ask(*state, "POST",
                    "/api/v1/namespaces/default/serviceaccounts/s/token",
                    "{\"spec\":{\"expirationSeconds\":1200}}");
    assert_int_equal(reply.status, 201);
    assert_non_null(strchr(sim_text(reply.doc, "status.token"), '.'));
    assert_string_equal(sim_text(reply.doc, "spec.expirationSeconds"), "1200");
    sim_reply_clear(&reply);
    sim_expect(*state, "POST",
               "/api/v1/namespaces/default/serviceaccounts/s/token",
               "{\"spec\":{\"expirationSeconds\":5}}", 422);
}

static void logs_and_exec_need_a_kubelet_and_are_errors(void **state)
{
    add_pod(*state, "p");
    sim_expect_refusal(*state, "GET " PODS "/p/exec?command=ls", NULL, 400,
                       "BadRequest: pod p does not have a host assigned");
    run_pod(*state, "p");
    sim_expect(*state, "GET", PODS "/p/log", NULL, 500);
    sim_expect(*state, "GET", PODS "/p/portforward", NULL, 500);
    sim_expect(*state, "GET", PODS "/p/unknown", NULL, 404);
    sim_expect(*state, "GET", PODS "/p/eviction", NULL, 405);
}

/* Whatever fails, nothing is left behind. */
static void each_subresource_can_run_out_of_memory(void **state)
{
    static const char *const rows[][3] = {
        {"PUT", DEPLOYMENTS "/d/scale",
         "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":3}}"},
        {"PATCH", DEPLOYMENTS "/d/scale", "{\"spec\":{\"replicas\":4}}"},
        {"POST", PODS "/p/binding",
         "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n\"}}"},
        {"POST", PODS "/q/eviction", "{\"metadata\":{\"name\":\"q\"}}"},
        {"POST", "/api/v1/namespaces/default/serviceaccounts/s/token", "{}"}};

    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        bool failed = true;

        for (long nth = 1; failed; nth++) {
            const kl_call call = {.method = rows[row][0],
                                  .target = rows[row][1],
                                  .body = rows[row][2],
                                  .body_length = strlen(rows[row][2]),
                                  .content_type =
                                      strcmp(rows[row][0], "PATCH") == 0
                                          ? "application/merge-patch+json"
                                          : NULL};
            kl_sim *sim = kl_sim_new(NULL, NULL);
            kl_reply reply;
            kl_code code;

            add_deployment(sim);
            add_pod(sim, "p");
            add_pod(sim, "q");
            run_pod(sim, "q");
            sim_expect(sim, "POST",
                       "/api/v1/namespaces/default/serviceaccounts",
                       "{\"metadata\":{\"name\":\"s\"}}", 201);
            failing_alloc_install();
            failing_alloc_fail_at(nth, 0);
            code = kl_sim_call(sim, &call, &reply, NULL);
            failed = failing_alloc_has_failed();
            failing_alloc_fail_at(0, 0);
            failing_alloc_uninstall();
            assert_true(code == KL_OK || code == KL_ENOMEM);
            if (code == KL_OK) {
                kl_reply_clear(&reply);
            }
            kl_sim_unref(sim);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_deployment_is_scaled, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(an_invalid_scale_is_refused, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(a_pod_is_bound_once, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(
            a_binding_is_of_one_pod_and_gives_it_labels, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(an_eviction_deletes_with_a_grace_period,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_budget_limits_evictions, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(a_service_account_has_tokens,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            logs_and_exec_need_a_kubelet_and_are_errors, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(each_subresource_can_run_out_of_memory,
                                        sim_set_up, sim_tear_down)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
