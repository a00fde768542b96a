/*
 * sim_kinds_spec.c - what the server sets in single kinds, and what cannot be
 * changed; definitions and their objects.
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

/* ---- The life of CustomResourceDefinitions, and of their objects. ---- */

/* A definition of that plural, kind Foo, with a replica count and a colour; its
 * older version knows the colour only. */
static void define(kl_sim *sim, const char *plural)
{
    static const char text[] =
        "POST crds {metadata: {name: %s.example.com}, spec: {group: "
        "example.com, scope: Namespaced, names: {plural: %s, kind: Foo}, "
        "versions: [{name: v1, served: true, storage: true, subresources: "
        "{status: {}, scale: {specReplicasPath: .spec.n, statusReplicasPath: "
        ".status.n}}, schema: {openAPIV3Schema: {type: object, properties: "
        "{spec: {type: object, properties: {'n': {type: integer, default: 1, "
        "maximum: 9}, color: {type: string, enum: [red, blue]}}}, status: "
        "{type: object, properties: {'n': {type: integer}}}}}}}, {name: "
        "v1beta1, served: true, storage: false, deprecated: true, schema: "
        "{openAPIV3Schema: {type: object, properties: {spec: {type: object, "
        "properties: {color: {type: string}}}}}}}]}} -> 201";
    char line[2048];

    snprintf(line, sizeof(line), text, plural, plural);
    sim_play(sim, line);
}

static void add(kl_sim *sim, const char *metadata, const char *spec)
{
    char line[512];

    snprintf(line, sizeof(line),
             "POST example.com/v1/foos {apiVersion: example.com/v1, kind: Foo, "
             "metadata: %s, spec: %s} -> 201",
             metadata, spec);
    sim_play(sim, line);
}

SIM_CASE(objects_are_completed_pruned_and_refused)
{
    define(sim, "foos");
    add(sim, "{name: a}", "{color: red, more: 1}");
    sim_play(
        sim,
        "GET example.com/v1/foos/a -> 200 spec={color: red, 'n': 1}\n"
        "POST example.com/v1/foos {apiVersion: example.com/v1, kind: Foo, "
        "metadata: {name: b}, spec: {'n': 10, color: green}} -> 422 Invalid: "
        "Foo.example.com \"b\" is invalid: [spec.n: Invalid value: 10: spec.n "
        "in body should be less than or equal to 9, spec.color: Unsupported "
        "value: \"green\": supported values: \"red\", \"blue\"]\n"
        "POST example.com/v1/foos?fieldValidation=Strict "
        "={\"apiVersion\":\"example.com/"
        "v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"b\"},\"spec\":{\"n\":1,"
        "\"x\":1}} -> 400 BadRequest: Foo in version \"v1\" cannot be "
        "handled as a Foo: strict decoding error: "
        "unknown field \"spec.x\"\n");
}

SIM_CASE(each_version_shows_the_fields_of_its_schema)
{
    define(sim, "foos");
    add(sim, "{name: a}", "{color: red, 'n': 3}");
    sim_play(sim,
             "GET example.com/v1beta1/foos/a -> 200 spec={color: red}\n"
             "GET example.com/v1beta1/foos -> 200 items[*].spec={color: red}\n"
             "PATCH example.com/v1beta1/foos/a {spec: {color: blue}} -> 200\n"
             "GET example.com/v1/foos/a -> 200 spec={color: blue, 'n': 1}\n");
}

SIM_CASE(the_scale_of_a_custom_object_sets_its_field)
{
    define(sim, "foos");
    add(sim, "{name: a}", "{}");
    sim_play(sim,
             "PATCH example.com/v1/foos/a/scale {spec: {replicas: 4}} -> 200\n"
             "GET example.com/v1/foos/a -> 200 spec.n=4\n"
             "PATCH example.com/v1/foos/a/scale {spec: {replicas: 10}} -> 422\n"
             "GET example.com/v1beta1/foos/a/scale -> 404\n");
}

SIM_CASE(a_new_schema_applies_to_existing_objects)
{
    define(sim, "foos");
    add(sim, "{name: a}", "{color: red}");
    sim_play(sim,
             "PATCH crds/foos.example.com {spec: {versions: [{name: v1, "
             "served: true, storage: true, schema: {openAPIV3Schema: {type: "
             "object, properties: {spec: {type: object, properties: {size: "
             "{type: string, default: big}}}}}}}]}} -> 200\n"
             "GET example.com/v1/foos/a -> 200 spec={size: big}\n"
             "GET example.com/v1beta1/foos/a -> 404\n");
}

SIM_CASE(a_definition_waits_for_the_end_of_its_objects)
{
    define(sim, "foos");
    add(sim, "{name: plain}", "{}");
    add(sim, "{name: kept, finalizers: [a.b/c]}", "{}");
    sim_play(
        sim,
        "DELETE crds/foos.example.com -> 200\n"
        "GET crds/foos.example.com -> 200 "
        "status.conditions[3].reason=InstanceDeletionInProgress\n"
        "GET example.com/v1/foos -> 200 items[*].metadata.name=kept\n"
        "POST example.com/v1/foos {apiVersion: example.com/v1, kind: Foo, "
        "metadata: {name: new}} -> 403 Forbidden: foos.example.com \"new\" is "
        "forbidden: create not allowed while custom resource definition is "
        "terminating\n"
        "PATCH example.com/v1/foos/kept {metadata: {finalizers: null}} -> 200\n"
        "GET crds/foos.example.com -> 404\n"
        "GET example.com/v1/foos -> 404\n");
}
