/*
 * sim_discovery_spec.c - discovery, and CustomResourceDefinitions, which are
 * served at once and deleted with their objects.
 */
#include "spec_case.h"

/* Anything goes, but the field to select by is known. */
#define SCHEMA                                                            \
    "schema: {openAPIV3Schema: {type: object, properties: {spec: {type: " \
    "object, properties: {color: {type: string}}, "                       \
    "x-kubernetes-preserve-unknown-fields: true}}, "                      \
    "x-kubernetes-preserve-unknown-fields: true}}"
#define DEFINE                                                                 \
    "POST crds {apiVersion: apiextensions.k8s.io/v1, kind: "                   \
    "CustomResourceDefinition, metadata: {name: foos.example.com}, spec: "     \
    "{group: example.com, names: {plural: foos, kind: Foo, shortNames: [fo], " \
    "categories: [all]}, scope: Namespaced, versions: [{name: v1beta1, "       \
    "served: true, storage: false, " SCHEMA                                    \
    "}, {name: v1, served: true, storage: true, " SCHEMA                       \
    ", subresources: {status: {}}, selectableFields: [{jsonPath: "             \
    ".spec.color}]}, {name: v0, served: false, storage: false, " SCHEMA        \
    "}]}} -> 201"
#define ADD_FOO(name, spec)                                             \
    "POST example.com/v1/foos {apiVersion: example.com/v1, kind: Foo, " \
    "metadata: {name: " name "}, spec: " spec "} -> 201\n"
#define FOO_A DEFINE "\n" ADD_FOO("a", "{}")

/* The element of a document's array that has this member, as JSON. */
static const kl_value *with(const kl_value *array, const char *member,
                            const char *text)
{
    for (size_t i = 0; i < kl_value_size(array); i++) {
        const kl_value *element = kl_value_at(array, i);
        const char *found =
            kl_value_string(kl_value_get(element, member), NULL);

        if (found != NULL && strcmp(found, text) == 0) {
            return element;
        }
    }
    fail_msg("nothing with %s %s", member, text);
    return NULL;
}

SIM_CASE(the_roots_name_versions_and_groups)
{
    sim_reply reply = sim_ask(sim, "GET", "/apis", NULL);
    const kl_value *group = with(kl_value_get(kl_doc_root(reply.doc), "groups"),
                                 "name", "autoscaling");

    assert_string_equal(
        kl_value_string(kl_value_get(kl_value_get(group, "preferredVersion"),
                                     "groupVersion"),
                        NULL),
        "autoscaling/v2");
    sim_reply_clear(&reply);
    sim_play(sim, "GET /api -> 200 kind=APIVersions | versions=[v1]\n"
                  "GET /apis -> 200 kind=APIGroupList\n"
                  "GET /apis/apps -> 200\n"
                  "GET /apis/none -> 404\n"
                  "GET /apis/apps/v7 -> 404\n"
                  "POST /apis/apps/v1 {} -> 405\n");
}

SIM_CASE(a_version_lists_its_resources)
{
    sim_reply reply = sim_ask(sim, "GET", "/apis/apps/v1", NULL);
    const kl_value *resources =
        kl_value_get(kl_doc_root(reply.doc), "resources");
    const kl_value *deployments = with(resources, "name", "deployments");
    char *json = kl_value_json(deployments, NULL, NULL);

    assert_string_equal(
        json, "{\"name\":\"deployments\",\"singularName\":\"deployment\","
              "\"namespaced\":true,\"kind\":\"Deployment\",\"verbs\":["
              "\"create\",\"delete\",\"deletecollection\",\"get\",\"list\","
              "\"patch\",\"update\",\"watch\"],\"shortNames\":[\"deploy\"],"
              "\"categories\":[\"all\"]}");
    kl_free(json);
    json =
        kl_value_json(with(resources, "name", "deployments/scale"), NULL, NULL);
    assert_string_equal(json,
                        "{\"name\":\"deployments/scale\",\"singularName\":\"\","
                        "\"namespaced\":true,\"group\":\"autoscaling\","
                        "\"version\":\"v1\",\"kind\":\"Scale\",\"verbs\":["
                        "\"get\",\"patch\",\"update\"]}");
    kl_free(json);
    with(resources, "name", "deployments/status");
    sim_reply_clear(&reply);
}

SIM_CASE(aggregated_discovery_has_the_same_resources)
{
    const kl_call call = {.method = "GET",
                          .target = "/apis",
                          .accept =
                              "application/json;g=apidiscovery.k8s.io;v=v2;as="
                              "APIGroupDiscoveryList,application/json"};
    kl_reply raw;
    kl_doc *doc;
    const kl_value *group, *version, *resource;

    assert_int_equal(kl_sim_call(sim, &call, &raw, NULL), KL_OK);
    assert_string_equal(raw.content_type,
                        "application/json;g=apidiscovery.k8s.io;v=v2;as="
                        "APIGroupDiscoveryList");
    doc = kl_doc_parse(raw.body, raw.body_length, NULL);
    assert_string_equal(sim_text(doc, "kind"), "APIGroupDiscoveryList");
    assert_string_equal(sim_text(doc, "apiVersion"), "apidiscovery.k8s.io/v2");
    group = kl_value_at(kl_value_get(kl_doc_root(doc), "items"), 1);
    version = with(kl_value_get(group, "versions"), "version", "v1");
    resource =
        with(kl_value_get(version, "resources"), "resource", "deployments");
    assert_string_equal(kl_value_string(kl_value_get(resource, "scope"), NULL),
                        "Namespaced");
    assert_string_equal(
        kl_value_string(kl_value_get(resource, "singularResource"), NULL),
        "deployment");
    assert_int_equal(kl_value_size(kl_value_get(resource, "subresources")), 2);
    kl_doc_unref(doc);
    kl_reply_clear(&raw);
}

