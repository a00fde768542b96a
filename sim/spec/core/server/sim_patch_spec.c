/*
 * sim_patch_spec.c - PATCH by media type, server-side apply, managers of
 * fields, and the fields of built-in kinds. Expected values are kube-
 * apiserver's answers.
 */
#include "spec_case.h"

static void add_deployment(kl_sim *sim)
{
    sim_play(sim,
             "POST apps/v1/deployments {apiVersion: apps/v1, kind: Deployment, "
             "metadata: {name: d}, spec: {selector: {matchLabels: {a: b}}, "
             "template: {metadata: {labels: {a: b}}, spec: {containers: "
             "[{name: one, image: x}, {name: two, image: 'y'}]}}}} -> 201\n");
}

SIM_CASE(strict_field_validation_reports_unknown_fields)
{
    sim_play(sim, "ADD a\n"
                  "JSONPATCH configmaps/a?fieldValidation=Strict [{op: add, "
                  "path: /data, value: {a: '2'}, nix: 1}] -> 422 ~: strict "
                  "decoding error: json patch unknown field "
                  "\\\"[0].nix\\\"\"\n"
                  "JSONPATCH configmaps/a?fieldValidation=Ignore [{op: add, "
                  "path: /data, value: {a: '2'}, nix: 1}] -> 200 "
                  "~\"data\":{\"a\":\"2\"}\n");
}

SIM_CASE(an_object_with_a_name_twice_is_refused)
{
    sim_play(sim, "ADD a\n"
                  "PATCH configmaps/a ={\"data\":{\"m\":\"1\",\"m\":\"2\"}} -> "
                  "400 ~\"error decoding patch: the simulator takes no object "
                  "with a name twice: \\\"m\\\"\"\n"
                  "POST configmaps ={\"kind\":\"ConfigMap\",\"kind\":\"x\"} -> "
                  "400 ~name twice: \\\"kind\\\"\n");
}

SIM_CASE(a_json_patch_changes_an_object)
{
    sim_play(sim, "ADD a\n"
                  "JSONPATCH configmaps/a [{op: add, path: /data, value: {'n': "
                  "'1'}}, {op: copy, from: /data/n, path: /data/m}] -> 200 "
                  "~\"data\":{\"m\":\"1\",\"n\":\"1\"}\n");
    sim_play(
        sim,
        "PATCH configmaps/a [{op: test, path: /data/n, value: '2'}] @ type "
        "application/json-patch+json; charset=utf-8 -> 422 ~\"message\":\"the "
        "server rejected our request due to an error in our request\","
        "\"reason\":\"Invalid\",\"details\":{},\"code\":422\n"
        "JSONPATCH configmaps/a {} -> 400 ~error decoding patch: json: cannot "
        "unmarshal object into Go value of type []handlers.jsonPatchOp\n"
        "JSONPATCH configmaps/a = -> 400 ~\"error decoding patch: not JSON: "
        "the "
        "text is empty\"\n"
        "JSONPATCH configmaps/b {} -> 404 ~NotFound\n");
}

SIM_CASE(a_strategic_patch_merges_containers_by_name)
{
    add_deployment(sim);
    sim_play(
        sim,
        "STRATEGIC apps/v1/deployments/d {kind: Other, spec: {template: {spec: "
        "{containers: [{name: two, image: z}]}}}} -> 200 ~\"image\":\"x\"\n"
        "STRATEGIC apps/v1/deployments/d {} -> 200 ~\"image\":\"z\"\n"
        "PATCH apps/v1/deployments/d {metadata: {labels: {l: '1'}}} -> 200 "
        "~\"labels\":{\"l\":\"1\"}\n"
        "STRATEGIC apps/v1/deployments/d {spec: {template: {spec: {containers: "
        "[{}]}}}} -> 500 ~does not contain its declared merge key: name\n"
        "STRATEGIC apps/v1/deployments/d [] -> 400 ~\"json: cannot unmarshal "
        "array into Go value of type map[string]interface {}\"\n");
}

SIM_CASE(other_patches_are_unsupported)
{
    sim_play(sim,
             "ADD a\n"
             "PATCH configmaps/a {} @ type application/json -> 415 "
             "~\"message\":\"415: Unsupported Media Type\","
             "\"reason\":\"UnsupportedMediaType\",\"details\":{},"
             "\"code\":415\n"
             "PATCH configmaps/a {} @ type application/apply-patch+cbor -> "
             "415 ~UnsupportedMediaType\n");
}

