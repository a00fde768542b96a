/*
 * sim_load_spec.c - a cluster is filled: manifests (order, lists, namespaces,
 * status, identity, errors), recorded objects of another server, snapshots.
 */
#include "spec_case.h"

#include "fault_rig.h"
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

/* ---- Recorded objects of another server: their versions, and the events
 * that watches get. */

static kl_code replay(kl_sim *sim, kl_sim_change change, const char *version,
                      const char *value, kl_error *err)
{
    char yaml[512];
    const char *json;

    snprintf(yaml, sizeof(yaml),
             "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "
             "default, uid: u-1, resourceVersion: '%s', creationTimestamp: "
             "'2020-01-01T00:00:00Z'}, data: {v: '%s'}}",
             version, value);
    json = sim_json(yaml);
    return kl_sim_replay(sim, change, json, strlen(json), err);
}

SIM_CASE(a_replayed_object_keeps_uid_version_and_time)
{
    assert_int_equal(replay(sim, KL_SIM_PUT, "5000", "1", NULL), KL_OK);
    sim_play(sim, "GET configmaps/a -> 200 metadata.uid=u-1 | "
                  "metadata.resourceVersion=5000 | "
                  "metadata.creationTimestamp=2020-01-01T00:00:00Z\n"
                  "GET configmaps -> 200 metadata.resourceVersion=5000\n");
}

RIG_CASE(a_watch_sees_the_changes_with_their_versions)
{
    rig_play(f, "WATCH configmaps?fieldSelector=metadata.name%3Da\n");
    replay(f->sim, KL_SIM_PUT, "5000", "1", NULL);
    replay(f->sim, KL_SIM_PUT, "6000", "2", NULL);
    replay(f->sim, KL_SIM_DELETED, "7000", "2", NULL);
    rig_play(f, "ADDED a, MODIFIED a | metadata.resourceVersion=6000\n"
                "DELETED a | metadata.resourceVersion=7000\n");
}

SIM_CASE(a_version_of_the_past_becomes_the_next_one)
{
    replay(sim, KL_SIM_PUT, "5000", "1", NULL);
    replay(sim, KL_SIM_PUT, "4000", "2", NULL);
    sim_play(sim, "GET configmaps/a -> 200 metadata.resourceVersion=5001\n");
}

RIG_CASE(objects_of_the_first_state_may_have_any_version)
{
    replay(f->sim, KL_SIM_INITIAL, "5000", "1", NULL);
    replay(f->sim, KL_SIM_INITIAL, "4000", "2", NULL);
    rig_play(f, "COMPACT\n"
                "GET configmaps -> 200 metadata.resourceVersion=5000\n"
                "WATCH configmaps?resourceVersion=5000\n");
    replay(f->sim, KL_SIM_PUT, "5001", "3", NULL);
    rig_play(f, "MODIFIED a\n");
}

SIM_CASE(an_impossible_change_is_refused)
{
    static const char *const wrong[] = {
        "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\"}"
        "}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
        "\"a\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\","
        "\"labels\":5}}",
        "[1]",
        "{"};
    kl_error err;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        kl_code code =
            kl_sim_replay(sim, KL_SIM_PUT, wrong[i], strlen(wrong[i]), &err);

        assert_true(code == KL_EINVAL || code == KL_EPARSE);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(replay(sim, KL_SIM_DELETED, "9", "1", NULL), KL_OK);
}

/* A gear that the object "a" of replay() owns. */
static void replay_gear(kl_sim *sim, kl_sim_change change, const char *uid)
{
    char yaml[512];
    const char *json;

    snprintf(yaml, sizeof(yaml),
             "{apiVersion: a.io/v1, kind: Gear, metadata: {name: g, namespace: "
             "default, uid: %s, ownerReferences: [{apiVersion: v1, kind: "
             "ConfigMap, name: a, uid: u-1}]}}",
             uid);
    json = sim_json(yaml);
    assert_int_equal(kl_sim_replay(sim, change, json, strlen(json), NULL),
                     KL_OK);
}

/* The garbage collector remembers nothing that is in no resource. */
SIM_CASE(a_deleted_object_leaves_no_trace_among_owners)
{
    replay(sim, KL_SIM_PUT, "5000", "1", NULL);
    sim_play(sim, "DEFINE gears.a.io Gear\n");
    replay_gear(sim, KL_SIM_PUT, "g-1");
    replay_gear(sim, KL_SIM_PUT, "g-2"); /* another one, as it seems */
    replay_gear(sim, KL_SIM_DELETED, "g-2");
    sim_play(sim, "DELETE crds/gears.a.io -> 200\n"
                  "DELETE configmaps/a -> 200\n");
}

