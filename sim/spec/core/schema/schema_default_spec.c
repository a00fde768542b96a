/*
 * schema_default_spec.c - an object of a built-in kind becomes what a real API
 * server makes of it: each line is a part of what one answered.
 */
#include "spec_case.h"
#include "sim/core/schema/schema_normal.h"

#include "failing_alloc.h"
#include "kubelua/memory.h"

/* Which is broken by a wrong default of any pod. */
#define POD                                                              \
    "dnsPolicy: ClusterFirst, enableServiceLinks: true, restartPolicy: " \
    "Always, schedulerName: default-scheduler, securityContext: {}, "    \
    "terminationGracePeriodSeconds: 30"
#define CONTAINER                                                \
    "imagePullPolicy: Always, name: c, terminationMessagePath: " \
    "/dev/termination-log, terminationMessagePolicy: File"

typedef struct trial {
    const char *kind; /* group/version/kind */
    const char *json;
    const char *path; /* what of the result is looked at, and */
    const char *is;   /* what it is, as JSON; NULL: nothing */
} trial;

/* The object as it is stored, or NULL: out of memory. */
static kl__node *stored(kl__edit *edit, const char *name, const char *json,
                        kl_error *err)
{
    const char *slash = strchr(name, '/');
    char group[64], version[8] = "v1";
    const kl__schema *schema;
    kl__node *root = kl__edit_parse(edit, json, strlen(json), err);

    snprintf(group, sizeof(group), "%.*s", (int)(slash - name), name);
    if (strncmp(slash, "/v2/", 4) == 0) {
        strcpy(version, "v2");
    }
    schema = kl__schema_builtin(group, version, slash + 4, err);
    return root != NULL && schema != NULL &&
                   kl__schema_normalize(edit, root, schema) &&
                   kl__schema_complete(edit, root, schema) &&
                   kl__schema_normalize(edit, root, schema)
               ? root
               : NULL;
}

/* What the path, its names separated by blanks, leads to. */
static kl__node *at(kl__node *node, const char *path)
{
    while (*path != '\0' && node != NULL) {
        size_t length = strcspn(path, " ");

        node = *path == '0' ? kl__node_at(node, 0)
                            : kl__node_get_n(node, path, length);
        path += length + (path[length] == ' ');
    }
    return node;
}

static void expect(const trial *line)
{
    kl_error err = {0};
    kl__edit *edit = kl__edit_new(&err);
    kl__node *root = stored(edit, line->kind, sim_json(line->json), &err);
    kl__node *found = at(root, line->path);
    const char *is = line->is != NULL ? sim_json(line->is) : NULL;
    kl__node *wanted =
        is != NULL ? kl__edit_parse(edit, is, strlen(is), &err) : NULL;

    assert_non_null(root);
    if ((found == NULL) != (wanted == NULL) ||
        (wanted != NULL && !kl__node_equal(found, wanted))) {
        char *text = found != NULL ? kl__node_json(found, NULL, NULL) : NULL;

        fail_msg("%s %s: %s is %s", line->kind, line->json, line->path, text);
    }
    kl__edit_free(edit);
}

static void every(const trial *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect(&lines[i]);
    }
}

#define EVERY(lines) every(lines, sizeof(lines) / sizeof(*lines))
#define ONE(more) "{spec: {containers: [{name: c" more "}]}}"
#define VOLUME(more) "{spec: {volumes: [{name: v" more "}]}}"

PLAIN_CASE(a_pod_gets_constant_defaults)
{
    static const trial lines[] = {
        {"/v1/Pod", ONE(", image: i"), "spec",
         "{containers: [{" CONTAINER ", image: i, resources: {}}], " POD "}"},
        {"/v1/Pod", ONE(", livenessProbe: {httpGet: {port: 80}}"),
         "spec containers 0 livenessProbe",
         "{httpGet: {path: /, port: 80, scheme: HTTP}, timeoutSeconds: 1, "
         "periodSeconds: 10, successThreshold: 1, failureThreshold: 3}"},
        {"/v1/Pod", VOLUME(""), "spec volumes 0 emptyDir", "{}"},
        {"/v1/Pod", VOLUME(", secret: {secretName: x}"), "spec volumes 0",
         "{name: v, secret: {defaultMode: 420, secretName: x}}"},
        {"apps/v1/Deployment", "{spec: {template: {spec: {}}}}",
         "spec template spec enableServiceLinks", NULL},
    };

    EVERY(lines);
}

PLAIN_CASE(an_image_is_pulled_by_its_tag)
{
    static const char *const images[][2] = {{"i", "Always"},
                                            {"a/b:latest", "Always"},
                                            {"h:5000/b", "Always"},
                                            {"a/b:1", "IfNotPresent"},
                                            {"b@sha256:0", "IfNotPresent"},
                                            {"", "IfNotPresent"}};

    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        char json[256], is[32];
        const trial line = {"/v1/Pod", json,
                            "spec containers 0 imagePullPolicy", is};

        snprintf(json, sizeof(json), ONE(", image: '%s'"), images[i][0]);
        snprintf(is, sizeof(is), "\"%s\"", images[i][1]);
        expect(&line);
    }
}

PLAIN_CASE(amounts_are_canonical_and_requests_follow_limits)
{
    static const trial lines[] = {
        {"/v1/Pod",
         ONE(", resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: "
             "{cpu: 0.1}}"),
         "spec containers 0 resources",
         "{limits: {cpu: '1', memory: '1Gi'}, requests: {cpu: '100m', memory: "
         "'1Gi'}}"},
        {"/v1/Pod", ONE(", resources: {requests: {cpu: '100u'}}"),
         "spec containers 0 resources requests cpu", "\"1m\""},
        {"/v1/Pod",
         "{spec: {hostNetwork: true, containers: [{ports: [{containerPort: "
         "80}]}]}}",
         "spec containers 0 ports 0",
         "{containerPort: 80, hostPort: 80, protocol: TCP}"},
    };

    EVERY(lines);
}

