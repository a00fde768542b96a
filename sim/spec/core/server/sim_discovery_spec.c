/*
 * sim_discovery_spec.c - discovery, and CustomResourceDefinitions, which are
 * served at once and deleted with their objects.
 */
#include "spec_case.h"

#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/* Anything goes, but the field to select by is known. */
#define SCHEMA                                                              \
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{" \
    "\"spec\":{\"type\":\"object\",\"properties\":{\"color\":{\"type\":"    \
    "\"string\"}},\"x-kubernetes-preserve-unknown-fields\":true}},"         \
    "\"x-kubernetes-preserve-unknown-fields\":true}}"

static const char definition[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
    "\"CustomResourceDefinition\",\"metadata\":{\"name\":\"foos.example.com\"},"
    "\"spec\":{\"group\":\"example.com\",\"names\":{\"plural\":\"foos\","
    "\"kind\":\"Foo\",\"shortNames\":[\"fo\"],\"categories\":[\"all\"]},"
    "\"scope\":\"Namespaced\",\"versions\":["
    "{\"name\":\"v1beta1\",\"served\":true,\"storage\":false," SCHEMA "},"
    "{\"name\":\"v1\",\"served\":true,\"storage\":true," SCHEMA
    ",\"subresources\":{"
    "\"status\":{}},\"selectableFields\":[{\"jsonPath\":\".spec.color\"}]},"
    "{\"name\":\"v0\",\"served\":false,\"storage\":false," SCHEMA "}]}}";

static const char foos[] = "/apis/example.com/v1/namespaces/default/foos";

static void define(kl_sim *sim)
{
    sim_expect(sim, "POST", DEFINITIONS, definition, 201);
}

static void add_foo(kl_sim *sim, const char *name, const char *spec)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":"
             "{\"name\":\"%s\"},\"spec\":%s}",
             name, spec);
    sim_expect(sim, "POST", foos, body, 201);
}

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
    sim_reply reply = sim_ask(sim, "GET", "/api", NULL);
    const kl_value *group;

    assert_string_equal(sim_text(reply.doc, "kind"), "APIVersions");
    assert_string_equal(sim_text(reply.doc, "versions"), "[\"v1\"]");
    sim_reply_clear(&reply);
    reply = sim_ask(sim, "GET", "/apis", NULL);
    assert_string_equal(sim_text(reply.doc, "kind"), "APIGroupList");
    group = with(kl_value_get(kl_doc_root(reply.doc), "groups"), "name",
                 "autoscaling");
    assert_string_equal(
        kl_value_string(kl_value_get(kl_value_get(group, "preferredVersion"),
                                     "groupVersion"),
                        NULL),
        "autoscaling/v2");
    sim_reply_clear(&reply);
    sim_play(sim, "GET /apis/apps -> 200\n"
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
              "\"categories\":[\"all\"],"
              "\"storageVersionHash\":\"8aSe+NMegvE=\"}");
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
                  "GET /readyz -> 200 ~ok\n"
                  "GET /nothing -> 404 type=text/plain; charset=utf-8\n");
}

SIM_CASE(a_definition_is_completed_and_served_at_once)
{
    sim_reply reply = sim_ask(sim, "POST", DEFINITIONS, definition);

    assert_int_equal(reply.status, 201);
    assert_string_equal(sim_text(reply.doc, "spec.names.listKind"), "FooList");
    assert_string_equal(sim_text(reply.doc, "spec.names.singular"), "foo");
    assert_string_equal(sim_text(reply.doc, "status.storedVersions"),
                        "[\"v1\"]");
    assert_string_equal(sim_text(reply.doc, "status.conditions"), "");
    sim_reply_clear(&reply);
    sim_play(sim,
             "GET "
             "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
             "foos.example.com -> 200 status.conditions[2].type=Established "
             "| status.conditions[2].status=True\n"
             "GET /apis/example.com -> 200 versions[*].version=v1 | "
             "versions[2].version=v1beta1 | versions[3]=\n"
             "GET /apis/example.com/v0/foos -> 404\n"
             "GET example.com/v1/foos -> 200\n");
}