/* ---- Snapshots: a cluster goes back to an earlier state. ---- */

static int64_t list_version(sim_rig *f)
{
    sim_reply list = sim_ask(f->sim, "GET", FAULT_OBJECTS, NULL);
    int64_t version =
        strtoll(sim_text(list.doc, "metadata.resourceVersion"), NULL, 10);

    sim_reply_clear(&list);
    return version;
}

RIG_CASE(a_snapshot_is_restored_with_its_version)
{
    int64_t version;

    sim_add(f->sim, "a");
    sim_touch(f->sim, "a", "1");
    assert_int_equal(kl_sim_snapshot(f->sim, &version, NULL), KL_OK);
    assert_int_equal(version, list_version(f));
    sim_touch(f->sim, "a", "2");
    sim_add(f->sim, "b");
    kl_sim_compact(f->sim); /* a snapshot needs no history */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
        assert_int_equal(list_version(f), version);
        rig_play(f, "GET configmaps/a -> 200 data.k=1\n"
                    "GET configmaps/b -> 404\n"
                    "ADD b\n");
        assert_int_equal(list_version(f), version + 1);
    }
}

RIG_CASE(any_version_of_the_history_can_be_restored)
{
    int64_t version;
    kl_error err;

    sim_add(f->sim, "a");
    sim_touch(f->sim, "a", "1");
    version = list_version(f);
    sim_touch(f->sim, "a", "2");
    sim_expect(f->sim, "DELETE", FAULT_OBJECTS "/a", NULL, 200);
    assert_int_equal(kl_sim_restore(f->sim, version + 5, &err), KL_EINVAL);
    assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
    rig_play(f, "GET configmaps/a -> 200 data.k=1\n");
    assert_int_equal(kl_sim_restore(f->sim, version - 1, &err), KL_EINVAL);
    assert_non_null(strstr(err.message, "nor in the history"));
}

RIG_CASE(a_restore_breaks_watches_and_leaves_no_history)
{
    int64_t version;
    kl_error err;

    sim_add(f->sim, "a");
    assert_int_equal(kl_sim_snapshot(f->sim, &version, NULL), KL_OK);
    rig_play(f, "WATCH configmaps?resourceVersion=3\n");
    sim_watch_expect(&f->watch, "ADDED", "a");
    assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
    assert_int_equal(sim_watch_failure(&f->watch, &err), KL_EUNAVAILABLE);
    rig_play(f, "WATCH configmaps?resourceVersion=3\n"
                "ERROR | code=410\n");
}

RIG_CASE(a_restore_serves_the_kinds_of_its_snapshot)
{
    int64_t without, with;

    assert_int_equal(kl_sim_snapshot(f->sim, &without, NULL), KL_OK);
    rig_play(f, "DEFINE gears.a.io Gear\n"
                "POST a.io/v1/gears {apiVersion: a.io/v1, kind: Gear, "
                "metadata: {name: g}} -> 201\n");
    assert_int_equal(kl_sim_snapshot(f->sim, &with, NULL), KL_OK);
    assert_int_equal(kl_sim_restore(f->sim, without, NULL), KL_OK);
    sim_expect(f->sim, "GET", "/apis/a.io/v1/gears", NULL, 404);
    assert_int_equal(kl_sim_restore(f->sim, with, NULL), KL_OK);
    rig_play(f, "GET a.io/v1/gears/g -> 200\n");
}

RIG_CASE(a_definition_after_a_restore_is_new)
{
    int64_t version;

    assert_int_equal(kl_sim_snapshot(f->sim, &version, NULL), KL_OK);
    rig_play(f, "ADD a b\n"
                "DEFINE gears.a.io Gear\n");
    for (int i = 0; i < 8; i++) { /* the last look was at a later version */
        sim_touch(f->sim, "a", i % 2 != 0 ? "1" : "2");
    }
    rig_play(f, "DELETE crds/gears.a.io -> 200\n");
    assert_int_equal(kl_sim_restore(f->sim, version, NULL), KL_OK);
    rig_play(f, "DEFINE gears.a.io Gear\n");
    sim_expect(f->sim, "GET", "/apis/a.io/v1/gears", NULL, 200);
}
