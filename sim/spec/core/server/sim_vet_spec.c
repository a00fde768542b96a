/*
 * sim_vet_spec.c - validation of built-in kinds, in the words of kube-apiserver
 * 1.36; an object that was loaded may stay invalid.
 */
#include "failing_alloc.h"
#include "spec_case.h"

#define IN_DEFAULT "/namespaces/default/"
#define PODS "/api/v1" IN_DEFAULT "pods"
#define DEPLOYMENTS "/apis/apps/v1" IN_DEFAULT "deployments"

/* Objects that a kube-apiserver refuses. */
typedef struct vet_case {
    const char *path; /* the collection's path */
    const char *body; /* YAML */
    const char *says; /* the message of its 422 */
} vet_case;

static const vet_case vet_cases[] = {
    {PODS, "{metadata: {name: a}, spec: {}}",
     "Pod \"a\" is invalid: spec.containers: Required value"},
    {PODS,
     "{metadata: {name: a}, spec: {containers: [{name: c, image: i}, {name: c, "
     "image: i}]}}",
     "Pod \"a\" is invalid: spec.containers[1].name: Duplicate value: \"c\""},
    {PODS,
     "{metadata: {name: a}, spec: {restartPolicy: 'No', containers: [{name: c, "
     "image: i}]}}",
     "Pod \"a\" is invalid: spec.restartPolicy: Unsupported value: \"No\": "
     "supported values: \"Always\", \"OnFailure\", \"Never\""},
    {PODS,
     "{metadata: {name: a}, spec: {containers: [{name: c, image: i, "
     "volumeMounts: [{name: v, mountPath: /v}]}]}}",
     "Pod \"a\" is invalid: spec.containers[0].volumeMounts[0].name: Not "
     "found: \"v\""},
    {PODS,
     "{metadata: {name: a}, spec: {containers: [{name: c, image: i, resources: "
     "{requests: {memory: '2Gi'}, limits: {memory: '1Gi'}}}]}}",
     "Pod \"a\" is invalid: spec.containers[0].resources.requests: Invalid "
     "value: \"2Gi\": must be less than or equal to memory limit of 1Gi"},
    {DEPLOYMENTS,
     "{metadata: {name: a}, spec: {selector: {matchLabels: {app: x}}, "
     "template: {metadata: {labels: {app: 'y'}}, spec: {containers: [{name: c, "
     "image: i}]}}}}",
     "Deployment.apps \"a\" is invalid: spec.template.metadata.labels: Invalid "
     "value: {\"app\":\"y\"}: `selector` does not match template `labels`"},
    {"/api/v1" IN_DEFAULT "services", "{metadata: {name: a}}",
     "Service \"a\" is invalid: spec.ports: Required value"},
    {"/api/v1" IN_DEFAULT "configmaps",
     "{metadata: {name: a}, data: {'..': ''}}",
     "ConfigMap \"a\" is invalid: data[..]: Invalid value: \"..\": must not be "
     "'..'"},
    {"/api/v1" IN_DEFAULT "secrets",
     "{metadata: {name: a}, type: kubernetes.io/tls}",
     "Secret \"a\" is invalid: [data[tls.crt]: Required value, data[tls.key]: "
     "Required value]"},
    {"/apis/batch/v1" IN_DEFAULT "cronjobs",
     "{metadata: {name: a}, spec: {schedule: often, jobTemplate: {spec: "
     "{template: {spec: {restartPolicy: Never, containers: [{name: c, image: "
     "i}]}}}}}}",
     "CronJob.batch \"a\" is invalid: spec.schedule: Invalid value: \"often\": "
     "expected exactly 5 fields, found 1: [often]"},
    {"/apis/networking.k8s.io/v1" IN_DEFAULT "ingresses",
     "{metadata: {name: a}, spec: {}}",
     "Ingress.networking.k8s.io \"a\" is invalid: spec: Invalid value: null: "
     "either `defaultBackend` or `rules` must be specified"}};

static const size_t vet_case_count = sizeof(vet_cases) / sizeof(vet_cases[0]);

SIM_CASE(an_invalid_object_is_refused_with_its_causes)
{
    for (size_t i = 0; i < vet_case_count; i++) {
        sim_reply reply = sim_ask(sim, "POST", vet_cases[i].path,
                                  sim_json(vet_cases[i].body));

        assert_string_equal(sim_text(reply.doc, "message"), vet_cases[i].says);
        assert_int_equal(reply.status, 422);
        sim_reply_clear(&reply);
    }
}