SIM_CASE(health_and_version_are_served)
{
    sim_play(sim, "GET /version -> 200 minor=36\n"
                  "GET /healthz -> 200\n"
                  "GET /livez -> 200\n"
                  "GET /readyz -> 200 body=ok\n"
                  "GET /nothing -> 404 type=text/plain; charset=utf-8\n");
}

SIM_CASE(a_definition_is_completed_and_served_at_once)
{
    sim_play(sim,
             DEFINE " spec.names.listKind=FooList | spec.names.singular=foo | "
                    "status.storedVersions=[v1] | status.conditions=\n"
                    "GET crds/foos.example.com -> 200 "
                    "status.conditions[2].type=Established | "
                    "status.conditions[2].status=True\n"
                    "GET /apis/example.com -> 200 versions[*].version=v1 | "
                    "versions[2].version=v1beta1 | versions[3]=\n"
                    "GET /apis/example.com/v0/foos -> 404\n"
                    "GET example.com/v1/foos -> 200\n");
}

SIM_CASE(custom_objects_have_sorted_members_and_types_in_lists)
{
    sim_play(
        sim,
        DEFINE "\n" ADD_FOO(
            "a",
            "{z: 1, b: {'y': 2, c: 3}}") "GET example.com/v1/foos -> 200 "
                                         "^{\"apiVersion\":"
                                         "\"example.com/"
                                         "v1\",\"items\":[{\"apiVersion\":"
                                         "\"example.com/"
                                         "v1\",\"kind\":\"Foo\",\"metadata\":{"
                                         "\"creationTimestamp\": | "
                                         "~\"spec\":{\"b\":{\"c\":3,\"y\":2},"
                                         "\"z\":1}}],\"kind\":\"FooList\","
                                         "\"metadata\":{\"continue\":"
                                         "\"\",\"resourceVersion\":\"7\"}}\n");
}

SIM_CASE(custom_objects_are_shown_in_every_served_version)
{
    sim_play(sim, FOO_A "GET example.com/v1beta1/foos/a -> 200 "
                        "apiVersion=example.com/v1beta1\n");
}

SIM_CASE(custom_objects_follow_their_own_rules)
{
    sim_play(
        sim,
        DEFINE "\n" ADD_FOO("a", "{color: red}") ADD_FOO(
            "b",
            "{}") "PUT example.com/v1/foos/a {apiVersion: example.com/v1, "
                  "kind: "
                  "Foo, metadata: {name: a}} -> 422 Invalid: foos.example.com "
                  "\"a\" "
                  "is invalid: metadata.resourceVersion: Invalid value: 0: "
                  "must be "
                  "specified for an update\n"
                  "GET example.com/v1/foos/none -> 404 NotFound: "
                  "foos.example.com "
                  "\"none\" not found\n"
                  "POST example.com/v1/foos {metadata: {name: z}} -> 400\n"
                  "POST example.com/v1/foos {apiVersion: example.com/v1beta1, "
                  "kind: "
                  "Foo, metadata: {name: z}} -> 400\n"
                  "GET "
                  "/apis/example.com/v1/foos?fieldSelector=spec.color%3Dred -> "
                  "200 items[*].metadata.name=a | items[2]=\n"
                  "PATCH example.com/v1/foos/a/status {metadata: {labels: {x: "
                  "'y'}}, spec: null, status: {s: 1}} -> 200 status.s=1 | "
                  "spec.color=red | metadata.labels= | "
                  "metadata.generation=1\n");
}

RIG_CASE(deleting_a_definition_deletes_its_objects)
{
    rig_play(f, FOO_A "WATCH /apis/example.com/v1/foos\n"
                      "ADDED a\n"
                      "DELETE crds/foos.example.com -> 200\n"
                      "DELETED a, END\n"
                      "GET example.com/v1/foos -> 404\n"
                      "GET /apis/example.com -> 404\n" DEFINE
                      "\nGET example.com/v1/foos/a -> 404\n");
}

SIM_CASE(a_changed_definition_is_served_as_it_is_now)
{
    sim_play(sim,
             FOO_A "PATCH crds/foos.example.com {spec: {versions: [{name: v1, "
                   "served: true, storage: true, " SCHEMA
                   "}, {name: v2, served: true, storage: false, " SCHEMA
                   "}]}} -> 200\n"
                   "GET /apis/example.com/v2/foos -> 200\n"
                   "GET /apis/example.com/v1beta1/foos -> 404\n"
                   "GET example.com/v1/foos/a -> 200\n");
}

SIM_CASE(a_definition_that_cannot_be_served_is_invalid)
{
    sim_play(
        sim,
        "POST crds "
        "{metadata: {name: bad}, spec: {}} -> 422\n"
        "POST crds "
        "{metadata: {name: bad}, spec: [], status: 7} -> 400\n"
        "POST crds "
        "{metadata: {name: x.y.z}, spec: {group: y.z, scope: Cluster, names: "
        "{plural: x, kind: X}, versions: [{name: v1, served: true, storage: "
        "true, selectableFields: [{jsonPath: '.['}]}]}} -> 422\n");
}
