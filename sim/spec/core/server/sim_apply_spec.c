/*
 * sim_apply_spec.c - managers of fields: managedFields after writes, and
 * server-side apply. Expected values are kube-apiserver's answers.
 */
#include "spec_case.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

SIM_CASE(a_new_object_is_managed_by_its_creator)
{
    sim_play(
        sim,
        "POST configmaps?fieldManager=me {apiVersion: v1, kind: ConfigMap, "
        "metadata: {name: a, labels: {l: '1'}}, data: {k: v}} -> 201\n"
        "PATCH configmaps/a {} -> 200 "
        "~\"fieldsV1\":{\"f:data\":{\".\":{},\"f:k\":{}},\"f:metadata\":{\"f:"
        "labels\":{\".\":{},\"f:l\":{}}}}\n");
}

SIM_CASE(a_manager_that_changes_a_field_owns_it)
{
    sim_play(sim,
             "POST configmaps?fieldManager=a {apiVersion: v1, kind: ConfigMap, "
             "metadata: {name: a}, data: {k: v, 'n': '1'}} -> 201\n"
             "PATCH configmaps/a?fieldManager=b {data: {'n': '2'}} -> 200 "
             "~\"fieldsV1\":{\"f:data\":{\"f:n\":{}}}\n"
             "PATCH configmaps/a {} -> 200 "
             "~\"fieldsV1\":{\"f:data\":{\".\":{},\"f:k\":{}}}\n"
             "PATCH configmaps/a {metadata: {managedFields: []}} -> 200 "
             "~\"data\":{\"k\":\"v\"\n"
             "PATCH configmaps/a?fieldManager=c {data: {m: '3'}} -> 200 "
             "~Timestamp\":\"\n");
}

SIM_CASE(an_apply_creates_changes_and_removes_fields)
{
    /* The third is YAML as it is; of the last: what another applies stays. */
    sim_play(sim,
             "APPLY configmaps/a {apiVersion: v1, kind: ConfigMap} -> 422 "
             "~fieldManager: Required value: is required for apply patch\n"
             "APPLY configmaps/a?fieldManager=x {apiVersion: v1, kind: "
             "ConfigMap, metadata: {name: a}, data: {a: '1', b: '2'}} -> 201 "
             "~\"operation\":\"Apply\"\n"
             "APPLY configmaps/a?fieldManager=x ={apiVersion: v1, kind: "
             "ConfigMap, data: {b: '2', c: '3'}} -> 200 "
             "~\"data\":{\"b\":\"2\",\"c\":\"3\"}\n"
             "APPLY configmaps/a?fieldManager=y {apiVersion: v1, kind: "
             "ConfigMap, data: {b: '2'}} -> 200 ~\"manager\":\"y\"\n"
             "APPLY configmaps/a?fieldManager=x {apiVersion: v1, kind: "
             "ConfigMap} -> 200 ~\"data\":{\"b\":\"2\"}\n");
}

SIM_CASE(a_conflict_names_the_manager_of_the_field)
{
    sim_play(
        sim,
        "APPLY apps/v1/deployments/d?fieldManager=x {apiVersion: apps/v1, "
        "kind: Deployment, spec: {selector: {matchLabels: {a: b}}, template: "
        "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, "
        "ports: [{containerPort: 80}]}]}}}} -> 201 "
        "~\"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\"\n"
        "PATCH apps/v1/deployments/d?fieldManager=u {spec: {replicas: 3}} -> "
        "200 ~\"replicas\":3\n"
        "APPLY apps/v1/deployments/d?fieldManager=y {apiVersion: apps/v1, "
        "kind: Deployment, spec: {replicas: 5}} -> 409 ~\"message\":\"Apply "
        "failed with 1 conflict: conflict with \\\"u\\\" using apps/v1: "
        ".spec.replicas\",\"reason\":\"Conflict\",\"details\":{\"causes\":[{"
        "\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with "
        "\\\"u\\\" using "
        "apps/v1\",\"field\":\".spec.replicas\"}]},\"code\":409\n"
        "APPLY apps/v1/deployments/d?fieldManager=y&force=true {apiVersion: "
        "apps/v1, kind: Deployment, spec: {replicas: 5}} -> 200 "
        "~\"replicas\":5\n"
        "APPLY apps/v1/deployments/d/status?fieldManager=s {apiVersion: "
        "apps/v1, kind: Deployment, status: {replicas: 2}, spec: {replicas: "
        "9}} -> 200 "
        "~\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:status\":{\"f:"
        "replicas\":{}}},\"subresource\":\"status\"}\n");
}

