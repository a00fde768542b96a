/*
 * sim_patch_spec.c - PATCH by media type: which types are taken, what each does
 * to an object, and the refusals.
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
        "[{}]}}}} -> 500 ~\"message\":\"map: map[] does not contain declared "
        "merge key: name\",\"code\":500\n"
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