SIM_CASE(options_of_a_patch_are_checked)
{
    char line[256];

    sim_play(sim, "ADD a\n"
                  "PATCH configmaps/a?force=true {} -> 422 "
                  "~PatchOptions.meta.k8s.io \\\"\\\" is invalid: force: "
                  "Forbidden: may not be specified for non-apply patch\n");
    snprintf(line, sizeof(line),
             "PATCH configmaps/a?fieldManager=%0129d {} -> 422 ~fieldManager: "
             "Too long: may not be more than 128 bytes",
             0);
    sim_play(sim, line);
}

/* ---- Managers of fields: managedFields after writes, and server-side
 * apply. Expected values are kube-apiserver's answers. */

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
        ".data.a: expected string, got 1\\n  "
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

/* ---- Managers of fields that were not written by a plain request: by the
 * server itself, by a scale and by a write of status. Expected values are
 * kube-apiserver's answers. */

#define WORKLOAD                                                         \
    " {metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, "    \
    "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: " \
    "c, image: i}]}}}} -> 201\n"

/* Entries are sorted by the second of their write, then by manager. The clock
 * stands, so that no second begins between two writes. */
static int set_up(void **state)
{
    *state = kl_sim_new(&(kl_sim_options){.clock_stands = true}, NULL);
    return *state != NULL ? 0 : -1;
}

#define CASE(name) SPEC_CASE(name, kl_sim *sim, set_up, sim_tear_down)

CASE(a_controller_manages_the_fields_it_writes)
{
    sim_play(sim,
             "POST policy/v1/poddisruptionbudgets?fieldManager=me {metadata: "
             "{name: b}, spec: {minAvailable: 1}} -> 201\n"
             "GET policy/v1/poddisruptionbudgets/b -> 200 "
             "metadata.managedFields[1].manager=kube-controller-manager | "
             "metadata.managedFields[1].subresource=status | "
             "metadata.managedFields[2].manager=me\n"
             "POST /api/v1/namespaces {metadata: {name: new}} -> 201\n"
             "GET /api/v1/namespaces/new/configmaps/kube-root-ca.crt -> 200 "
             "metadata.managedFields[1].manager=kube-controller-manager\n");
}

CASE(fields_removed_by_the_collector_have_no_manager)
{
    sim_play(
        sim,
        "POST coordination.k8s.io/v1/leases {metadata: {name: owner}} -> 201 "
        "$uid=metadata.uid\n"
        "POST coordination.k8s.io/v1/leases?fieldManager=me {metadata: {name: "
        "a, ownerReferences: [{apiVersion: coordination.k8s.io/v1, kind: "
        "Lease, name: owner, uid: '$uid'}]}, spec: {holderIdentity: h}} -> "
        "201\n"
        "DELETE coordination.k8s.io/v1/leases/owner?propagationPolicy=Orphan "
        "-> 200\n"
        "GET coordination.k8s.io/v1/leases/a -> 200 metadata.ownerReferences= "
        "| metadata.managedFields[1].fieldsV1={'f:spec': {'f:holderIdentity': "
        "{}}}\n");
}

CASE(a_definition_has_two_managers)
{
    sim_play(
        sim,
        "POST crds "
        "{metadata: {name: as.e.com}, spec: {group: e.com, scope: Cluster, "
        "names: {plural: as, kind: A}, versions: [{name: v1, served: true, "
        "storage: true, schema: {openAPIV3Schema: {type: object}}}]}} -> 201\n"
        "GET crds/as.e.com "
        "-> 200 metadata.managedFields[1].manager=kube-apiserver | "
        "metadata.managedFields[1].subresource=status | "
        "metadata.managedFields[2].fieldsV1={'f:spec': {'f:conversion': {'.': "
        "{}, 'f:strategy': {}}, 'f:group': {}, 'f:names': {'f:kind': {}, "
        "'f:listKind': {}, 'f:plural': {}, 'f:singular': {}}, 'f:scope': {}, "
        "'f:versions': {}}}\n");
}

