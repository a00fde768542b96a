/*
 * sim_memory_spec.c - every public call with each of its allocations failing:
 * it returns an error, nothing leaks, and the cluster works as before.
 */

#include "spec_case.h"
#include "failing_alloc.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

static int set_up(void **state)
{
    (void)state;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sim_expect_nothing_lives();
    return 0;
}

static kl_code make(void *context)
{
    const kl_sim_options options = {.token = "t"};
    kl_error err = {0};
    kl_sim *sim = kl_sim_new(&options, &err);

    (void)context;
    kl_sim_unref(sim);
    return sim != NULL ? KL_OK : err.code;
}

#define CASE(name) SPEC_CASE(name, void *none, set_up, tear_down)

CASE(making_a_cluster_can_run_out_of_memory)
{
    failing_alloc_each(make, NULL);
}

/* One request against a cluster of its own; an answer of any status is fine,
 * and the cluster answers afterwards. */
typedef struct asked {
    const char *method;
    const char *target;
    const char *body;
    kl_sim *sim;
} asked;

static kl_code ask(void *context)
{
    const asked *a = context;
    const kl_call call = {.method = a->method,
                          .target = a->target,
                          .body = a->body,
                          .body_length = a->body != NULL ? strlen(a->body) : 0,
                          .content_type = strcmp(a->method, "PATCH") == 0
                                              ? "application/merge-patch+json"
                                              : NULL};
    kl_reply reply;
    kl_error err = {0};
    kl_code code = kl_sim_call(a->sim, &call, &reply, &err);

    if (code == KL_OK) {
        kl_reply_clear(&reply);
    }
    return code;
}

/* The same with a cluster that is made before, out of reach of failures: every
 * run makes its own changes, which must not add up. */
static void try_out(const char *method, const char *target, const char *body)
{
    static const char definition[] =
        "{metadata: {name: bars.example.com}, spec: {group: example.com, "
        "scope: Cluster, names: {plural: bars, kind: Bar}, versions: [{name: "
        "v1, served: true, storage: true, schema: {openAPIV3Schema: {type: "
        "object, properties: {'n': {type: integer, default: 1, anyOf: "
        "[{maximum: 3}]}, s: {type: array, items: {type: string, pattern: "
        "'^a+$'}, x-kubernetes-list-type: set}}}}}]}}";
    asked a = {method, target, body != NULL ? sim_json(body) : NULL,
               kl_sim_new(NULL, NULL)};

    if (strstr(target, "example.com") != NULL) {
        sim_expect(a.sim, "POST", DEFINITIONS, sim_json(definition), 201);
    }
    sim_add(a.sim, "a");
    sim_add(a.sim, "b");
    for (long nth = 1;; nth++) {
        kl_code code;

        failing_alloc_install();
        failing_alloc_fail_at(nth, 0);
        code = ask(&a);
        if (!failing_alloc_has_failed()) {
            failing_alloc_fail_at(0, 0);
            failing_alloc_uninstall();
            assert_int_equal(code, KL_OK);
            break;
        }
        failing_alloc_fail_at(0, 0);
        failing_alloc_uninstall();
        assert_true(code == KL_ENOMEM || code == KL_OK);
        sim_expect(a.sim, "GET", CONFIGMAPS, NULL, 200);
    }
    kl_sim_unref(a.sim);
}

CASE(reading_can_run_out_of_memory)
{
    try_out("GET", CONFIGMAPS "/a", NULL);
    try_out("GET", CONFIGMAPS "/none", NULL);
    try_out("GET",
            CONFIGMAPS "?limit=1&labelSelector=!x&fieldSelector="
                       "metadata.name!%3Dz",
            NULL);
    try_out("GET", CONFIGMAPS "?resourceVersionMatch=Exact&resourceVersion=4",
            NULL);
    try_out("GET",
            CONFIGMAPS "?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6N"
                       "Swic3RhcnQiOiIvYVx1MDAwMCJ9",
            NULL);
    try_out("GET", CONFIGMAPS "?resourceVersionMatch=Exact", NULL);
    try_out("GET", "/apis", NULL);
    try_out("GET", "/apis/apps/v1", NULL);
}

CASE(writing_can_run_out_of_memory)
{
    try_out("POST", CONFIGMAPS,
            "{metadata: {generateName: x-, labels: {a: b}}, data: {k: v}}");
    try_out("POST", CONFIGMAPS, "{metadata: {name: a}}");
    try_out("POST", CONFIGMAPS, "{metadata: {name: A}}");
    try_out("PUT", CONFIGMAPS "/a", "{metadata: {name: a}, data: {k: v}}");
    try_out("PATCH", CONFIGMAPS "/a", "{data: {k: w}}");
    try_out("DELETE", CONFIGMAPS "/a", "{preconditions: {uid: x}}");
    try_out("DELETE", CONFIGMAPS "/a", NULL);
    try_out("DELETE", CONFIGMAPS, NULL);
}