SIM_CASE(an_apply_without_changes_makes_no_version)
{
    sim_play(sim,
             "APPLY configmaps/a?fieldManager=x {apiVersion: v1, kind: "
             "ConfigMap, data: {a: '1'}} -> 201 "
             "$version=metadata.resourceVersion\n"
             "APPLY configmaps/a?fieldManager=x {apiVersion: v1, kind: "
             "ConfigMap, data: {a: '1'}} -> 200\n"
             "GET configmaps/a -> 200 metadata.resourceVersion=$version\n");
}

SIM_CASE(what_cannot_be_applied_is_refused)
{
    sim_play(
        sim,
        "$apply = APPLY configmaps/a?fieldManager=x\n"
        "$apply {kind: ConfigMap} -> 400 ~\"invalid object type: /, "
        "Kind=ConfigMap\"\n"
        "APPLY configmaps/a?fieldManager=x = -> 400 ~\"invalid object type: /, "
        "Kind=\"\n"
        "$apply {apiVersion: apps/v1, kind: Pod} -> 400 ~\"invalid object "
        "type: apps/v1, Kind=Pod\"\n"
        "$map = $apply {apiVersion: v1, kind: ConfigMap\n"
        "$map, metadata: {managedFields: []}} -> 400 ~\"metadata.managedFields "
        "must be nil\"\n"
        "$map, metadata: {name: b}} -> 400 ~the name of the object (b) does "
        "not match\n"
        "$map, metadata: {name: a, uid: u}} -> 409 ~uid mismatch: the provided "
        "object specified uid u, and no existing object was found\n"
        "$map, metadata: {name: a}, data: {a: 1}, b: 1} -> 500 ~failed to "
        "create typed patch object (/a; /v1, Kind=ConfigMap): errors:\\n  "
        ".data.a: expected string, got &value.valueUnstructured{Value:1}\\n  "
        ".b: field not declared in schema\n"
        "$map, metadata: {finalizers: [a/b, a/b]}} -> 500 "
        "~.metadata.finalizers: duplicate entries for key [=\\\"a/b\\\"]\n"
        "APPLY apps/v1/deployments/d/status?fieldManager=x {} -> 404 "
        "~NotFound\n");
}

/* An apply merges first; the merged object then does not convert, which is no
 * 400 as of other writes. */
SIM_CASE(a_value_that_does_not_convert_is_an_internal_error)
{
    sim_play(
        sim,
        "$failed = 500 ~failed to convert to unversioned: unable to convert "
        "unstructured object to\n"
        "APPLY configmaps/a?fieldManager=x {apiVersion: v1, kind: ConfigMap, "
        "binaryData: {a: 'n!t'}} -> $failed /v1, Kind=ConfigMap: illegal "
        "base64 data at input byte 1\n"
        "APPLY secrets/a?fieldManager=x {apiVersion: v1, kind: Secret, data: "
        "{a: 'n!t'}} -> $failed /v1, Kind=Secret: illegal base64 data at input "
        "byte 1\n"
        "APPLY pods/a?fieldManager=x {apiVersion: v1, kind: Pod, spec: "
        "{containers: [{name: a, image: a, resources: {requests: {cpu: "
        "lots}}}]}} -> $failed /v1, Kind=Pod: quantities must match the "
        "regular expression\n"
        "APPLY apps/v1/deployments/a?fieldManager=x {apiVersion: apps/v1, "
        "kind: Deployment, spec: {replicas: 1.5}} -> $failed apps/v1, "
        "Kind=Deployment: json: cannot unmarshal number 1.5\n"
        "POST secrets {metadata: {name: a}, data: {a: 'n!t'}} -> 400 "
        "BadRequest: Secret in version \"v1\" cannot be handled as a Secret: "
        "illegal base64 data at input byte 1\n");
}

SIM_CASE(managed_fields_that_are_null_are_none)
{
    sim_play(sim, "APPLY configmaps/a?fieldManager=x {apiVersion: v1, kind: "
                  "ConfigMap, metadata: {managedFields: null}, data: {a: '1'}} "
                  "-> 201 ~\"f:data\":{\"f:a\":{}}\n");
}
