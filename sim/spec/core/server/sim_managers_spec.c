/*
 * sim_managers_spec.c - managers of fields that were not written by a plain
 * request: by the server itself, by a scale, by a PUT that creates, and by a
 * write of status. Expected values are kube-apiserver's answers.
 */
#include "sim_client.h"
#include "sim_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEFAULT "/namespaces/default"
#define PODS "/api/v1" DEFAULT "/pods"
#define LEASES "/apis/coordination.k8s.io/v1" DEFAULT "/leases"
#define DEPLOYMENTS "/apis/apps/v1" DEFAULT "/deployments"
#define DAEMONSETS "/apis/apps/v1" DEFAULT "/daemonsets"
#define APPLY "application/apply-patch+yaml"
#define MERGE "application/merge-patch+json"
#define WORKLOAD                                                               \
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"selector\":{\"matchLabels\":{" \
    "\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},"     \
    "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"

/* Sends a patch of a type; `expected` is the status. */
static void patch(kl_sim *sim, const char *target, const char *type,
                  const char *body, int expected)
{
    const kl_call call = {.method = "PATCH",
                          .target = target,
                          .content_type = type,
                          .body = body,
                          .body_length = strlen(body)};
    kl_error err = {0};
    kl_reply reply;

    if (kl_sim_call(sim, &call, &reply, &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
    if (reply.status != expected) {
        fail_msg("%s with %s: %d %s", target, body, reply.status, reply.body);
    }
    kl_reply_clear(&reply);
}

/* What an object has at a path of its metadata, as JSON. */
static void expect(kl_sim *sim, const char *target, const char *path,
                   const char *expected)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, path), expected);
    sim_reply_clear(&reply);
}

#define ENTRY(n, member) "metadata.managedFields[" n "]." member

static void a_controller_manages_the_fields_it_writes(void **state)
{
    sim_expect(
        *state, "POST",
        "/apis/policy/v1" DEFAULT "/poddisruptionbudgets?fieldManager=me",
        "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"minAvailable\":1}}", 201);
    expect(*state, "/apis/policy/v1" DEFAULT "/poddisruptionbudgets/b",
           ENTRY("1", "manager"), "kube-controller-manager");
    expect(*state, "/apis/policy/v1" DEFAULT "/poddisruptionbudgets/b",
           ENTRY("1", "subresource"), "status");
    expect(*state, "/apis/policy/v1" DEFAULT "/poddisruptionbudgets/b",
           ENTRY("2", "manager"), "me");
    sim_expect(*state, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"new\"}}", 201);
    expect(*state, "/api/v1/namespaces/new/configmaps/kube-root-ca.crt",
           ENTRY("1", "manager"), "kube-controller-manager");
}

static void fields_removed_by_the_collector_have_no_manager(void **state)
{
    char body[512];
    sim_reply reply =
        sim_ask(*state, "POST", LEASES, "{\"metadata\":{\"name\":\"owner\"}}");

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{"
             "\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
             "\"name\":\"owner\",\"uid\":\"%s\"}]},\"spec\":{"
             "\"holderIdentity\":\"h\"}}",
             sim_text(reply.doc, "metadata.uid"));
    sim_reply_clear(&reply);
    sim_expect(*state, "POST", LEASES "?fieldManager=me", body, 201);
    sim_expect(*state, "DELETE", LEASES "/owner?propagationPolicy=Orphan", NULL,
               200);
    expect(*state, LEASES "/a", "metadata.ownerReferences", "");
    expect(*state, LEASES "/a", "metadata.managedFields[1].fieldsV1",
           "{\"f:spec\":{\"f:holderIdentity\":{}}}");
}

static void a_definition_has_two_managers(void **state)
{
    static const char target[] =
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    static const char one[] =
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/as.e.com";

    sim_expect(
        *state, "POST", target,
        "{\"metadata\":{\"name\":\"as.e.com\"},\"spec\":{\"group\":\"e.com\","
        "\"scope\":\"Cluster\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},"
        "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
        "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
        201);
    expect(*state, one, ENTRY("1", "manager"), "kube-apiserver");
    expect(*state, one, ENTRY("1", "subresource"), "status");
    expect(*state, one, ENTRY("2", "fieldsV1"),
           "{\"f:spec\":{\"f:conversion\":{\".\":{},\"f:strategy\":{}},"
           "\"f:group\":{},\"f:names\":{\"f:kind\":{},\"f:listKind\":{},"
           "\"f:plural\":{},\"f:singular\":{}},\"f:scope\":{},"
           "\"f:versions\":{}}}");
}

static void an_apply_of_a_scale_owns_the_replicas(void **state)
{
    static const char scale[] =
        "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\",\"metadata\":{"
        "\"name\":\"a\"},\"spec\":{\"replicas\":3}}";

    sim_expect(*state, "POST", DEPLOYMENTS "?fieldManager=me", WORKLOAD, 201);
    patch(*state, DEPLOYMENTS "/a/scale?fieldManager=hpa", APPLY, scale, 409);
    patch(*state, DEPLOYMENTS "/a/scale?fieldManager=hpa&force=true", APPLY,
          scale, 200);
    expect(*state, DEPLOYMENTS "/a", "spec.replicas", "3");
    expect(*state, DEPLOYMENTS "/a", ENTRY("1", "manager"), "hpa");
    expect(*state, DEPLOYMENTS "/a", ENTRY("1", "operation"), "Apply");
    expect(*state, DEPLOYMENTS "/a", ENTRY("1", "apiVersion"), "apps/v1");
    expect(*state, DEPLOYMENTS "/a", ENTRY("1", "subresource"), "scale");
    expect(*state, DEPLOYMENTS "/a", ENTRY("1", "time"), "");
    expect(*state, DEPLOYMENTS "/a", ENTRY("1", "fieldsV1"),
           "{\"f:spec\":{\"f:replicas\":{}}}");
    /* The object's owner cannot take it back unasked. */
    patch(*state, DEPLOYMENTS "/a?fieldManager=ssa", APPLY,
          "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{"
          "\"name\":\"a\"},\"spec\":{\"replicas\":1}}",
          409);
    /* A manager that applies without its fields gives them up. */
    patch(*state, DEPLOYMENTS "/a/scale?fieldManager=hpa", APPLY,
          "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\",\"metadata\":{"
          "\"name\":\"a\"}}",
          200);
    expect(*state, DEPLOYMENTS "/a", "spec.replicas", "0");
    expect(*state, DEPLOYMENTS "/a", ENTRY("1", "manager"), "me");
    expect(*state, DEPLOYMENTS "/a", ENTRY("2", "manager"), "");
}

