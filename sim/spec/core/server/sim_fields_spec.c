/*
 * sim_fields_spec.c - writes of built-in kinds: invalid fields are refused or
 * warned of, defaults are set, and a kind with two versions is one object in
 * both.
 */
#include "sim_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define SCALERS(version)                                \
    "/apis/autoscaling/" version "/namespaces/default/" \
    "horizontalpodautoscalers"
#define POD(name, more)                                                 \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[{" \
    "\"name\":\"c\",\"image\":\"i\"}]" more "}}"

static void expect_text(kl_sim *sim, const char *target, const char *path,
                        const char *text)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, path), text);
    sim_reply_clear(&reply);
}

static void a_wrong_type_is_refused(void **state)
{
    sim_expect_refusal(
        *state, "POST " PODS, POD("p", ",\"priority\":\"1\""), 400,
        "BadRequest: Pod in version \"v1\" cannot be handled as a Pod: json: "
        "cannot unmarshal string into Go struct field PodSpec.spec.priority of "
        "type int32");
}

static void an_unknown_field_is_refused_dropped_or_warned_of(void **state)
{
    static const char unknown[] = POD("p", ",\"foo\":1,\"foo\":2");

    sim_expect_refusal(
        *state, "POST " PODS "?fieldValidation=Strict", unknown, 400,
        "BadRequest: Pod in version \"v1\" cannot be handled as a Pod: strict "
        "decoding error: unknown field \"spec.foo\"");
    sim_expect_refusal(
        *state, "POST " PODS "?fieldValidation=x", unknown, 422,
        "Invalid: CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: "
        "Unsupported value: \"x\": supported values: \"\", \"Ignore\", "
        "\"Strict\", \"Warn\"");
    sim_expect(*state, "POST", PODS "?fieldValidation=Ignore", unknown, 201);
    expect_text(*state, PODS "/p", "spec.foo", "");
    sim_expect(*state, "POST", PODS, POD("q", ",\"foo\":1"), 201);
}

static void a_new_object_gets_its_defaults(void **state)
{
    sim_expect(*state, "POST", PODS, POD("p", ""), 201);
    expect_text(*state, PODS "/p", "spec.restartPolicy", "Always");
    expect_text(*state, PODS "/p", "spec.containers[1].imagePullPolicy",
                "Always");
    expect_text(*state, PODS "/p", "spec.containers[1].resources", "{}");
}

static void an_autoscaler_is_the_same_in_both_versions(void **state)
{
    sim_expect(*state, "POST", SCALERS("v1"),
               "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"maxReplicas\":3,"
               "\"targetCPUUtilizationPercentage\":50,\"scaleTargetRef\":{"
               "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
               "\"d\"}}}",
               201);
    expect_text(*state, SCALERS("v2") "/h", "apiVersion", "autoscaling/v2");
    expect_text(*state, SCALERS("v2") "/h",
                "spec.metrics[1].resource.target.averageUtilization", "50");
    expect_text(*state, SCALERS("v1") "/h", "apiVersion", "autoscaling/v1");
    expect_text(*state, SCALERS("v1") "/h",
                "spec.targetCPUUtilizationPercentage", "50");
    sim_expect(*state, "PATCH", SCALERS("v1") "/h",
               "{\"spec\":{\"targetCPUUtilizationPercentage\":60}}", 200);
    expect_text(*state, SCALERS("v2") "/h",
                "spec.metrics[1].resource.target.averageUtilization", "60");
    expect_text(*state, SCALERS("v1"),
                "items[1].spec.targetCPUUtilizationPercentage", "60");
}

/* v1 knows one metric; the others wait in annotations. */
static void fields_that_the_older_version_lacks_are_kept(void **state)
{
    sim_expect(*state, "POST", SCALERS("v2"),
               "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"maxReplicas\":3,"
               "\"behavior\":{\"scaleUp\":{\"stabilizationWindowSeconds\":3}},"
               "\"metrics\":[{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":"
               "\"m\"},\"target\":{\"type\":\"AverageValue\",\"averageValue\":"
               "\"1\"}}}],\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\","
               "\"kind\":\"Deployment\",\"name\":\"d\"}}}",
               201);
    expect_text(
        *state, SCALERS("v1") "/h",
        "metadata.annotations[\"autoscaling.alpha.kubernetes.io/metrics\"]",
        "[{\"type\":\"Pods\",\"pods\":{\"metricName\":\"m\","
        "\"targetAverageValue\":\"1\"}}]");
    sim_expect(*state, "PATCH", SCALERS("v1") "/h",
               "{\"spec\":{\"maxReplicas\":4}}", 200);
    expect_text(*state, SCALERS("v2") "/h", "spec.maxReplicas", "4");
    expect_text(*state, SCALERS("v2") "/h",
                "spec.metrics[1].pods.target.averageValue", "1");
    expect_text(*state, SCALERS("v2") "/h",
                "spec.behavior.scaleUp.stabilizationWindowSeconds", "3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wrong_type_is_refused, sim_set_up,
                                        sim_tear_down),
        cmocka_unit_test_setup_teardown(
            an_unknown_field_is_refused_dropped_or_warned_of, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(a_new_object_gets_its_defaults,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            an_autoscaler_is_the_same_in_both_versions, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(
            fields_that_the_older_version_lacks_are_kept, sim_set_up,
            sim_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
