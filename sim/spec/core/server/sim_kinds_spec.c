/*
 * sim_kinds_spec.c - what the server sets in single kinds, and what cannot be
 * changed.
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

#define PODS "/api/v1/namespaces/default/pods"
#define SERVICES "/api/v1/namespaces/default/services"
#define MAPS "/api/v1/namespaces/default/configmaps"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define SETS "/apis/apps/v1/namespaces/default/statefulsets"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"

static void expect_text(kl_sim *sim, const char *target, const char *path,
                        const char *text)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_string_equal(sim_text(reply.doc, path), text);
    sim_reply_clear(&reply);
}

static void a_service_gets_an_address_that_stays(void **state)
{
    sim_expect(*state, "POST", SERVICES,
               "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":"
               "80}]}}",
               201);
    expect_text(*state, SERVICES "/s", "spec.clusterIP", "10.0.0.2");
    expect_text(*state, SERVICES "/s", "spec.clusterIPs[1]", "10.0.0.2");
    expect_text(*state, SERVICES "/s", "spec.ipFamilyPolicy", "SingleStack");
    sim_expect(*state, "PUT", SERVICES "/s",
               "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":"
               "81}]}}",
               200);
    expect_text(*state, SERVICES "/s", "spec.clusterIP", "10.0.0.2");
    sim_expect_refusal(*state, "PATCH " SERVICES "/s",
                       "{\"spec\":{\"clusterIP\":\"10.0.0.77\"}}", 422,
                       "Invalid: Service \"s\" is invalid: spec.clusterIPs[0]: "
                       "Invalid value: [\"10.0.0.77\"]: may not change once "
                       "set");
    sim_expect_refusal(
        *state, "POST " SERVICES,
        "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"clusterIP\":\"10.9.9.9\","
        "\"ports\":[{\"port\":80}]}}",
        422,
        "Invalid: Service \"t\" is invalid: spec.clusterIPs: Invalid value: "
        "[\"10.9.9.9\"]: failed to allocate IP 10.9.9.9: the provided IP "
        "(10.9.9.9) is not in the valid range. The range of valid IPs is "
        "10.0.0.0/16");
}

static void a_service_has_ports_on_nodes_where_it_wants_them(void **state)
{
    sim_expect(*state, "POST", SERVICES,
               "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"type\":\"NodePort\","
               "\"ports\":[{\"port\":80}]}}",
               201);
    expect_text(*state, SERVICES "/s", "spec.ports[1].nodePort", "30000");
    sim_expect(*state, "PATCH", SERVICES "/s",
               "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200);
    expect_text(*state, SERVICES "/s", "spec.ports[1].nodePort", "30000");
    sim_expect(*state, "PATCH", SERVICES "/s",
               "{\"spec\":{\"type\":\"ClusterIP\"}}", 200);
    expect_text(*state, SERVICES "/s", "spec.ports[1].nodePort", "");
    sim_expect(*state, "PATCH", SERVICES "/s",
               "{\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"a\"}}",
               200);
    expect_text(*state, SERVICES "/s", "spec.clusterIP", "");
}

static void a_headless_service_has_no_address(void **state)
{
    sim_expect(*state, "POST", SERVICES,
               "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"clusterIP\":"
               "\"None\",\"ports\":[{\"port\":80}]}}",
               201);
    expect_text(*state, SERVICES "/s", "spec.clusterIP", "None");
    expect_text(*state, SERVICES "/s", "spec.ipFamilyPolicy",
                "RequireDualStack");
}

static void a_pod_is_completed(void **state)
{
    sim_expect(*state, "POST", PODS,
               "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"priorityClassName\":"
               "\"system-node-critical\",\"containers\":[{\"name\":\"c\","
               "\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":\"1\","
               "\"memory\":\"1Gi\"}}}]}}",
               201);
    expect_text(*state, PODS "/p", "status.qosClass", "Guaranteed");
    expect_text(*state, PODS "/p", "spec.priority", "2000001000");
    expect_text(*state, PODS "/p", "spec.tolerations[2].key",
                "node.kubernetes.io/unreachable");
    sim_expect_refusal(
        *state, "POST " PODS,
        "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"priorityClassName\":"
        "\"none\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
        403,
        "Forbidden: pods \"q\" is forbidden: no PriorityClass with name none "
        "was found");
}

static void a_pod_changes_in_few_fields_only(void **state)
{
    sim_expect(*state, "POST", PODS,
               "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{"
               "\"name\":\"c\",\"image\":\"i\"}]}}",
               201);
    sim_expect(*state, "PATCH", PODS "/p",
               "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"j\"}]}}",
               200);
    sim_expect(*state, "PATCH", PODS "/p",
               "{\"spec\":{\"restartPolicy\":\"Never\"}}", 422);
    sim_expect(*state, "PATCH", PODS "/p", "{\"spec\":{\"nodeName\":\"n\"}}",
               422);
    sim_expect(*state, "PATCH", PODS "/p/ephemeralcontainers",
               "{\"spec\":{\"restartPolicy\":\"Never\",\"ephemeralContainers\":"
               "[{\"name\":\"d\",\"image\":\"x\"}]}}",
               200);
    expect_text(*state, PODS "/p", "spec.ephemeralContainers[1].name", "d");
    expect_text(*state, PODS "/p", "spec.restartPolicy", "Always");
}

static void selectors_are_immutable(void **state)
{
    sim_expect(*state, "POST", DEPLOYMENTS,
               "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{"
               "\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{"
               "\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":"
               "\"c\",\"image\":\"i\"}]}}}}",
               201);
    sim_expect_refusal(
        *state, "PATCH " DEPLOYMENTS "/d",
        "{\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"c\"}},\"template\":{"
        "\"metadata\":{\"labels\":{\"a\":\"c\"}}}}}",
        422,
        "Invalid: Deployment.apps \"d\" is invalid: spec.selector: Invalid "
        "value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable");
    sim_expect(*state, "POST", SETS,
               "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"serviceName\":"
               "\"x\",\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
               "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
               "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}"
               "}",
               201);
    sim_expect(*state, "PATCH", SETS "/s", "{\"spec\":{\"replicas\":2}}", 200);
    sim_expect(*state, "PATCH", SETS "/s", "{\"spec\":{\"serviceName\":\"y\"}}",
               422);
}

static void an_immutable_config_map_does_not_change(void **state)
{
    sim_expect(*state, "POST", MAPS,
               "{\"metadata\":{\"name\":\"m\"},\"immutable\":true,\"data\":{"
               "\"a\":\"b\"}}",
               201);
    sim_expect_refusal(*state, "PATCH " MAPS "/m", "{\"data\":{\"a\":\"c\"}}",
                       422,
                       "Invalid: ConfigMap \"m\" is invalid: data: Forbidden: "
                       "field is immutable when `immutable` is set");
    sim_expect(*state, "PATCH", MAPS "/m", "{\"immutable\":false}", 422);
    sim_expect(*state, "PATCH", MAPS "/m",
               "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200);
}

static void the_pods_of_a_job_are_known_by_its_uid(void **state)
{
    sim_reply reply;
    char uid[64];

    sim_expect(*state, "POST", JOBS,
               "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{"
               "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
               "\"name\":\"c\",\"image\":\"i\"}]}}}}",
               201);
    reply = sim_ask(*state, "GET", JOBS "/j", NULL);
    snprintf(uid, sizeof(uid), "%s", sim_text(reply.doc, "metadata.uid"));
    assert_string_equal(
        sim_text(reply.doc, "spec.template.metadata.labels.controller-uid"),
        uid);
    assert_string_equal(sim_text(reply.doc, "metadata.labels.job-name"), "j");
    sim_reply_clear(&reply);
    sim_expect_refusal(*state, "PATCH " JOBS "/j",
                       "{\"spec\":{\"completions\":5}}", 422,
                       "Invalid: Job.batch \"j\" is invalid: spec.completions: "
                       "Invalid value: 5: field is immutable");
    sim_expect(*state, "PATCH", JOBS "/j", "{\"spec\":{\"parallelism\":2}}",
               200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_service_gets_an_address_that_stays,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            a_service_has_ports_on_nodes_where_it_wants_them, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(a_headless_service_has_no_address,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_pod_is_completed, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(a_pod_changes_in_few_fields_only,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(selectors_are_immutable, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(an_immutable_config_map_does_not_change,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(the_pods_of_a_job_are_known_by_its_uid,
                                        sim_set_up, sim_tear_down)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