SIM_CASE(custom_objects_have_sorted_members_and_types_in_lists)
{
    static const char begins[] =
        "{\"apiVersion\":\"example.com/v1\",\"items\":[{\"apiVersion\":"
        "\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{"
        "\"creationTimestamp\":";
    sim_reply reply;

    define(sim);
    add_foo(sim, "a", "{\"z\":1,\"b\":{\"y\":2,\"c\":3}}");
    reply = sim_ask(sim, "GET", foos, NULL);
    assert_memory_equal(reply.raw.body, begins, sizeof(begins) - 1);
    assert_non_null(strstr(reply.raw.body,
                           "\"spec\":{\"b\":{\"c\":3,\"y\":2},\"z\":1}}],"
                           "\"kind\":\"FooList\",\"metadata\":{\"continue\":"
                           "\"\",\"resourceVersion\":\"7\"}}"));
    sim_reply_clear(&reply);
}

SIM_CASE(custom_objects_are_shown_in_every_served_version)
{
    define(sim);
    add_foo(sim, "a", "{}");
    sim_play(sim, "GET example.com/v1beta1/foos/a -> 200 "
                  "apiVersion=example.com/v1beta1\n");
}

SIM_CASE(custom_objects_follow_their_own_rules)
{
    define(sim);
    add_foo(sim, "a", "{\"color\":\"red\"}");
    add_foo(sim, "b", "{}");
    sim_play(sim,
             "PUT example.com/v1/foos/a {apiVersion: example.com/v1, kind: "
             "Foo, metadata: {name: a}} -> 422 Invalid: foos.example.com \"a\" "
             "is invalid: metadata.resourceVersion: Invalid value: 0: must be "
             "specified for an update\n"
             "GET example.com/v1/foos/none -> 404 NotFound: foos.example.com "
             "\"none\" not found\n"
             "POST example.com/v1/foos {metadata: {name: z}} -> 400\n"
             "POST example.com/v1/foos {apiVersion: example.com/v1beta1, kind: "
             "Foo, metadata: {name: z}} -> 400\n"
             "GET /apis/example.com/v1/foos?fieldSelector=spec.color%3Dred -> "
             "200 items[*].metadata.name=a | items[2]=\n"
             "PATCH example.com/v1/foos/a/status {metadata: {labels: {x: "
             "'y'}}, spec: null, status: {s: 1}} -> 200 status.s=1 | "
             "spec.color=red | metadata.labels= | metadata.generation=1\n");
}

SIM_CASE(deleting_a_definition_deletes_its_objects)
{
    kl_transport *transport = kl_sim_transport(sim, NULL);
    sim_watch stream;

    define(sim);
    add_foo(sim, "a", "{}");
    sim_watch_open(&stream, transport, "",
                   "/apis/example.com/v1/foos?watch=true");
    sim_watch_expect(&stream, "ADDED", "a");
    sim_expect(sim, "DELETE", DEFINITIONS "/foos.example.com", NULL, 200);
    sim_watch_expect(&stream, "DELETED", "a");
    assert_string_equal(sim_watch_next(&stream), "");
    sim_watch_close(&stream);
    kl_transport_unref(transport);
    sim_expect(sim, "GET", foos, NULL, 404);
    sim_expect(sim, "GET", "/apis/example.com", NULL, 404);
    define(sim);
    sim_play(sim, "GET example.com/v1/foos/a -> 404\n");
}

SIM_CASE(a_changed_definition_is_served_as_it_is_now)
{
    define(sim);
    add_foo(sim, "a", "{}");
    sim_expect(sim, "PATCH", DEFINITIONS "/foos.example.com",
               "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,"
               "\"storage\":true," SCHEMA
               "},{\"name\":\"v2\",\"served\":true,\"storage\":false," SCHEMA
               "}]}}",
               200);
    sim_play(sim, "GET /apis/example.com/v2/foos -> 200\n"
                  "GET /apis/example.com/v1beta1/foos -> 404\n"
                  "GET example.com/v1/foos/a -> 200\n");
}

SIM_CASE(a_definition_that_cannot_be_served_is_invalid)
{
    sim_play(
        sim,
        "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions "
        "{metadata: {name: bad}, spec: {}} -> 422\n"
        "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions "
        "{metadata: {name: bad}, spec: [], status: 7} -> 400\n"
        "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions "
        "{metadata: {name: x.y.z}, spec: {group: y.z, scope: Cluster, names: "
        "{plural: x, kind: X}, versions: [{name: v1, served: true, storage: "
        "true, selectableFields: [{jsonPath: '.['}]}]}} -> 422\n");
}
