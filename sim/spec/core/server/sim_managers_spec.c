/*
 * sim_managers_spec.c - managers of fields that were not written by a plain
 * request: by the server itself, by a scale and by a write of status. Expected
 * values are kube-apiserver's answers.
 */
#include "spec_case.h"

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