static void a_put_creates_objects_of_some_kinds(void **state)
{
    sim_expect(*state, "PUT", LEASES "/l?fieldManager=me",
               "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"7\"},"
               "\"spec\":{\"holderIdentity\":\"h\"}}",
               201);
    expect(*state, LEASES "/l", ENTRY("1", "operation"), "Update");
    sim_expect_refusal(*state, "PUT " LEASES "/l",
                       "{\"metadata\":{\"name\":\"l\"}}", 422,
                       "Invalid: leases.coordination.k8s.io \"l\" is invalid: "
                       "metadata.resourceVersion: Invalid value: 0: must be "
                       "specified for an update");
    sim_expect_refusal(*state, "PUT " LEASES "/m",
                       "{\"metadata\":{\"name\":\"other\"}}", 400,
                       "BadRequest: the name of the object (other) does not "
                       "match the name on the URL (m)");
    sim_expect_refusal(
        *state, "PUT " LEASES "/m",
        "{\"metadata\":{\"name\":\"m\",\"uid\":\"x\"}}", 409,
        "Conflict: Operation cannot be fulfilled on leases.coordination.k8s.io "
        "\"m\": StorageError: invalid object, Code: 4, Key: "
        "/registry/leases/default/m, ResourceVersion: 0, AdditionalErrorMsg: "
        "Precondition failed: UID in precondition: x, UID in object meta: ");
    sim_expect(*state, "PUT", "/api/v1" DEFAULT "/configmaps/c",
               "{\"metadata\":{\"name\":\"c\"}}", 404);
    patch(*state, LEASES "/none", MERGE, "{}", 404);
}

static void a_write_of_status_keeps_spec_and_owners(void **state)
{
    sim_expect(*state, "POST", PODS,
               "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"1\"}},"
               "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
               201);
    patch(*state, PODS "/p/status", MERGE,
          "{\"metadata\":{\"labels\":{\"a\":\"2\"},\"ownerReferences\":[{"
          "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"o\",\"uid\":"
          "\"u\"}]},\"spec\":{\"nodeName\":\"n\"},\"status\":{\"podIP\":"
          "\"10.0.0.1\"}}",
          200);
    expect(*state, PODS "/p", "metadata.labels.a", "2");
    expect(*state, PODS "/p", "metadata.ownerReferences", "");
    expect(*state, PODS "/p", "spec.nodeName", "");
    expect(*state, PODS "/p", "status.podIPs", "[{\"ip\":\"10.0.0.1\"}]");
    sim_expect(*state, "POST", DEPLOYMENTS, WORKLOAD, 201);
    patch(*state, DEPLOYMENTS "/a/status", MERGE,
          "{\"metadata\":{\"labels\":{\"a\":\"2\"},\"annotations\":{\"a\":"
          "\"2\"}},\"status\":{\"replicas\":1}}",
          200);
    expect(*state, DEPLOYMENTS "/a", "metadata.labels", "");
    expect(*state, DEPLOYMENTS "/a", "metadata.annotations.a", "2");
    patch(*state, DEPLOYMENTS "/a/status", MERGE,
          "{\"status\":{\"readyReplicas\":2}}", 422);
}

static void a_daemon_set_counts_its_templates(void **state)
{
    static const char counted[] =
        "metadata.annotations[\"deprecated.daemonset.template.generation\"]";

    sim_expect(*state, "POST", DAEMONSETS, WORKLOAD, 201);
    expect(*state, DAEMONSETS "/a", counted, "1");
    patch(*state, DAEMONSETS "/a", MERGE,
          "{\"metadata\":{\"annotations\":null},\"spec\":{\"minReadySeconds\":"
          "1}}",
          200);
    expect(*state, DAEMONSETS "/a", counted, "1");
    patch(*state, DAEMONSETS "/a", MERGE,
          "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"c\":\"d\"}}}}}",
          200);
    expect(*state, DAEMONSETS "/a", counted, "2");
    patch(*state, DAEMONSETS "/a/status", MERGE,
          "{\"metadata\":{\"annotations\":null}}", 200);
    expect(*state, DAEMONSETS "/a", counted, "2");
}

/* Entries are sorted by the second of their write, then by manager. The clock
 * stands, so that no second begins between two writes. */
static int set_up(void **state)
{
    *state = kl_sim_new(&(kl_sim_options){.clock_stands = true}, NULL);
    return *state != NULL ? 0 : -1;
}

#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, sim_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_controller_manages_the_fields_it_writes),
        SPEC(fields_removed_by_the_collector_have_no_manager),
        SPEC(a_definition_has_two_managers),
        SPEC(an_apply_of_a_scale_owns_the_replicas),
        SPEC(a_put_creates_objects_of_some_kinds),
        SPEC(a_write_of_status_keeps_spec_and_owners),
        SPEC(a_daemon_set_counts_its_templates)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
