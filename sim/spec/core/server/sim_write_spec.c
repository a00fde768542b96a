/*
 * sim_write_spec.c - create, update and patch of an object, and their refusals.
 */
#include "spec_case.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

/* Creates an object and copies its uid and version. */
static void create(kl_sim *sim, const char *target, const char *body, char *uid,
                   char *version)
{
    sim_reply reply = sim_ask(sim, "POST", target, body);

    assert_int_equal(reply.status, 201);
    strcpy(uid, sim_text(reply.doc, "metadata.uid"));
    strcpy(version, sim_text(reply.doc, "metadata.resourceVersion"));
    sim_reply_clear(&reply);
}

SIM_CASE(a_new_object_gets_uid_version_and_time)
{
    static const char begins[] =
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"";
    sim_reply reply =
        sim_ask(sim, "POST", CONFIGMAPS,
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                "\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    const char *uid;

    assert_int_equal(reply.status, 201);
    assert_memory_equal(reply.raw.body, begins, sizeof(begins) - 1);
    uid = sim_text(reply.doc, "metadata.uid");
    assert_int_equal(strlen(uid), 36);
    assert_int_equal(uid[14], '4');
    assert_non_null(strchr("89ab", uid[19]));
    assert_int_equal(strlen(sim_text(reply.doc, "metadata.creationTimestamp")),
                     20);
    assert_string_equal(sim_text(reply.doc, "metadata.generation"), "");
    assert_string_equal(sim_text(reply.doc, "data.k"), "v");
    sim_reply_clear(&reply);
}

SIM_CASE(versions_are_one_counter_of_all_changes)
{
    char uid[64], first[64], second[64];

    create(sim, CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}", uid, first);
    sim_expect(sim, "DELETE", CONFIGMAPS "/a", NULL, 200);
    create(sim, "/api/v1/namespaces/default/secrets",
           "{\"metadata\":{\"name\":\"b\"}}", uid, second);
    assert_int_equal(atoi(second), atoi(first) + 2);
}

SIM_CASE(an_object_without_name_gets_a_generated_one)
{
    sim_reply reply = sim_ask(sim, "POST", CONFIGMAPS,
                              "{\"metadata\":{\"generateName\":\"x-\"}}");
    const char *name;

    assert_int_equal(reply.status, 201);
    name = sim_text(reply.doc, "metadata.name");
    assert_int_equal(strlen(name), 7);
    assert_memory_equal(name, "x-", 2);
    sim_reply_clear(&reply);
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
    static const struct {
        const char *labels;
        int status;
    } cases[] = {
        {"{\"app.kubernetes.io/name\":\"a_b.c-d\",\"x\":\"\",\"X\":null}", 201},
        {"{\"A B\":\"c\"}", 422},
        {"{\"a\":\"b c\"}", 422},
        {"{\"/a\":\"b\"}", 422},
        {"{\"a/b/c\":\"d\"}", 422},
        {"{\"A.B/c\":\"d\"}", 422},
        {"{\"\":\"d\"}", 422},
        {"{\"-a\":\"d\"}", 422},
        {"{\"a\":\"d-\"}", 422}};
    char body[256];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"generateName\":\"a\",\"labels\":%s}}",
                 cases[i].labels);
        sim_expect(sim, "POST", CONFIGMAPS, body, cases[i].status);
    }
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
    char *body = malloc(BIG + 1);

    memset(body, ' ', BIG);
    body[BIG] = '\0';
    sim_expect_refusal(sim, "POST " CONFIGMAPS, body, 413,
                       "RequestEntityTooLarge: "
                       "Request entity too large: limit is 3145728");
    free(body);
}

SIM_CASE(a_replaced_object_keeps_its_identity)
{
    char uid[64], version[64], body[256];
    sim_reply reply;

    create(sim, CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}", uid, version);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"%s\"},"
             "\"data\":{\"k\":\"v\"}}",
             version);
    reply = sim_ask(sim, "PUT", CONFIGMAPS "/a", body);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "metadata.uid"), uid);
    assert_string_equal(sim_text(reply.doc, "data.k"), "v");
    assert_int_equal(atoi(sim_text(reply.doc, "metadata.resourceVersion")),
                     atoi(version) + 1);
    sim_reply_clear(&reply);
    sim_expect_refusal(sim, "PUT " CONFIGMAPS "/a", body, 409,
                       "Conflict: "
                       "Operation cannot be fulfilled on configmaps \"a\": the "
                       "object has been modified; please apply your changes to "
                       "the latest version and try again");
}

SIM_CASE(an_update_without_changes_makes_no_version)
{
    char uid[64], version[64];
    sim_reply reply;

    create(sim, CONFIGMAPS,
           "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}", uid,
           version);
    reply = sim_ask(sim, "PUT", CONFIGMAPS "/a",
                    "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "metadata.resourceVersion"),
                        version);
    sim_reply_clear(&reply);
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
    const kl_call call = {.method = "PATCH",
                          .target = CONFIGMAPS "/a",
                          .body = "[]",
                          .body_length = 2,
                          .content_type = "application/patch+json"};
    kl_reply reply;

    sim_add(sim, "a");
    assert_int_equal(kl_sim_call(sim, &call, &reply, NULL), KL_OK);
    assert_int_equal(reply.status, 415);
    kl_reply_clear(&reply);
}

SIM_CASE(a_body_may_be_yaml)
{
    static const char yaml[] = "metadata:\n  name: a\ndata: {k: v}\n";
    const kl_call call = {.method = "POST",
                          .target = CONFIGMAPS,
                          .body = yaml,
                          .body_length = sizeof(yaml) - 1,
                          .content_type = "application/yaml"};
    kl_reply reply;

    assert_int_equal(kl_sim_call(sim, &call, &reply, NULL), KL_OK);
    assert_int_equal(reply.status, 201);
    kl_reply_clear(&reply);
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
