/*
 * sim_admit_spec.c - roles are aggregated; and no admission plugin is there:
 * every pod is admitted.
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
