/*
 * sim_delete_spec.c - deletion: at once, kept by finalizers, or of a namespace
 * with its objects.
 */
#include "spec_case.h"

SIM_CASE(a_deleted_object_is_gone)
{
    sim_play(sim,
             "ADD a\n"
             "DELETE configmaps/a -> 200 status=Success | details.name=a\n"
             "GET configmaps/a -> 404 NotFound: configmaps \"a\" not found\n"
             "DELETE configmaps/a -> 404\n");
}

SIM_CASE(a_delete_keeps_to_its_preconditions)
{
    sim_play(
        sim,
        "ADD a\n"
        "DELETE configmaps/a {preconditions: {uid: x}} -> 409\n"
        "DELETE configmaps/a {preconditions: {resourceVersion: '1'}} -> 409\n"
        "DELETE configmaps/a ={\"preconditions\": -> 400\n"
        "GET configmaps/a -> 200\n");
}

SIM_CASE(finalizers_keep_an_object_until_they_are_gone)
{
    sim_play(
        sim,
        "POST configmaps {metadata: {name: a, finalizers: [x.y/z]}} -> 201\n"
        "DELETE configmaps/a -> 200 metadata.deletionTimestamp!=\n"
        "DELETE configmaps/a -> 200\n"
        "GET configmaps/a -> 200\n"
        "PATCH configmaps/a {metadata: {finalizers: [new.y/z]}} -> 422\n"
        "PATCH configmaps/a {metadata: {finalizers: null}} -> 200\n"
        "GET configmaps/a -> 404\n");
}

SIM_CASE(a_collection_is_deleted_by_its_labels)
{
    sim_play(sim, "ADD a b\n"
                  "PATCH configmaps/b {metadata: {labels: {x: 'y'}}} -> 200\n"
                  "DELETE configmaps?labelSelector=x -> 200 "
                  "items[1].metadata.name=b | items[2]=\n"
                  "GET configmaps/a -> 200\n"
                  "GET configmaps/b -> 404\n"
                  "DELETE /api/v1/namespaces -> 405\n");
}

SIM_CASE(a_dry_run_changes_nothing)
{
    sim_play(sim, "POST configmaps?dryRun=All {metadata: {name: a}} -> 201\n"
                  "GET configmaps/a -> 404\n"
                  "ADD b\n"
                  "DELETE configmaps/b?dryRun=All -> 200\n"
                  "GET configmaps/b -> 200\n"
                  "DELETE configmaps/b?dryRun=Some -> 422\n"
                  "POST configmaps?dryRun=Some {metadata: {name: a}} -> 422\n");
}

SIM_CASE(deleting_a_namespace_deletes_its_objects)
{
    sim_play(
        sim,
        "POST /api/v1/namespaces {metadata: {name: 'n'}} -> 201\n"
        "POST /api/v1/namespaces/n/configmaps {metadata: {name: a}} -> 201\n"
        "POST /api/v1/namespaces/n/configmaps {metadata: {name: b, finalizers: "
        "[x.y/z]}} -> 201\n"
        "DELETE /api/v1/namespaces/n -> 200 status.phase=Terminating\n"
        "GET /api/v1/namespaces/n/configmaps/a -> 404\n"
        "POST /api/v1/namespaces/n/configmaps {metadata: {name: c}} -> 403 "
        "Forbidden: configmaps \"c\" is forbidden: unable to create new "
        "content in namespace n because it is being terminated\n"
        "PATCH /api/v1/namespaces/n/configmaps/b {metadata: {finalizers: "
        "null}} -> 200\n"
        "GET /api/v1/namespaces/n -> 404\n"
        "DELETE /api/v1/namespaces/default -> 403 Forbidden: namespaces "
        "\"default\" is forbidden: this namespace may not be deleted\n");
}