/* Fixtures of tests say only what they are about. */
SIM_CASE(a_loaded_invalid_object_can_be_changed)
{
    const char *pod =
        sim_json("{apiVersion: v1, kind: Pod, metadata: {name: a, "
                 "namespace: default}, spec: {nodeName: 'n'}}");

    assert_int_equal(kl_sim_load(sim, pod, strlen(pod), NULL), KL_OK);
    sim_play(sim, "PATCH pods/a {metadata: {labels: {b: c}}} -> 200\n"
                  "PATCH pods/a/status {status: {phase: Running}} -> 200\n"
                  "PATCH pods/a {spec: {activeDeadlineSeconds: -1}} -> 422\n");
}

/* ---- A write with validation, with each of its allocations failing: it is
 * refused as invalid, or for lack of memory; the stored object is the old
 * one, or all of the new one. */

#define HEAD(version, kind) \
    "{apiVersion: " version ", kind: " kind ", metadata: {name: a}, spec: "
#define POD "{containers: [{name: c, image: i}]}"
#define DEPLOYMENT                                                           \
    HEAD("apps/v1", "Deployment")                                            \
    "{selector: {matchLabels: {app: x}}, replicas: 2, template: {metadata: " \
    "{labels: {app: x}}, spec: " POD "}}}"
#define SERVICE HEAD("v1", "Service") "{clusterIP: None, ports: [{port: 80}]}}"
enum { TEXT_SIZE = 8192 };

/* A write of the object "a" of a collection. */
typedef struct written {
    const char *path;
    const char *base; /* the object before; NULL: there is none */
    const char *method;
    const char *type; /* of the body */
    const char *body;
    const char *below; /* "?...", or a subresource */
} written;

/* The answer: its status and, where it is refused, why. */
typedef struct outcome {
    kl_code code;
    bool has_failed; /* an allocation has */
    int status;
    char says[512];
} outcome;

static void target_of(const written *w, char *out, size_t size)
{
    bool creates = strcmp(w->method, "POST") == 0;

    snprintf(out, size, "%s%s%s", w->path, creates ? "" : "/a",
             w->below != NULL ? w->below : "");
}

static outcome send(kl_sim *sim, const written *w)
{
    char target[256];
    const kl_call call = {.method = w->method,
                          .target = target,
                          .content_type = w->type,
                          .body = w->body,
                          .body_length = w->body != NULL ? strlen(w->body) : 0};
    outcome out = {.status = 0};
    kl_reply reply;
    kl_doc *doc;

    target_of(w, target, sizeof(target));
    out.code = kl_sim_call(sim, &call, &reply, NULL);
    out.has_failed = failing_alloc_has_failed() != 0;
    failing_alloc_fail_at(0, 0); /* what follows only reads */
    if (out.code == KL_OK) {
        out.status = reply.status;
        doc = kl_doc_parse(reply.body, reply.body_length, NULL);
        snprintf(out.says, sizeof(out.says), "%s", sim_text(doc, "message"));
        kl_doc_unref(doc);
        kl_reply_clear(&reply);
    }
    return out;
}

/* The stored object, without its managers and times. */
static void read_stored(kl_sim *sim, const written *w, char *out)
{
    char target[256];
    sim_reply reply;

    snprintf(target, sizeof(target), "%s/a", w->path);
    reply = sim_ask(sim, "GET", target, NULL);
    *out = '\0';
    for (size_t i = 0; reply.status == 200 && i < 3; i++) {
        static const char *const parts[] = {"spec", "data", "metadata.labels"};

        strncat(out, sim_text(reply.doc, parts[i]),
                TEXT_SIZE - 1 - strlen(out));
        strncat(out, ";", TEXT_SIZE - 1 - strlen(out));
    }
    sim_reply_clear(&reply);
}

