/*
 * sim_write_spec.c - create, update and patch of an object, and their refusals.
 */
#include "spec_case.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

SIM_CASE(a_new_object_gets_uid_version_and_time)
{
    sim_play(
        sim,
        "POST configmaps {apiVersion: v1, kind: ConfigMap, metadata: {name: "
        "a}, data: {k: v}} -> 201 "
        "^{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
        "\"a\",\"namespace\":\"default\",\"uid\":\" | #metadata.uid=36 | "
        "$uid=metadata.uid | #metadata.creationTimestamp=20 | "
        "metadata.generation= | data.k=v\n");
    assert_int_equal(sim_kept("uid")[14], '4');
    assert_non_null(strchr("89ab", sim_kept("uid")[19]));
}

SIM_CASE(versions_are_one_counter_of_all_changes)
{
    sim_play(sim, "POST configmaps {metadata: {name: a}} -> 201 "
                  "$first=metadata.resourceVersion\n"
                  "DELETE configmaps/a -> 200\n"
                  "POST secrets {metadata: {name: b}} -> 201 "
                  "$second=metadata.resourceVersion\n");
    assert_int_equal(atoi(sim_kept("second")), atoi(sim_kept("first")) + 2);
}

SIM_CASE(an_object_without_name_gets_a_generated_one)
{
    sim_play(sim, "POST configmaps {metadata: {generateName: x-}} -> 201 "
                  "#metadata.name=7 | ~\"name\":\"x-\n");
}

SIM_CASE(a_second_object_of_a_name_already_exists)
{
    sim_play(sim, "ADD a\n"
                  "POST configmaps {metadata: {name: a}} -> 409 AlreadyExists: "
                  "configmaps \"a\" already exists\n");
}

SIM_CASE(an_object_needs_its_namespace)
{
    sim_play(sim, "POST /api/v1/namespaces/nope/configmaps {metadata: {name: "
                  "a}} -> 404 NotFound: namespaces \"nope\" not found\n"
                  "POST configmaps {metadata: {name: a, namespace: b}} -> 400 "
                  "BadRequest: the namespace of the provided object does not "
                  "match the namespace sent on the request\n");
}

SIM_CASE(a_name_must_be_one_that_its_kind_allows)
{
    sim_play(
        sim,
        "POST configmaps {metadata: {name: A_b}} -> 422\n"
        "POST configmaps {metadata: {name: a.b}} -> 201\n"
        "POST /api/v1/namespaces {metadata: {name: a.b}} -> 422\n"
        "POST /apis/rbac.authorization.k8s.io/v1/clusterroles {metadata: "
        "{name: 'system:A_b'}} -> 201\n"
        "POST configmaps {} -> 422 Invalid: ConfigMap \"\" is invalid: "
        "metadata.name: Required value: name or generateName is required\n");
}

SIM_CASE(invalid_labels_are_refused)
{
#define LABELS "POST configmaps {metadata: {generateName: a, labels: "
    sim_play(sim,
             LABELS "{app.kubernetes.io/name: a_b.c-d, x: '', X: null}}} "
                    "-> 201\n" LABELS "{A B: c}}} -> 422\n" LABELS
                    "{a: b c}}} -> 422\n" LABELS "{/a: b}}} -> 422\n" LABELS
                    "{a/b/c: d}}} -> 422\n" LABELS
                    "{A.B/c: d}}} -> 422\n" LABELS "{'': d}}} -> 422\n" LABELS
                    "{'-a': d}}} -> 422\n" LABELS "{a: d-}}} -> 422\n");
}

SIM_CASE(a_body_must_be_an_object_of_the_kind)
{
    sim_play(sim,
             "POST configmaps ={\"metadata\": -> 400\n"
             "POST configmaps [] -> 400\n"
             "POST configmaps -> 400\n"
             "POST configmaps {kind: Pod, metadata: {name: a}} -> 400\n"
             "POST configmaps {metadata: {name: a, labels: {a: 5}}} -> 400\n"
             "POST configmaps {metadata: []} -> 400\n"
             "POST configmaps {metadata: {name: 5}} -> 400 BadRequest: "
             "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: "
             "json: cannot unmarshal number into Go struct field "
             "ObjectMeta.metadata.name of type string\n");
}

SIM_CASE(a_nesting_bomb_is_a_bad_request)
{
    enum { DEEP = 100000 };
    char *body = malloc(2 * DEEP + 64);
    size_t at = (size_t)sprintf(body, "{\"metadata\":{\"name\":\"a\"},\"x\":");

    memset(body + at, '[', DEEP);
    memset(body + at + DEEP, ']', DEEP);
    strcpy(body + at + 2 * DEEP, "}");
    sim_expect(sim, "POST", CONFIGMAPS, body, 400);
    free(body);
}

SIM_CASE(an_upload_of_more_than_3_mb_is_too_large)
{
    enum { BIG = 3 * 1024 * 1024 + 1 };
    kl__buf line = {0};

    kl__buf_puts(&line, "POST configmaps =");
    memset(kl__buf_reserve(&line, BIG), 'x', BIG);
    line.length += BIG;
    kl__buf_puts(&line, " -> 413 RequestEntityTooLarge: Request entity too "
                        "large: limit is 3145728");
    sim_play(sim, line.bytes);
    kl__buf_deinit(&line);
}

