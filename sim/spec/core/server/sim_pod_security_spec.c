/*
 * sim_pod_security_spec.c - namespaces with a Pod Security Standard: which pods
 * are refused, and which writes get warnings. sim/spec/truth (pod_standards,
 * pod_security) compares all rules of the standards with a real server.
 */
#include "sim_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MODE "pod-security.kubernetes.io/"
#define PODS "/api/v1/namespaces/team/pods"
#define PLAIN "{\"containers\":[{\"name\":\"a\",\"image\":\"i\"}]}"
#define PRIVILEGED                                      \
    "{\"containers\":[{\"name\":\"a\",\"image\":\"i\"," \
    "\"securityContext\":{\"privileged\":true}}]}"
#define GOOD                                                       \
    "{\"containers\":[{\"name\":\"a\",\"image\":\"i\","            \
    "\"securityContext\":{\"allowPrivilegeEscalation\":false,"     \
    "\"runAsNonRoot\":true,\"capabilities\":{\"drop\":[\"ALL\"]}," \
    "\"seccompProfile\":{\"type\":\"RuntimeDefault\"}}}]}"
#define POD(name, spec) \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":" spec "}"

/* Makes the namespace "team" with labels: `"MODE enforce":"baseline"`. */
static void add_team(kl_sim *sim, const char *labels)
{
    char body[400];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"team\",\"labels\":{%s}}}", labels);
    sim_expect(sim, "POST", "/api/v1/namespaces", body, 201);
}

/* Sends a request, which must succeed, and must be warned of that. */
static void expect_warning(kl_sim *sim, const char *request, const char *body,
                           const char *warnings)
{
    char method[8] = "";
    size_t length = strcspn(request, " ");
    sim_reply reply;

    memcpy(method, request, length);
    reply = sim_ask(sim, method, request + length + 1, body);
    assert_in_range(reply.status, 200, 201);
    assert_string_equal(reply.raw.warnings != NULL ? reply.raw.warnings : "",
                        warnings);
    sim_reply_clear(&reply);
}

static void a_refused_pod_gets_all_reasons(void **state)
{
    add_team(*state, "\"" MODE "enforce\":\"restricted\"");
    sim_expect_refusal(
        *state, "POST " PODS, POD("x", PLAIN), 403,
        "Forbidden: pods \"x\" is forbidden: violates PodSecurity "
        "\"restricted:latest\": allowPrivilegeEscalation != false (container "
        "\"a\" must set securityContext.allowPrivilegeEscalation=false), "
        "unrestricted capabilities (container \"a\" must set "
        "securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true "
        "(pod or container \"a\" must set securityContext.runAsNonRoot=true), "
        "seccompProfile (pod or container \"a\" must set "
        "securityContext.seccompProfile.type to \"RuntimeDefault\" or "
        "\"Localhost\")");
    sim_expect(*state, "POST", PODS, POD("x", GOOD), 201);
}

static void pod_security_uses_the_level_of_the_namespace(void **state)
{
    add_team(*state, "\"" MODE "enforce\":\"baseline\"");
    sim_expect(*state, "POST", PODS, POD("x", PLAIN), 201);
    sim_expect_refusal(*state, "POST " PODS, POD("y", PRIVILEGED), 403,
                       "Forbidden: pods \"y\" is forbidden: violates "
                       "PodSecurity \"baseline:latest\": privileged (container "
                       "\"a\" must not set securityContext.privileged=true)");
    sim_expect(*state, "POST", "/api/v1/namespaces/default/pods",
               POD("y", PRIVILEGED), 201);
}

static void pod_security_uses_the_version_of_the_namespace(void **state)
{
    add_team(*state, "\"" MODE "enforce\":\"baseline\",\"" MODE
                     "enforce-version\":\"v1.33\"");
    sim_expect(*state, "POST", PODS,
               POD("x", "{\"containers\":[{\"name\":\"a\",\"image\":\"i\","
                        "\"livenessProbe\":{\"httpGet\":{\"port\":80,"
                        "\"host\":\"h\"}}}]}"),
               201);
}

static void invalid_labels_of_a_namespace_are_refused(void **state)
{
    sim_expect_refusal(
        *state, "POST /api/v1/namespaces",
        "{\"metadata\":{\"name\":\"x\",\"labels\":{\"" MODE
        "enforce\":\"Restricted\"}}}",
        422,
        "Invalid: Namespace \"x\" is invalid: metadata.labels[" MODE
        "enforce]: Invalid value: \"Restricted\": must be one of privileged, "
        "baseline, restricted");
}

static void pod_templates_that_violate_a_standard_get_warnings(void **state)
{
    add_team(*state, "\"" MODE "enforce\":\"baseline\"");
    expect_warning(
        *state, "POST /apis/apps/v1/namespaces/team/deployments",
        "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{"
        "\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{"
        "\"labels\":{\"a\":\"b\"}},\"spec\":" PRIVILEGED "}}}",
        "would violate PodSecurity \"baseline:latest\": privileged (container "
        "\"a\" must not set securityContext.privileged=true)");
}

static void a_stricter_namespace_warns_of_its_pods(void **state)
{
    static const char stricter[] =
        "{\"metadata\":{\"labels\":{\"" MODE "enforce\":\"baseline\"}}}";

    add_team(*state, "");
    sim_expect(*state, "POST", PODS, POD("b", PRIVILEGED), 201);
    sim_expect(*state, "POST", PODS, POD("c", PRIVILEGED), 201);
    sim_expect(*state, "POST", PODS, POD("d", PRIVILEGED), 201);
    sim_expect(*state, "POST", PODS, POD("e", PLAIN), 201);
    sim_expect(*state, "POST", PODS,
               POD("a", "{\"hostPID\":true,\"containers\":[{\"name\":\"a\","
                        "\"image\":\"i\"}]}"),
               201);
    expect_warning(*state, "PATCH /api/v1/namespaces/team", stricter,
                   "existing pods in namespace \"team\" violate the new "
                   "PodSecurity enforce level \"baseline:latest\"\n"
                   "a: host namespaces\n"
                   "b (and 2 other pods): privileged");
    expect_warning(*state, "PATCH /api/v1/namespaces/team", stricter, "");
    /* They stay, and may change in what does not matter. */
    sim_expect(*state, "PATCH", PODS "/b",
               "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200);
    sim_expect(*state, "PATCH", PODS "/b",
               "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"j\","
               "\"securityContext\":{\"privileged\":true}}]}}",
               403);
}

static void loading_ignores_pod_security(void **state)
{
    static const char pod[] =
        "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: team}, "
        "spec: {hostPID: true, containers: [{name: a, image: i}]}}";

    add_team(*state, "\"" MODE "enforce\":\"restricted\"");
    assert_int_equal(kl_sim_load(*state, pod, strlen(pod), NULL), KL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_pod_gets_all_reasons,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            pod_security_uses_the_level_of_the_namespace, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(
            pod_security_uses_the_version_of_the_namespace, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(
            invalid_labels_of_a_namespace_are_refused, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(
            pod_templates_that_violate_a_standard_get_warnings, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(a_stricter_namespace_warns_of_its_pods,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(loading_ignores_pod_security,
                                        sim_set_up, sim_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
