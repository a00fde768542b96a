/*
 * sim_kinds_spec.c - what the server sets in single kinds, and what cannot be
 * changed.
 */
#include "spec_case.h"

SIM_CASE(a_service_gets_an_address_that_stays)
{
    sim_play(sim,
             "POST services {metadata: {name: s}, spec: {ports: [{port: 80}]}} "
             "-> 201\n"
             "GET services/s -> 200 spec.clusterIP=10.0.0.2 | "
             "spec.clusterIPs[1]=10.0.0.2 | spec.ipFamilyPolicy=SingleStack\n"
             "PUT services/s {metadata: {name: s}, spec: {ports: [{port: "
             "81}]}} -> 200\n"
             "GET services/s -> 200 spec.clusterIP=10.0.0.2\n"
             "PATCH services/s {spec: {clusterIP: '10.0.0.77'}} -> 422 "
             "Invalid: Service \"s\" is invalid: spec.clusterIPs[0]: Invalid "
             "value: [\"10.0.0.77\"]: may not change once set\n"
             "POST services {metadata: {name: t}, spec: {clusterIP: "
             "'10.9.9.9', ports: [{port: 80}]}} -> 422 Invalid: Service \"t\" "
             "is invalid: spec.clusterIPs: Invalid value: [\"10.9.9.9\"]: "
             "failed to allocate IP 10.9.9.9: the provided IP (10.9.9.9) is "
             "not in the valid range. The range of valid IPs is 10.0.0.0/16\n");
}

SIM_CASE(a_service_has_ports_on_nodes_where_it_wants_them)
{
    sim_play(sim, "POST services {metadata: {name: s}, spec: {type: NodePort, "
                  "ports: [{port: 80}]}} -> 201\n"
                  "GET services/s -> 200 spec.ports[1].nodePort=30000\n"
                  "PATCH services/s {metadata: {labels: {a: b}}} -> 200\n"
                  "GET services/s -> 200 spec.ports[1].nodePort=30000\n"
                  "PATCH services/s {spec: {type: ClusterIP}} -> 200\n"
                  "GET services/s -> 200 spec.ports[1].nodePort=\n"
                  "PATCH services/s {spec: {type: ExternalName, externalName: "
                  "a}} -> 200\n"
                  "GET services/s -> 200 spec.clusterIP=\n");
}

SIM_CASE(a_headless_service_has_no_address)
{
    sim_play(sim, "POST services {metadata: {name: s}, spec: {clusterIP: None, "
                  "ports: [{port: 80}]}} -> 201\n"
                  "GET services/s -> 200 spec.clusterIP=None | "
                  "spec.ipFamilyPolicy=RequireDualStack\n");
}

SIM_CASE(a_pod_is_completed)
{
    sim_play(sim,
             "POST pods {metadata: {name: p}, spec: {containers: [{name: c, "
             "image: i, resources: {limits: {cpu: '1', memory: '1Gi'}}}]}} -> "
             "201\n"
             "GET pods/p -> 200 status.qosClass=Guaranteed\n");
}

SIM_CASE(a_pod_changes_in_few_fields_only)
{
    sim_play(sim,
             "POST pods {metadata: {name: p}, spec: {containers: [{name: c, "
             "image: i}]}} -> 201\n"
             "PATCH pods/p {spec: {containers: [{name: c, image: j}]}} -> 200\n"
             "PATCH pods/p {spec: {restartPolicy: Never}} -> 422\n"
             "PATCH pods/p {spec: {nodeName: 'n'}} -> 422\n"
             "PATCH pods/p/ephemeralcontainers {spec: {restartPolicy: Never, "
             "ephemeralContainers: [{name: d, image: x}]}} -> 200\n"
             "GET pods/p -> 200 spec.ephemeralContainers[1].name=d | "
             "spec.restartPolicy=Always\n");
}

SIM_CASE(selectors_are_immutable)
{
    sim_play(
        sim,
        "POST apps/v1/deployments {metadata: {name: d}, spec: {selector: "
        "{matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: "
        "{containers: [{name: c, image: i}]}}}} -> 201\n"
        "PATCH apps/v1/deployments/d {spec: {selector: {matchLabels: {a: c}}, "
        "template: {metadata: {labels: {a: c}}}}} -> 422 Invalid: "
        "Deployment.apps \"d\" is invalid: spec.selector: Invalid value: "
        "{\"matchLabels\":{\"a\":\"c\"}}: field is immutable\n"
        "POST apps/v1/statefulsets {metadata: {name: s}, spec: {serviceName: "
        "x, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: "
        "b}}, spec: {containers: [{name: c, image: i}]}}}} -> 201\n"
        "PATCH apps/v1/statefulsets/s {spec: {replicas: 2}} -> 200\n"
        "PATCH apps/v1/statefulsets/s {spec: {serviceName: 'y'}} -> 422\n");
}

SIM_CASE(an_immutable_config_map_does_not_change)
{
    sim_play(
        sim,
        "POST configmaps {metadata: {name: m}, immutable: true, data: {a: b}} "
        "-> 201\n"
        "PATCH configmaps/m {data: {a: c}} -> 422 Invalid: ConfigMap \"m\" is "
        "invalid: data: Forbidden: field is immutable when `immutable` is set\n"
        "PATCH configmaps/m {immutable: false} -> 422\n"
        "PATCH configmaps/m {metadata: {labels: {a: b}}} -> 200\n");
}

SIM_CASE(the_pods_of_a_job_are_known_by_its_uid)
{
    sim_play(sim, "POST batch/v1/jobs {metadata: {name: j}, spec: {template: "
                  "{spec: {restartPolicy: Never, containers: [{name: c, image: "
                  "i}]}}}} -> 201 $uid=metadata.uid\n"
                  "GET batch/v1/jobs/j -> 200 "
                  "spec.template.metadata.labels.controller-uid=$uid | "
                  "metadata.labels.job-name=j\n"
                  "PATCH batch/v1/jobs/j {spec: {completions: 5}} -> 422 "
                  "Invalid: Job.batch \"j\" is invalid: spec.completions: "
                  "Invalid value: 5: field is immutable\n"
                  "PATCH batch/v1/jobs/j {spec: {parallelism: 2}} -> 200\n");
}