CASE(a_write_of_status_keeps_spec_and_owners)
{
    sim_play(
        sim,
        "POST pods {metadata: {name: p, labels: {a: '1'}}, spec: {containers: "
        "[{name: c, image: i}]}} -> 201\n"
        "PATCH pods/p/status {metadata: {labels: {a: '2'}, ownerReferences: "
        "[{apiVersion: v1, kind: Pod, name: o, uid: u}]}, spec: {nodeName: "
        "'n'}, status: {podIP: '10.0.0.1'}} -> 200\n"
        "GET pods/p -> 200 metadata.labels.a=2 | metadata.ownerReferences= | "
        "spec.nodeName= | status.podIPs=[{ip: '10.0.0.1'}]\n");
    sim_play(sim,
             "POST apps/v1/deployments" WORKLOAD
             "PATCH apps/v1/deployments/a/status {metadata: {labels: {a: '2'}, "
             "annotations: {a: '2'}}, status: {replicas: 1}} -> 200\n"
             "GET apps/v1/deployments/a -> 200 metadata.labels= | "
             "metadata.annotations.a=2\n");
}

CASE(the_writer_of_a_scale_manages_the_replicas)
{
    sim_play(
        sim,
        "POST apps/v1/deployments?fieldManager=me" WORKLOAD
        "APPLY apps/v1/deployments/a/scale?fieldManager=hpa {apiVersion: "
        "autoscaling/v1, kind: Scale, metadata: {name: a}, spec: {replicas: "
        "3}} -> 415\n"
        "PATCH apps/v1/deployments/a/scale?fieldManager=hpa {spec: {replicas: "
        "3}} -> 200\n"
        "GET apps/v1/deployments/a -> 200 spec.replicas=3 | "
        "metadata.managedFields[1].manager=hpa | "
        "metadata.managedFields[1].operation=Update | "
        "metadata.managedFields[1].apiVersion=apps/v1 | "
        "metadata.managedFields[1].subresource=scale | "
        "metadata.managedFields[1].time= | "
        "metadata.managedFields[1].fieldsV1={'f:spec': {'f:replicas': {}}}\n");
    /* The object's owner cannot take it back unasked. */
    sim_play(
        sim,
        "APPLY apps/v1/deployments/a?fieldManager=ssa {apiVersion: apps/v1, "
        "kind: Deployment, metadata: {name: a}, spec: {replicas: 1}} -> 409\n");
}

CASE(a_put_creates_no_object)
{
    sim_play(
        sim,
        "PUT coordination.k8s.io/v1/leases/l {metadata: {name: l}} -> 404\n"
        "POST coordination.k8s.io/v1/leases {metadata: {name: l}} -> 201\n"
        "PUT coordination.k8s.io/v1/leases/l {metadata: {name: l}} -> 422 "
        "Invalid: leases.coordination.k8s.io \"l\" is invalid: "
        "metadata.resourceVersion: Invalid value: 0: must be specified for an "
        "update\n"
        "PATCH coordination.k8s.io/v1/leases/none {} -> 404\n");
}

/* ---- Writes of built-in kinds: invalid fields are refused or warned of,
 * defaults are set, and a kind with two versions is one object in both. */

#define POD(more) \
    "{metadata: {name: p}, spec: {containers: [{name: c, image: i}]" more "}}"

SIM_CASE(a_wrong_type_is_refused)
{
    sim_play(sim, "POST pods " POD(
                      ", priority: '1'") " -> 400 BadRequest: Pod in "
                                         "version \"v1\" cannot be handled as "
                                         "a Pod: json: cannot unmarshal "
                                         "string into Go struct field "
                                         "PodSpec.spec.priority of type "
                                         "int32\n");
}

SIM_CASE(an_unknown_field_is_refused_dropped_or_warned_of)
{
    sim_play(sim,
             "$pod = " POD(
                 ", foo: 1") "\n"
                             "POST pods?fieldValidation=Strict $pod -> 400 "
                             "BadRequest: Pod in "
                             "version \"v1\" cannot be handled as a Pod: "
                             "strict decoding error: "
                             "unknown field \"spec.foo\"\n"
                             "POST pods?fieldValidation=x $pod -> 422 Invalid: "
                             "CreateOptions.meta.k8s.io \"\" is invalid: "
                             "fieldValidation: "
                             "Unsupported value: \"x\": supported values: "
                             "\"\", \"Ignore\", "
                             "\"Strict\", \"Warn\"\n"
                             "POST pods?fieldValidation=Ignore $pod -> 201\n"
                             "GET pods/p -> 200 spec.foo=\n"
                             "DELETE pods/p -> 200\n"
                             "POST pods $pod -> 201\n");
}

SIM_CASE(a_new_object_gets_its_defaults)
{
    sim_play(sim, "POST pods " POD(
                      "") " -> 201\n"
                          "GET pods/p -> 200 spec.restartPolicy=Always | "
                          "spec.containers[1].imagePullPolicy=Always | "
                          "spec.containers[1].resources={}\n");
}
