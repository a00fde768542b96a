/*
 * sim_load_spec.c - loading of manifests: order, lists, namespaces, status,
 * identity, and errors.
 */

#include "spec_case.h"
#include "kubelua/log.h"

static void load(kl_sim *sim, const char *text)
{
    kl_error err = {0};

    if (kl_sim_load(sim, text, strlen(text), &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
}

/* Asserts that loading fails with the code, and a text in the message. */
static void expect_failure(kl_sim *sim, const char *text, kl_code expected,
                           const char *part)
{
    kl_error err;

    assert_int_equal(kl_sim_load(sim, text, strlen(text), &err), expected);
    assert_int_equal(err.code, expected);
    if (strstr(err.message, part) == NULL) {
        fail_msg("%s: %s", text, err.message);
    }
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
    load(sim, sim_json("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, "
                       "namespace: default}}"));
    sim_play(sim, "GET configmaps/a -> 200");
}

SIM_CASE(a_missing_namespace_is_made)
{
    load(sim, "apiVersion: v1\nkind: ConfigMap\n"
              "metadata: {name: a, namespace: web}\n");
    sim_play(sim, "GET /api/v1/namespaces/web/configmaps/a -> 200");
    sim_play(sim, "GET /api/v1/namespaces/web -> 200");
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
    sim_play(sim, "GET /apis/example.com/v1/foos/a -> 200");
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

RIG_CASE(loading_another_uid_deletes_and_adds_the_object)
{
    load(f->sim, "apiVersion: v1\nkind: ConfigMap\n"
                 "metadata: {name: a, uid: u-1}\n");
    rig_play(f, "WATCH configmaps?resourceVersion=4\n");
    load(f->sim, "apiVersion: v1\nkind: ConfigMap\n"
                 "metadata: {name: a, uid: u-2}\n");
    rig_play(f, "DELETED a, ADDED a | metadata.uid=u-2\n");
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

    load(sim, text);
    sim_play(sim, "GET /api/v1/namespaces/web/configmaps -> 200 "
                  "$version=metadata.resourceVersion\n");
    load(sim, text);
    sim_play(sim, "GET /api/v1/namespaces/web/configmaps -> 200 "
                  "metadata.resourceVersion=$version\n");
}

SIM_CASE(an_unknown_kind_names_the_object_and_the_remedy)
{
    static const char text[] = "apiVersion: example.com/v1\nkind: Foo\n"
                               "metadata: {name: a, namespace: web}\n";

    expect_failure(sim, text, KL_EINVAL, "Foo web/a");
    expect_failure(sim, text, KL_EINVAL, "CustomResourceDefinition");
}

SIM_CASE(the_error_for_a_wrong_version_names_the_served_one)
{
    expect_failure(sim,
                   "apiVersion: extensions/v1beta1\n"
                   "kind: Deployment\nmetadata: {name: a}\n",
                   KL_EINVAL, "it is served as apps/v1");
}

SIM_CASE(a_path_instead_of_a_manifest_is_explained)
{
    expect_failure(sim, "examples/cluster.yaml", KL_EINVAL,
                   "not the text \"examples/cluster.yaml\"");
    expect_failure(sim, "7", KL_EINVAL, "");
}

SIM_CASE(a_refused_object_is_reported_in_the_servers_words)
{
    static const char text[] = "apiVersion: v1\nkind: ConfigMap\n"
                               "metadata: {name: A_B}\n";

    expect_failure(sim, text, KL_EINVAL, "ConfigMap A_B");
    expect_failure(sim, text, KL_EINVAL, "RFC 1123");
    expect_failure(sim,
                   "apiVersion: v1\nkind: ConfigMap\n"
                   "metadata: {name: a, namespace: \"b\\\"c\"}\n",
                   KL_EINVAL, "");
    expect_failure(sim, "metadata: {name: a}\n", KL_EINVAL, "");
    expect_failure(sim, "- 1\n- 2\n", KL_EINVAL, "");
}

SIM_CASE(a_text_that_does_not_parse_names_its_line)
{
    expect_failure(sim, "apiVersion: v1\nkind: [\n", KL_EPARSE, "line");
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
