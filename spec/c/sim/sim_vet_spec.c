/*
 * sim_vet_spec.c - what objects of built-in kinds are refused for, in the words
 * of kube-apiserver 1.36; and that what was loaded may stay as it is.
 */
#include "sim_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define IN_DEFAULT "/namespaces/default/"
#define PODS "/api/v1" IN_DEFAULT "pods"
#define DEPLOYMENTS "/apis/apps/v1" IN_DEFAULT "deployments"
#define NAMED "\"metadata\":{\"name\":\"a\"}"
#define CONTAINER "\"name\":\"c\",\"image\":\"i\""

static const struct {
    const char *path;
    const char *body;
    const char *says;
} cases[] = {
    {PODS, "{" NAMED ",\"spec\":{}}",
     "Pod \"a\" is invalid: spec.containers: Required value"},
    {PODS,
     "{" NAMED ",\"spec\":{\"containers\":[{" CONTAINER "},{" CONTAINER "}]}}",
     "Pod \"a\" is invalid: spec.containers[1].name: Duplicate value: \"c\""},
    {PODS,
     "{" NAMED ",\"spec\":{\"restartPolicy\":\"No\",\"containers\":"
     "[{" CONTAINER "}]}}",
     "Pod \"a\" is invalid: spec.restartPolicy: Unsupported value: \"No\": "
     "supported values: \"Always\", \"OnFailure\", \"Never\""},
    {PODS,
     "{" NAMED ",\"spec\":{\"containers\":[{" CONTAINER
     ",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"}]}]}}",
     "Pod \"a\" is invalid: spec.containers[0].volumeMounts[0].name: Not "
     "found: "
     "\"v\""},
    {PODS,
     "{" NAMED ",\"spec\":{\"containers\":[{" CONTAINER
     ",\"resources\":{\"requests\":{\"memory\":\"2Gi\"},\"limits\":{"
     "\"memory\":\"1Gi\"}}}]}}",
     "Pod \"a\" is invalid: spec.containers[0].resources.requests: Invalid "
     "value: \"2Gi\": must be less than or equal to memory limit of 1Gi"},
    {DEPLOYMENTS,
     "{" NAMED ",\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"x\"}},"
     "\"template\":{\"metadata\":{\"labels\":{\"app\":\"y\"}},\"spec\":{"
     "\"containers\":[{" CONTAINER "}]}}}}",
     "Deployment.apps \"a\" is invalid: spec.template.metadata.labels: Invalid "
     "value: {\"app\":\"y\"}: `selector` does not match template `labels`"},
    {"/api/v1" IN_DEFAULT "services", "{" NAMED "}",
     "Service \"a\" is invalid: spec.ports: Required value"},
    {"/api/v1" IN_DEFAULT "configmaps", "{" NAMED ",\"data\":{\"..\":\"\"}}",
     "ConfigMap \"a\" is invalid: data[..]: Invalid value: \"..\": must not be "
     "'..'"},
    {"/api/v1" IN_DEFAULT "secrets",
     "{" NAMED ",\"type\":\"kubernetes.io/tls\"}",
     "Secret \"a\" is invalid: [data[tls.crt]: Required value, data[tls.key]: "
     "Required value]"},
    {"/apis/batch/v1" IN_DEFAULT "cronjobs",
     "{" NAMED ",\"spec\":{\"schedule\":\"often\",\"jobTemplate\":{\"spec\":{"
     "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["
     "{" CONTAINER "}]}}}}}}",
     "CronJob.batch \"a\" is invalid: spec.schedule: Invalid value: \"often\": "
     "expected exactly 5 fields, found 1: [often]"},
    {"/apis/networking.k8s.io/v1" IN_DEFAULT "ingresses",
     "{" NAMED ",\"spec\":{}}",
     "Ingress.networking.k8s.io \"a\" is invalid: spec: Invalid value: null: "
     "either `defaultBackend` or `rules` must be specified"}};

static void what_cannot_be_is_refused_with_its_causes(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sim_reply reply = sim_ask(*state, "POST", cases[i].path, cases[i].body);

        assert_string_equal(sim_text(reply.doc, "message"), cases[i].says);
        assert_int_equal(reply.status, 422);
        sim_reply_clear(&reply);
    }
}

static void what_is_refused_is_not_there(void **state)
{
    sim_expect(*state, "POST", PODS, "{" NAMED "}", 422);
    sim_expect(*state, "GET", PODS "/a", NULL, 404);
}

/* Fixtures of tests say only what they are about. */
static void what_was_loaded_may_stay_wrong_and_be_changed(void **state)
{
    static const char text[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
        "\"namespace\":\"default\"},\"spec\":{\"nodeName\":\"n\"}}";

    assert_int_equal(kl_sim_load(*state, text, sizeof(text) - 1, NULL), KL_OK);
    sim_expect(*state, "PATCH", PODS "/a",
               "{\"metadata\":{\"labels\":{\"b\":\"c\"}}}", 200);
    sim_expect(*state, "PATCH", PODS "/a/status",
               "{\"status\":{\"phase\":\"Running\"}}", 200);
    sim_expect(*state, "PATCH", PODS "/a",
               "{\"spec\":{\"activeDeadlineSeconds\":-1}}", 422);
}

static void what_was_only_tried_has_no_version(void **state)
{
    sim_reply reply =
        sim_ask(*state, "POST", "/api/v1" IN_DEFAULT "configmaps?dryRun=All",
                "{" NAMED "}");

    assert_int_equal(reply.status, 201);
    assert_null(kl_value_get(kl_value_get(kl_doc_root(reply.doc), "metadata"),
                             "resourceVersion"));
    sim_reply_clear(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_cannot_be_is_refused_with_its_causes, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(what_is_refused_is_not_there,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            what_was_loaded_may_stay_wrong_and_be_changed, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(what_was_only_tried_has_no_version,
                                        sim_set_up, sim_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
