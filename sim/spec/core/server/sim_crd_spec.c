/*
 * sim_crd_spec.c - the life of CustomResourceDefinitions, and of their objects.
 */
#include "spec_case.h"

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
