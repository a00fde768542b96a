/*
 * sim_discovery_spec.c - discovery and OpenAPI, also of
 * CustomResourceDefinitions, which are served at once and deleted with their
 * objects.
 */
#include "spec_case.h"

#include "failing_alloc.h"

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

/* ---- OpenAPI: the index, the documents, and that every reference in them
 * has a target. */

static sim_reply get(kl_sim *sim, const char *target)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_int_equal(reply.status, 200);
    assert_non_null(reply.doc);
    return reply;
}

/* Asserts the JSON at a path whose names have dots: two of them, then one. */
static void expect_at(const sim_reply *reply, const char *type,
                      const char *path, const char *wanted)
{
    char whole[512];

    snprintf(whole, sizeof(whole), "components.schemas[\"%s\"]%s%s", type,
             *path != '\0' ? "." : "", path);
    assert_string_equal(sim_text(reply->doc, whole), wanted);
}

SIM_CASE(the_index_leads_to_every_group_and_version)
{
    sim_reply reply = get(sim, "/openapi/v3");
    const kl_value *paths = kl_value_get(kl_doc_root(reply.doc), "paths");
    kl_value_iter iter = {0};
    const kl_value *path, *name;
    size_t count = 0;

    while ((path = kl_value_next(paths, &iter, &name)) != NULL) {
        const char *url =
            kl_value_string(kl_value_get(path, "serverRelativeURL"), NULL);
        sim_reply one;

        assert_non_null(strstr(url, kl_value_string(name, NULL)));
        assert_non_null(strstr(url, "?hash="));
        one = get(sim, url);
        assert_string_equal(sim_text(one.doc, "openapi"), "3.0.0");
        sim_reply_clear(&one);
        count++;
    }
    assert_true(count > 15);
    sim_reply_clear(&reply);
    sim_expect(sim, "GET", "/openapi/v3/apis/nope/v1", NULL, 404);
    sim_expect(sim, "GET", "/openapi/v4", NULL, 404);
}

/* Goes through a document and asserts that what is referred to is in it. */
static void check_references(const kl_value *schemas, const kl_value *value)
{
    static const char prefix[] = "#/components/schemas/";
    const char *ref = kl_value_string(kl_value_get(value, "$ref"), NULL);
    kl_value_iter iter = {0};
    const kl_value *inner;

    if (ref != NULL) {
        assert_memory_equal(ref, prefix, sizeof(prefix) - 1);
        assert_non_null(kl_value_get(schemas, ref + sizeof(prefix) - 1));
    }
    while ((inner = kl_value_next(value, &iter, NULL)) != NULL) {
        check_references(schemas, inner);
    }
}

SIM_CASE(every_reference_of_openapi_has_a_target)
{
    static const char *const targets[] = {
        "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1",
        "/openapi/v3/apis/apiextensions.k8s.io/v1"};

    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        sim_reply reply = get(sim, targets[i]);
        const kl_value *root = kl_doc_root(reply.doc);

        check_references(
            kl_value_get(kl_value_get(root, "components"), "schemas"), root);
        sim_reply_clear(&reply);
    }
}

SIM_CASE(a_type_has_fields_keys_and_its_kind)
{
    sim_reply reply = get(sim, "/openapi/v3/apis/apps/v1");

    expect_at(&reply, "io.k8s.api.apps.v1.Deployment",
              "x-kubernetes-group-version-kind[1].kind", "Deployment");
    expect_at(&reply, "io.k8s.api.apps.v1.DeploymentSpec", "required[2]",
              "template");
    expect_at(&reply, "io.k8s.api.apps.v1.DeploymentSpec",
              "properties.strategy.x-kubernetes-patch-strategy", "retainKeys");
    expect_at(&reply, "io.k8s.api.core.v1.PodSpec",
              "properties.containers.x-kubernetes-patch-merge-key", "name");
    expect_at(&reply, "io.k8s.api.core.v1.Container",
              "properties.ports.x-kubernetes-list-map-keys",
              "[\"containerPort\",\"protocol\"]");
    expect_at(&reply, "io.k8s.api.core.v1.PodSpec",
              "properties.restartPolicy.enum",
              "[\"Always\",\"Never\",\"OnFailure\"]");
    expect_at(&reply, "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
              "properties.accessModes.items.enum[2]", "ReadWriteMany");
    expect_at(&reply, "io.k8s.apimachinery.pkg.apis.meta.v1.Time", "",
              "{\"type\":\"string\",\"format\":\"date-time\"}");
    expect_at(&reply, "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
              "x-kubernetes-map-type", "atomic");
    sim_reply_clear(&reply);
}

SIM_CASE(paths_tell_actions_and_parameters)
{
    sim_play(sim, "GET /openapi/v3/api/v1 -> 200 "
                  "paths[\"/api/v1/namespaces/{namespace}/pods/{name}\"].patch."
                  "parameters[3].name=fieldValidation | "
                  "paths[\"/api/v1/pods\"].get.x-kubernetes-action=list | "
                  "paths[\"/api/v1/pods\"].post=\n");
}

SIM_CASE(a_new_definition_is_in_openapi_at_once)
{
    sim_reply reply;

    sim_play(sim,
             "GET /openapi/v3/apis/example.com/v1 -> 404\n"
             "POST crds {metadata: {name: foos.example.com}, spec: {group: "
             "example.com, names: {plural: foos, kind: Foo}, scope: "
             "Namespaced, versions: [{name: v1, served: true, storage: true, "
             "schema: {openAPIV3Schema: {type: object, properties: {spec: "
             "{type: object, description: it}}}}}]}} -> 201\n"
             "GET /openapi/v3/apis/example.com/v1 -> 200 "
             "components.schemas[\"com.example.v1.Foo\"].properties.spec."
             "description=it | components.schemas[\"com.example.v1.Foo\"]."
             "x-kubernetes-group-version-kind[1].group=example.com | "
             "components.schemas[\"com.example.v1.FooList\"].required[1]="
             "items\n");
    reply = get(sim, "/openapi/v3/apis/example.com/v1");
    check_references(
        kl_value_get(kl_value_get(kl_doc_root(reply.doc), "components"),
                     "schemas"),
        kl_doc_root(reply.doc));
    sim_reply_clear(&reply);
}

SIM_CASE(openapi_v2_has_all_groups_in_one_document)
{
    sim_play(sim, "GET /openapi/v2 -> 200 swagger=2.0 | "
                  "definitions[\"io.k8s.api.core.v1.Pod\"].properties.spec["
                  "\"$ref\"]=#/definitions/io.k8s.api.core.v1.PodSpec\n");
}

static kl_code ask(void *context)
{
    const kl_call call = {.method = "GET",
                          .target = "/openapi/v3/apis/coordination.k8s.io/v1"};
    kl_error err = {0};
    kl_reply reply;
    kl_code code = kl_sim_call(context, &call, &reply, &err);

    kl_reply_clear(&reply);
    return code;
}

SIM_CASE(a_document_can_run_out_of_memory)
{
    failing_alloc_each(ask, sim);
}