SIM_CASE(a_replaced_object_keeps_its_identity)
{
    sim_play(sim,
             "POST configmaps {metadata: {name: a}} -> 201 $uid=metadata.uid | "
             "$old=metadata.resourceVersion\n"
             "PUT configmaps/a {metadata: {name: a, resourceVersion: '$old'}, "
             "data: {k: v}} -> 200 metadata.uid=$uid | data.k=v | "
             "$new=metadata.resourceVersion\n"
             "PUT configmaps/a {metadata: {name: a, resourceVersion: '$old'}, "
             "data: {k: v}} -> 409 Conflict: Operation cannot be fulfilled on "
             "configmaps \"a\": the object has been modified; please apply "
             "your changes to the latest version and try again\n");
    assert_int_equal(atoi(sim_kept("new")), atoi(sim_kept("old")) + 1);
}

SIM_CASE(an_update_without_changes_makes_no_version)
{
    sim_play(sim, "POST configmaps {metadata: {name: a}, data: {k: v}} -> 201 "
                  "$version=metadata.resourceVersion\n"
                  "PUT configmaps/a {metadata: {name: a}, data: {k: v}} -> 200 "
                  "metadata.resourceVersion=$version\n");
}

SIM_CASE(an_update_must_match_the_stored_object)
{
    sim_play(
        sim,
        "ADD a\n"
        "PUT configmaps/b {metadata: {name: b}} -> 404\n"
        "PUT configmaps/a {metadata: {}} -> 400\n"
        "PUT configmaps/a {metadata: {name: a, uid: x}} -> 409\n"
        "PUT configmaps/a {metadata: {name: a, resourceVersion: x}} -> 500\n"
        "PUT configmaps {} -> 405\n"
        "PUT configmaps/a {metadata: {name: b}} -> 400 BadRequest: the name of "
        "the object (b) does not match the name on the URL (a)\n");
}

SIM_CASE(a_merge_patch_changes_and_removes_members)
{
    sim_play(
        sim,
        "POST configmaps {metadata: {name: a}, data: {k: v, l: w}} -> 201\n"
        "PATCH configmaps/a {metadata: {labels: {x: 'y'}}, data: {k: null, m: "
        "'n'}} -> 200 data={l: w, m: 'n'} | metadata.labels.x=y\n"
        "PATCH configmaps/a {metadata: {resourceVersion: '1'}} -> 409\n"
        "PATCH configmaps/a [] -> 400\n"
        "PATCH configmaps/a {metadata: {labels: 7}} -> 422\n"
        "PATCH configmaps/a {metadata: null} -> 400\n"
        "PATCH configmaps/zz {} -> 404\n");
}

SIM_CASE(an_unknown_kind_of_patch_is_unsupported)
{
    sim_play(sim,
             "ADD a\n"
             "PATCH configmaps/a [] @ type application/patch+json -> 415\n");
}

SIM_CASE(a_body_may_be_yaml)
{
    sim_play(sim, "POST configmaps ={metadata: {name: a}, data: {k: v}} @ type "
                  "application/yaml -> 201 data.k=v\n");
}

SIM_CASE(a_spec_has_a_generation_and_a_status_of_its_own)
{
    sim_play(
        sim,
        "POST pods {metadata: {name: p}, spec: {activeDeadlineSeconds: 9, "
        "containers: [{name: c, image: i}]}} -> 201\n"
        "PUT pods/p/status {metadata: {name: p}, spec: {activeDeadlineSeconds: "
        "8}, status: {phase: Running}} -> 200 spec.activeDeadlineSeconds=9 | "
        "status.phase=Running | metadata.generation=1\n"
        "PATCH pods/p {spec: {activeDeadlineSeconds: 7}, status: {phase: "
        "Failed}} -> 200 spec.activeDeadlineSeconds=7 | status.phase=Running | "
        "metadata.generation=2\n"
        "GET pods/p/status -> 200\n"
        "GET configmaps/p/status -> 404\n");
}

SIM_CASE(a_new_pod_is_pending_whatever_it_says)
{
    sim_play(sim, "POST pods {metadata: {name: p}, spec: {containers: [{name: "
                  "c, image: i}]}, status: {phase: Running}} -> 201 "
                  "status={phase: Pending, qosClass: BestEffort}\n");
}

SIM_CASE(invalid_methods_and_paths_are_refused)
{
    sim_play(sim, "POST configmaps/a {} -> 405\n"
                  "BREW configmaps -> 405\n"
                  "POST /api/v1/configmaps {metadata: {name: a}} -> 405\n"
                  "GET /apis/none/v1/x -> 404\n"
                  "GET configmaps/a/b/c/d/e -> 404\n"
                  "GET /%00/%ff?%zz=% -> 404\n"
                  "GET configmaps/%ff%fe -> 404\n"
                  "GET /api/v1/configmaps/a -> 404\n"
                  "GET nothings -> 404 NotFound: the server could not find the "
                  "requested resource\n");
}

/* A ConfigMap "a" whose data are k0, k1, ... of one value, or null. */
static const char *many_names(char *text, size_t size, int count,
                              const char *value)
{
    size_t at = (size_t)snprintf(text, size,
                                 "{\"metadata\":{\"name\":\"a\"},\"data\":{");

    for (int i = 0; i < count; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s\"k%d\":%s",
                               i > 0 ? "," : "", i, value);
    }
    snprintf(text + at, size - at, "}}");
    return text;
}

SIM_CASE(a_merge_patch_may_have_many_members)
{
    char text[2048];

    sim_expect(sim, "POST", CONFIGMAPS,
               many_names(text, sizeof(text), 40, "\"v\""), 201);
    sim_expect(sim, "PATCH", CONFIGMAPS "/a",
               many_names(text, sizeof(text), 38, "null"), 200);
    sim_play(sim, "GET configmaps/a -> 200 data={k38: v, k39: v}\n");
    sim_expect(sim, "PATCH", CONFIGMAPS "/a",
               many_names(text, sizeof(text), 40, "\"w\""), 200);
    sim_play(sim, "GET configmaps/a -> 200 data.k0=w | data.k39=w\n");
}
