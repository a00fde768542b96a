/*
 * sim_admit_spec.c - admission together with its controllers: claims are kept
 * while they are used, roles are aggregated; and what is not there.
 */
#include "spec_case.h"

SIM_CASE(neither_quotas_nor_limits_refuse_a_pod)
{
    sim_play(sim, "POST resourcequotas {metadata: {name: q}, spec: {hard: "
                  "{pods: '0'}}} -> 201\n"
                  "POST limitranges {metadata: {name: l}, spec: {limits: "
                  "[{type: Container, max: {cpu: '1'}}]}} -> 201\n"
                  "POST pods {metadata: {name: p}, spec: {containers: [{name: "
                  "a, image: a, resources: {limits: {cpu: '2'}}}]}} -> 201\n"
                  "GET resourcequotas/q -> 200 status.used=\n");
}

/* A claim, which a pod uses. */
static void add_claim(kl_sim *sim)
{
    sim_play(
        sim,
        "POST persistentvolumeclaims {metadata: {name: c}, spec: {accessModes: "
        "[ReadWriteOnce], resources: {requests: {storage: '1Gi'}}}} -> 201\n"
        "POST pods {metadata: {name: p}, spec: {nodeName: 'n', "
        "terminationGracePeriodSeconds: 0, containers: [{name: a, image: a}], "
        "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}} -> "
        "201\n");
}

SIM_CASE(a_claim_stays_while_a_pod_uses_it)
{
    add_claim(sim);
    sim_play(sim, "GET persistentvolumeclaims/c -> 200 "
                  "metadata.finalizers[1]=kubernetes.io/pvc-protection\n"
                  "DELETE persistentvolumeclaims/c -> 200\n"
                  "GET persistentvolumeclaims/c -> 200\n"
                  "DELETE pods/p -> 200\n"
                  "GET persistentvolumeclaims/c -> 404\n");
}

SIM_CASE(a_volume_stays_while_it_is_bound)
{
    sim_play(sim, "POST /api/v1/persistentvolumes {metadata: {name: v}, spec: "
                  "{accessModes: [ReadWriteOnce], capacity: {storage: '1Gi'}, "
                  "hostPath: {path: /v}}} -> 201\n"
                  "PATCH /api/v1/persistentvolumes/v/status {status: {phase: "
                  "Bound}} -> 200\n"
                  "DELETE /api/v1/persistentvolumes/v -> 200\n"
                  "GET /api/v1/persistentvolumes/v -> 200\n"
                  "PATCH /api/v1/persistentvolumes/v/status {status: {phase: "
                  "Released}} -> 200\n"
                  "GET /api/v1/persistentvolumes/v -> 404\n");
}

SIM_CASE(an_aggregated_role_gets_rules_of_the_roles_it_selects)
{
#define ROLES "/apis/rbac.authorization.k8s.io/v1/clusterroles"
#define PART(name, resource)                                                 \
    "POST " ROLES " {metadata: {name: " name ", labels: {in: all}}, rules: " \
    "[{apiGroups: [''], resources: [" resource "], verbs: [get]}]} -> 201\n"
    sim_play(sim,
             "POST " ROLES
             " {metadata: {name: all}, aggregationRule: {clusterRoleSelectors: "
             "[{matchLabels: {in: all}}]}} -> 201\n" PART("a", "pods") PART(
                 "b", "nodes") "GET " ROLES
                               "/all -> 200 rules[1].resources[1]=pods | "
                               "rules[2].resources[1]=nodes\n"
                               "DELETE " ROLES "/a -> 200\n"
                               "GET " ROLES
                               "/all -> 200 rules[1].resources[1]=nodes\n");
}

SIM_CASE(a_namespace_with_a_pod_security_standard_admits_every_pod)
{
    sim_play(sim, "PATCH /api/v1/namespaces/default {metadata: {labels: "
                  "{pod-security.kubernetes.io/enforce: restricted}}} -> 200\n"
                  "POST pods {metadata: {name: p}, spec: {hostNetwork: true, "
                  "containers: [{name: a, image: a}]}} -> 201\n");
}