CASE(namespaces_and_definitions_can_run_out_of_memory)
{
    try_out("POST", "/api/v1/namespaces", "{metadata: {name: 'n'}}");
    try_out("DELETE", "/api/v1/namespaces/kube-node-lease", NULL);
    try_out("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "{metadata: {name: foos.example.com}, spec: {group: example.com, "
            "scope: Cluster, names: {plural: foos, kind: Foo}, versions: "
            "[{name: v1, served: true, storage: true, schema: "
            "{openAPIV3Schema: {type: object}}}]}}");
}

CASE(custom_objects_can_run_out_of_memory)
{
#define BAR "{apiVersion: example.com/v1, kind: Bar, metadata: {name: x}, "
    try_out("POST", "/apis/example.com/v1/bars", BAR "s: [aa, a], x: 1}");
    try_out("POST", "/apis/example.com/v1/bars", BAR "s: [a, b, b], 'n': 5}");
    try_out("DELETE", DEFINITIONS "/bars.example.com", NULL);
}

static kl_code load(void *context)
{
    static const char text[] =
        "apiVersion: v1\nkind: ConfigMap\n"
        "metadata: {name: a, namespace: web}\n---\n"
        "apiVersion: apiextensions.k8s.io/v1\n"
        "kind: CustomResourceDefinition\nmetadata: {name: foos.example.com}\n"
        "spec:\n  group: example.com\n  scope: Cluster\n"
        "  names: {plural: foos, kind: Foo}\n"
        "  versions:\n  - name: v1\n    served: true\n    storage: true\n"
        "    schema:\n      openAPIV3Schema:\n        type: object\n"
        "        x-kubernetes-preserve-unknown-fields: true\n";
    kl_error err = {0};
    kl_sim *sim = kl_sim_new(NULL, &err);
    kl_code code = err.code;

    (void)context;
    if (sim != NULL) {
        code = kl_sim_load(sim, text, sizeof(text) - 1, &err);
        kl_sim_unref(sim);
    }
    return code;
}

CASE(loading_can_run_out_of_memory)
{
    failing_alloc_each(load, NULL);
}

static kl_code watch(void *context)
{
    kl_error err = {0};
    kl_sim *sim = context;
    kl_transport *transport = kl_sim_transport(sim, &err);
    const kl__request request = {.method = "GET",
                                 .base_url = "",
                                 .target = CONFIGMAPS
                                 "?watch=1&timeoutSeconds=-1&labelSelector=!x"};
    kl__stream *stream = NULL;
    kl__response response;
    char chunk[256];
    size_t length = 1;

    if (transport != NULL) {
        stream = kl__transport_open(transport, &request, &err);
        kl_transport_unref(transport);
    }
    if (stream != NULL) {
        kl__stream_response(stream, &response, -1, NULL, &err);
    }
    while (err.code == KL_OK && length != 0) {
        kl__stream_read(stream, chunk, sizeof(chunk), &length, -1, NULL, &err);
    }
    kl__stream_close(stream);
    kl_sim_requests_clear(sim); /* what is remembered is no leak */
    return err.code;
}

CASE(watching_can_run_out_of_memory)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);

    sim_add(sim, "a");
    failing_alloc_each(watch, sim);
    kl_sim_unref(sim);
}

static kl_code listen_once(void *context)
{
    const kl_sim_listen_options options = {.tls = true};
    kl_error err = {0};
    kl_code code = kl_sim_listen(context, &options, &err);
    char *text;

    if (code == KL_OK) {
        text = kl_sim_kubeconfig(context, &err);
        code = text != NULL ? KL_OK : err.code;
        kl_free(text);
    }
    kl_sim_unlisten(context);
    return code;
}

CASE(listening_can_run_out_of_memory)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);

    failing_alloc_each(listen_once, sim);
    kl_sim_unref(sim);
}

CASE(ordering_failures_can_run_out_of_memory)
{
    const kl_sim_failure wanted = {"get", 1, 500, 0, "body"};
    kl_code code = KL_ENOMEM;

    for (long nth = 1; code != KL_OK; nth++) {
        kl_sim *sim = kl_sim_new(NULL, NULL);
        char *text;

        failing_alloc_install();
        failing_alloc_fail_at(nth, 1);
        code = kl_sim_fail(sim, &wanted, NULL);
        text = kl_sim_requests(sim, NULL);
        if (text == NULL) {
            code = KL_ENOMEM;
        }
        failing_alloc_fail_at(0, 0);
        failing_alloc_uninstall();
        kl_free(text);
        kl_sim_unref(sim);
    }
}
