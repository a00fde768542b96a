/*
 * sim_load_spec.c - loading of manifests: order, lists, namespaces, status,
 * identity, and errors.
 */

#include "spec_case.h"
#include "kubelua/log.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static void load(kl_sim *sim, const char *text)
{
    kl_error err = {0};

    if (kl_sim_load(sim, text, strlen(text), &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
}

static kl_code load_failure(kl_sim *sim, const char *text, kl_error *err)
{
    kl_code code = kl_sim_load(sim, text, strlen(text), err);

    assert_int_not_equal(code, KL_OK);
    assert_int_equal(err->code, code);
    return code;
}

SIM_CASE(documents_and_lists_are_loaded)
{
    load(sim, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
              "apiVersion: v1\nkind: List\nitems:\n"
              "- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n"
              "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: "
              "c}}\n");
    sim_play(sim, "GET configmaps/a -> 200\n"
                  "GET secrets/b -> 200\n"
                  "GET apps/v1/deployments/c -> 200\n");
}

SIM_CASE(an_empty_text_loads_nothing)
{
    load(sim, "");
    load(sim, "---\n# nothing\n---\n");
}

SIM_CASE(json_is_loaded_too)
{
    load(sim, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
              "\"name\":\"a\",\"namespace\":\"default\"}}");
    sim_expect(sim, "GET", CONFIGMAPS "/a", NULL, 200);
}

SIM_CASE(a_missing_namespace_is_made)
{
    load(sim, "apiVersion: v1\nkind: ConfigMap\n"
              "metadata: {name: a, namespace: web}\n");
    sim_expect(sim, "GET", "/api/v1/namespaces/web/configmaps/a", NULL, 200);
    sim_expect(sim, "GET", "/api/v1/namespaces/web", NULL, 200);
}

SIM_CASE(definitions_go_first_wherever_they_stand)
{
    load(sim,
         "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a}\n---\n"
         "apiVersion: apiextensions.k8s.io/v1\n"
         "kind: CustomResourceDefinition\nmetadata: {name: foos.example.com}\n"
         "spec:\n  group: example.com\n  scope: Cluster\n"
         "  names: {plural: foos, kind: Foo}\n"
         "  versions:\n  - name: v1\n    served: true\n    storage: true\n"
         "    schema:\n      openAPIV3Schema:\n        type: object\n"
         "        x-kubernetes-preserve-unknown-fields: true\n");
    sim_expect(sim, "GET", "/apis/example.com/v1/foos/a", NULL, 200);
}

SIM_CASE(loaded_objects_keep_their_status_and_uid)
{
    static const char pod[] =
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  uid: u-1\n"
        "  resourceVersion: \"77\"\n"
        "  creationTimestamp: \"2020-01-01T00:00:00Z\"\n"
        "status: {phase: Running}\n";

    load(sim, pod);
    sim_play(sim, "GET pods/p -> 200 status.phase=Running | metadata.uid=u-1 | "
                  "metadata.creationTimestamp=2020-01-01T00:00:00Z | "
                  "metadata.resourceVersion=4\n");
}

SIM_CASE(an_existing_object_is_replaced)
{
    load(sim, "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
              "spec: {priority: 1}\nstatus: {phase: Running}\n");
    load(sim, "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
              "spec: {priority: 2}\n");
    sim_play(sim, "GET pods/p -> 200 spec.priority=2 | status.phase=Running | "
                  "metadata.generation=2\n");
}

SIM_CASE(loading_another_uid_deletes_and_adds_the_object)
{
    kl_transport *transport = kl_sim_transport(sim, NULL);
    sim_watch stream;

    load(sim, "apiVersion: v1\nkind: ConfigMap\n"
              "metadata: {name: a, uid: u-1}\n");
    sim_watch_open(&stream, transport, "",
                   CONFIGMAPS "?watch=true&resourceVersion=4");
    load(sim, "apiVersion: v1\nkind: ConfigMap\n"
              "metadata: {name: a, uid: u-2}\n");
    sim_watch_expect(&stream, "DELETED", "a");
    sim_watch_expect(&stream, "ADDED", "a");
    assert_string_equal(sim_text(stream.event, "object.metadata.uid"), "u-2");
    sim_watch_close(&stream);
    kl_transport_unref(transport);
}

SIM_CASE(loading_the_same_again_changes_nothing)
{
    static const char text[] =
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: "
        "web}\n---\n"
        "apiVersion: apiextensions.k8s.io/v1\n"
        "kind: CustomResourceDefinition\nmetadata: {name: foos.example.com}\n"
        "spec:\n  group: example.com\n  scope: Cluster\n"
        "  names: {plural: foos, kind: Foo}\n"
        "  versions:\n  - name: v1\n    served: true\n    storage: true\n"
        "    schema:\n      openAPIV3Schema:\n        type: object\n"
        "        x-kubernetes-preserve-unknown-fields: true\n";
    sim_reply reply;
    char version[64];

    load(sim, text);
    reply = sim_ask(sim, "GET", "/api/v1/namespaces/web/configmaps", NULL);
    strcpy(version, sim_text(reply.doc, "metadata.resourceVersion"));
    sim_reply_clear(&reply);
    load(sim, text);
    reply = sim_ask(sim, "GET", "/api/v1/namespaces/web/configmaps", NULL);
    assert_string_equal(sim_text(reply.doc, "metadata.resourceVersion"),
                        version);
    sim_reply_clear(&reply);
}

SIM_CASE(an_unknown_kind_names_the_object_and_the_remedy)
{
    kl_error err;

    assert_int_equal(load_failure(sim,
                                  "apiVersion: example.com/v1\nkind: Foo\n"
                                  "metadata: {name: a, namespace: web}\n",
                                  &err),
                     KL_EINVAL);
    assert_non_null(strstr(err.message, "Foo web/a"));
    assert_non_null(strstr(err.message, "CustomResourceDefinition"));
}

SIM_CASE(the_error_for_a_wrong_version_names_the_served_one)
{
    kl_error err;

    assert_int_equal(load_failure(sim,
                                  "apiVersion: extensions/v1beta1\n"
                                  "kind: Deployment\nmetadata: {name: a}\n",
                                  &err),
                     KL_EINVAL);
    assert_non_null(strstr(err.message, "it is served as apps/v1"));
}

SIM_CASE(a_path_instead_of_a_manifest_is_explained)
{
    kl_error err;

    assert_int_equal(load_failure(sim, "examples/cluster.yaml", &err),
                     KL_EINVAL);
    assert_non_null(
        strstr(err.message, "not the text \"examples/cluster.yaml\""));
    assert_int_equal(load_failure(sim, "7", &err), KL_EINVAL);
}

SIM_CASE(a_refused_object_is_reported_in_the_servers_words)
{
    kl_error err;

    assert_int_equal(load_failure(sim,
                                  "apiVersion: v1\nkind: ConfigMap\n"
                                  "metadata: {name: A_B}\n",
                                  &err),
                     KL_EINVAL);
    assert_non_null(strstr(err.message, "ConfigMap A_B"));
    assert_non_null(strstr(err.message, "RFC 1123"));
    assert_int_equal(
        load_failure(sim,
                     "apiVersion: v1\nkind: ConfigMap\n"
                     "metadata: {name: a, namespace: \"b\\\"c\"}\n",
                     &err),
        KL_EINVAL);
    assert_int_equal(load_failure(sim, "metadata: {name: a}\n", &err),
                     KL_EINVAL);
    assert_int_equal(load_failure(sim, "- 1\n- 2\n", &err), KL_EINVAL);
}

SIM_CASE(a_text_that_does_not_parse_names_its_line)
{
    kl_error err;

    assert_int_equal(load_failure(sim, "apiVersion: v1\nkind: [\n", &err),
                     KL_EPARSE);
    assert_non_null(strstr(err.message, "line"));
}

static void keep_lines(void *context, kl_log_level level, const char *message)
{
    char *lines = context;
    size_t length = strlen(lines);

    assert_int_equal(level, KL_LOG_WARN);
    snprintf(lines + length, 1000 - length, "%s\n", message);
}

/* Once, be it created or replaced. */
SIM_CASE(unknown_fields_are_logged_as_warnings)
{
    const char *manifest =
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
        "spec: {ports: [{port: 80, tragetPort: 8080}], typ: NodePort}\n";
    char lines[1000] = "";

    kl_set_log(keep_lines, lines, KL_LOG_DEBUG);
    for (int times = 1; times <= 2; times++) {
        lines[0] = '\0';
        load(sim, manifest);
        assert_string_equal(
            lines, "Service web: unknown field \"spec.ports[0].tragetPort\"\n"
                   "Service web: unknown field \"spec.typ\"\n");
    }
    kl_set_log(NULL, NULL, KL_LOG_OFF);
}