/* As it was before each run. */
static void reset(kl_sim *sim, const written *w)
{
    const written drop = {
        .path = w->path, .method = "DELETE", .below = "?gracePeriodSeconds=0"};
    kl_error err;

    (void)send(sim, &drop);
    if (w->base != NULL &&
        kl_sim_load(sim, w->base, strlen(w->base), &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
}

/* With each allocation failing, alone and with all after it. */
static void try_write(kl_sim *sim, const written *row)
{
    static char before[TEXT_SIZE], after[TEXT_SIZE], now[TEXT_SIZE];
    const written ready = {
        row->path,           row->base != NULL ? sim_json(row->base) : NULL,
        row->method,         row->type,
        sim_json(row->body), row->below};
    const written *w = &ready;
    bool more = true, refused = false;
    outcome whole;

    reset(sim, w);
    read_stored(sim, w, before);
    whole = send(sim, w);
    assert_int_equal(whole.code, KL_OK);
    read_stored(sim, w, after);
    for (long nth = 1; more; nth++) {
        more = false;
        for (int forever = 0; forever <= 1; forever++) {
            outcome got;

            reset(sim, w);
            failing_alloc_install();
            failing_alloc_fail_at(nth, forever);
            got = send(sim, w);
            more = more || got.has_failed;
            failing_alloc_uninstall();
            read_stored(sim, w, now);
            if (got.code == KL_OK) {
                assert_int_equal(got.status, whole.status);
                assert_string_equal(got.says, whole.says);
                assert_string_equal(now, after);
                continue;
            }
            refused = true;
            assert_int_equal(got.code, KL_ENOMEM);
            if (strcmp(now, before) != 0) {
                assert_string_equal(now, after);
            }
        }
    }
    assert_true(refused);
}

PLAIN_CASE(an_invalid_object_is_never_accepted_without_memory)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);

    for (size_t i = 0; i < vet_case_count; i++) {
        const written create = {.path = vet_cases[i].path,
                                .method = "POST",
                                .body = vet_cases[i].body};
        char line[256];

        try_write(sim, &create);
        snprintf(line, sizeof(line), "GET %s/a -> 404", create.path);
        sim_play(sim, line);
    }
    kl_sim_unref(sim);
}

static const written writes[] = {
    {"/api/v1" IN_DEFAULT "pods", NULL, "POST", NULL, HEAD("v1", "Pod") POD "}",
     NULL},
    {"/api/v1" IN_DEFAULT "services", NULL, "POST", NULL, SERVICE, NULL},
    {DEPLOYMENTS, NULL, "POST", NULL, DEPLOYMENT, NULL},
    {"/apis/batch/v1" IN_DEFAULT "cronjobs", NULL, "POST", NULL,
     "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: "
     "{schedule: 1 2 3 4 5, jobTemplate: {spec: {template: {spec: "
     "{restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}",
     NULL},
    {"/apis/policy/v1" IN_DEFAULT "poddisruptionbudgets", NULL, "POST", NULL,
     "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, "
     "spec: {minAvailable: '50%', selector: {matchLabels: {app: x}}}}",
     NULL},
    {"/apis/networking.k8s.io/v1" IN_DEFAULT "ingresses", NULL, "POST", NULL,
     "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, "
     "spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}",
     NULL},
    {DEPLOYMENTS, DEPLOYMENT, "PATCH", "application/strategic-merge-patch+json",
     "{spec: {template: {spec: {containers: [{name: c, image: j}, {name: d, "
     "image: k}]}}}}",
     NULL},
    {DEPLOYMENTS, DEPLOYMENT, "PATCH", "application/json-patch+json",
     "[{op: replace, path: /spec/replicas, value: 3}, {op: add, path: "
     "/metadata/labels, value: {b: c}}]",
     NULL},
    {DEPLOYMENTS, DEPLOYMENT, "PATCH", "application/apply-patch+yaml",
     "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {b: "
     "c}}, spec: {replicas: 5}}",
     "?fieldManager=m&force=true"},
    {DEPLOYMENTS, DEPLOYMENT, "PATCH", "application/apply-patch+yaml",
     "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: "
     "{replicas: -5}}",
     "?fieldManager=m&force=true"},
    {DEPLOYMENTS, DEPLOYMENT, "PATCH", "application/merge-patch+json",
     "{spec: {replicas: 4}}", "/scale"},
    {"/api/v1" IN_DEFAULT "services", SERVICE, "PUT", NULL,
     HEAD("v1", "Service") "{clusterIP: None, ports: [{port: 81, targetPort: "
                           "web}]}}",
     NULL},
    {"/api/v1" IN_DEFAULT "services", SERVICE, "PUT", NULL,
     HEAD("v1", "Service") "{clusterIP: None, ports: [{port: 81000}]}}", NULL},
};

PLAIN_CASE(a_valid_object_is_written_completely_or_not_at_all)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);

    for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
        try_write(sim, &writes[i]);
    }
    kl_sim_unref(sim);
    sim_expect_nothing_lives();
}
