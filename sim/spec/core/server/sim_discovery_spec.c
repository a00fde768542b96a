/*
 * sim_discovery_spec.c - discovery and OpenAPI, also of
 * CustomResourceDefinitions, which are served at once and deleted with their
 * objects.
 */
#include "spec_case.h"

#include "failing_alloc.h"

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