PLAIN_CASE(empty_values_are_dropped_or_added_as_in_go)
{
    static const trial lines[] = {
        {"/v1/Pod",
         ONE(", command: [], args: null, tty: false, workingDir: '', image: i, "
             "securityContext: {}"),
         "spec containers 0",
         "{" CONTAINER ", image: i, resources: {}, securityContext: {}}"},
        {"/v1/Event", "{foo: 1}", "",
         "{eventTime: null, firstTimestamp: null, lastTimestamp: null, "
         "involvedObject: {}, metadata: {}, reportingComponent: '', "
         "reportingInstance: '', source: {}}"},
        {"rbac.authorization.k8s.io/v1/ClusterRole", "{rules: []}", "rules",
         "null"},
        {"/v1/ConfigMap", "{\"data\":{\"a\":null,\"b\":\"2\"}}", "data",
         "{a: '', b: '2'}"},
        {"/v1/Event", "{firstTimestamp: '2020-01-01T00:00:00.5+01:00'}",
         "firstTimestamp", "\"2019-12-31T23:00:00Z\""},
        {"/v1/Secret", "{data: {a: [97, 98]}, stringData: {b: c}}", "",
         "{data: {a: 'YWI=', b: 'Yw=='}, metadata: {}, type: Opaque}"},
    };

    EVERY(lines);
}

PLAIN_CASE(defaults_depend_on_other_fields)
{
    static const trial lines[] = {
        {"apps/v1/Deployment", "{spec: {}}", "spec strategy",
         "{type: RollingUpdate, rollingUpdate: {maxSurge: '25%', "
         "maxUnavailable: '25%'}}"},
        {"apps/v1/Deployment", "{spec: {strategy: {type: Recreate}}}",
         "spec strategy", "{type: Recreate}"},
        {"apps/v1/StatefulSet", "{spec: {}}", "spec updateStrategy",
         "{type: RollingUpdate, rollingUpdate: {partition: 0}}"},
        {"apps/v1/StatefulSet",
         "{spec: {updateStrategy: {type: RollingUpdate}}}",
         "spec updateStrategy", "{type: RollingUpdate}"},
        {"batch/v1/Job", "{spec: {parallelism: 3}}", "spec completions", NULL},
        {"batch/v1/Job", "{spec: {}}", "spec completions", "1"},
        {"batch/v1/CronJob", "{spec: {jobTemplate: {spec: {}}}}",
         "spec jobTemplate spec backoffLimit", NULL},
        {"/v1/Service", "{spec: {ports: [{port: 80}]}}", "spec",
         "{ports: [{port: 80, protocol: TCP, targetPort: 80}], "
         "internalTrafficPolicy: Cluster, sessionAffinity: None, type: "
         "ClusterIP}"},
        {"/v1/Service", "{spec: {type: ExternalName}}", "spec",
         "{sessionAffinity: None, type: ExternalName}"},
        {"/v1/Service", "{spec: {sessionAffinity: ClientIP}}",
         "spec sessionAffinityConfig clientIP timeoutSeconds", "10800"},
        {"networking.k8s.io/v1/NetworkPolicy", "{spec: {egress: [{}]}}",
         "spec policyTypes", "[Ingress, Egress]"},
        {"autoscaling/v2/HorizontalPodAutoscaler", "{spec: {behavior: {}}}",
         "spec behavior scaleDown",
         "{policies: [{periodSeconds: 15, type: Percent, value: 100}], "
         "selectPolicy: Max}"},
        {"/v1/ReplicationController",
         "{spec: {template: {metadata: {labels: {a: b}}}}}", "spec selector",
         "{a: b}"},
    };

    EVERY(lines);
}

/* Of every kind, even from nothing, and from everything that is a struct. */
PLAIN_CASE(normalizing_twice_changes_nothing)
{
    const char *name;

    for (size_t i = 0; (name = kl__schema_name_at(i)) != NULL; i++) {
        const kl__schema *schema = kl__schema_type_named(name, NULL);
        kl__edit *edit = kl__edit_new(NULL);
        kl__node *once = kl__edit_object(edit);
        kl__node *twice;

        assert_true(schema->field_count <= 64);
        assert_true(kl__schema_normalize(edit, once, schema));
        assert_true(kl__schema_complete(edit, once, schema));
        assert_true(kl__schema_normalize(edit, once, schema));
        twice = kl__edit_copy(edit, once);
        assert_true(kl__schema_complete(edit, twice, schema));
        assert_true(kl__schema_normalize(edit, twice, schema));
        if (!kl__node_equal(once, twice)) {
            fail_msg("%s: %s, then %s", name, kl__node_json(once, NULL, NULL),
                     kl__node_json(twice, NULL, NULL));
        }
        kl__edit_free(edit);
    }
}

static kl_code run_out(void *context)
{
    kl__edit *edit = kl__edit_new(NULL);
    kl_code code = KL_ENOMEM;

    if (edit != NULL && stored(edit, "/v1/Pod", context, NULL) != NULL) {
        code = KL_OK;
    }
    kl__edit_free(edit);
    kl__schema_release();
    return code;
}

PLAIN_CASE(running_out_of_memory_is_an_error)
{
    kl__schema_release();
    failing_alloc_each(run_out, "{\"spec\":{\"containers\":[{\"name\":\"c\","
                                "\"resources\":{\"limits\":{\"cpu\":0.5}}}]}}");
}

static int release(void **state)
{
    (void)state;
    kl__schema_release();
    return 0;
}

SPEC_END(release)
