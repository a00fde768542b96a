/*
 * sim_admit_spec.c - admission together with its controllers: claims are kept
 * while they are used, roles are aggregated; and what is not there.
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

#define CORE "/api/v1/namespaces/default/"
#define PODS CORE "pods"
#define CLAIMS CORE "persistentvolumeclaims"
#define ROLES "/apis/rbac.authorization.k8s.io/v1/clusterroles"

static void expect_text(kl_sim *sim, const char *target, const char *path,
                        const char *text)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_string_equal(sim_text(reply.doc, path), text);
    sim_reply_clear(&reply);
}

static void neither_quotas_nor_limits_refuse_a_pod(void **state)
{
    sim_expect(*state, "POST", CORE "resourcequotas",
               "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"pods\":"
               "\"0\"}}}",
               201);
    sim_expect(*state, "POST", CORE "limitranges",
               "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"limits\":[{\"type\":"
               "\"Container\",\"max\":{\"cpu\":\"1\"}}]}}",
               201);
    sim_expect(*state, "POST", PODS,
               "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{"
               "\"name\":\"a\",\"image\":\"a\",\"resources\":{\"limits\":{"
               "\"cpu\":\"2\"}}}]}}",
               201);
    expect_text(*state, CORE "resourcequotas/q", "status.used", "");
}

/* A claim, which a pod uses. */
static void add_claim(kl_sim *sim)
{
    sim_expect(sim, "POST", CLAIMS,
               "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"accessModes\":["
               "\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"
               "\"1Gi\"}}}}",
               201);
    sim_expect(sim, "POST", PODS,
               "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\","
               "\"terminationGracePeriodSeconds\":0,\"containers\":[{\"name\":"
               "\"a\",\"image\":\"a\"}],\"volumes\":[{\"name\":\"v\","
               "\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]}}",
               201);
}

static void a_claim_stays_while_a_pod_uses_it(void **state)
{
    add_claim(*state);
    expect_text(*state, CLAIMS "/c", "metadata.finalizers[1]",
                "kubernetes.io/pvc-protection");
    sim_expect(*state, "DELETE", CLAIMS "/c", NULL, 200);
    sim_expect(*state, "GET", CLAIMS "/c", NULL, 200);
    sim_expect(*state, "DELETE", PODS "/p", NULL, 200);
    sim_expect(*state, "GET", CLAIMS "/c", NULL, 404);
}

static void a_volume_stays_while_it_is_bound(void **state)
{
#define VOLUMES "/api/v1/persistentvolumes"
    sim_expect(*state, "POST", VOLUMES,
               "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"accessModes\":["
               "\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"1Gi\"},"
               "\"hostPath\":{\"path\":\"/v\"}}}",
               201);
    sim_expect(*state, "PATCH", VOLUMES "/v/status",
               "{\"status\":{\"phase\":\"Bound\"}}", 200);
    sim_expect(*state, "DELETE", VOLUMES "/v", NULL, 200);
    sim_expect(*state, "GET", VOLUMES "/v", NULL, 200);
    sim_expect(*state, "PATCH", VOLUMES "/v/status",
               "{\"status\":{\"phase\":\"Released\"}}", 200);
    sim_expect(*state, "GET", VOLUMES "/v", NULL, 404);
}

static void an_aggregated_role_gets_rules_of_the_roles_it_selects(void **state)
{
    static const char part[] =
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"in\":\"all\"}},\"rules\":"
        "[{\"apiGroups\":[\"\"],\"resources\":[\"%s\"],\"verbs\":[\"get\"]}]}";
    char body[300];

    sim_expect(
        *state, "POST", ROLES,
        "{\"metadata\":{\"name\":\"all\"},\"aggregationRule\":{"
        "\"clusterRoleSelectors\":[{\"matchLabels\":{\"in\":\"all\"}}]}}",
        201);
    snprintf(body, sizeof(body), part, "a", "pods");
    sim_expect(*state, "POST", ROLES, body, 201);
    snprintf(body, sizeof(body), part, "b", "nodes");
    sim_expect(*state, "POST", ROLES, body, 201);
    expect_text(*state, ROLES "/all", "rules[1].resources[1]", "pods");
    expect_text(*state, ROLES "/all", "rules[2].resources[1]", "nodes");
    sim_expect(*state, "DELETE", ROLES "/a", NULL, 200);
    expect_text(*state, ROLES "/all", "rules[1].resources[1]", "nodes");
}

static void
a_namespace_with_a_pod_security_standard_admits_every_pod(void **state)
{
    sim_expect(*state, "PATCH", "/api/v1/namespaces/default",
               "{\"metadata\":{\"labels\":{"
               "\"pod-security.kubernetes.io/enforce\":\"restricted\"}}}",
               200);
    sim_expect(*state, "POST", PODS,
               "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"hostNetwork\":true,"
               "\"containers\":[{\"name\":\"a\",\"image\":\"a\"}]}}",
               201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(neither_quotas_nor_limits_refuse_a_pod,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            a_namespace_with_a_pod_security_standard_admits_every_pod,
            sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_claim_stays_while_a_pod_uses_it,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_volume_stays_while_it_is_bound,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            an_aggregated_role_gets_rules_of_the_roles_it_selects, sim_set_up,
            sim_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
