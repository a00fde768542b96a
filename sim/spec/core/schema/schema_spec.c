/*
 * schema_spec.c - the table of built-in types, errors of fields in the words of
 * a real API server, and its defaults.
 */
#include "base/buf.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "sim/core/schema/schema.h"
#include "sim/core/schema/schema_check.h"
#include "sim/core/schema/schema_normal.h"
#include "spec_case.h"

#include <pthread.h>

static const kl__schema *builtin(const char *group, const char *version,
                                 const char *kind)
{
    kl_error err = {0};
    const kl__schema *schema = kl__schema_builtin(group, version, kind, &err);

    if (schema == NULL) {
        fail_msg("%s/%s %s: %s", group, version, kind, err.message);
    }
    return schema;
}

static const kl__schema_field *member(const kl__schema *schema,
                                      const char *name)
{
    const kl__schema_field *field = kl__schema_get(schema, name, strlen(name));

    if (field == NULL) {
        fail_msg("%s has no %s", schema->name, name);
    }
    return field;
}

/* The schema that names, separated by blanks, lead to; "*" is the items. */
static const kl__schema *at(const kl__schema *schema, const char *path)
{
    while (*path != '\0') {
        size_t length = strcspn(path, " ");

        schema = *path == '*' ? schema->items
                              : kl__schema_get(schema, path, length)->schema;
        path += length + (path[length] == ' ');
    }
    return schema;
}

PLAIN_CASE(a_kind_is_found_by_group_version_and_name)
{
    assert_string_equal(builtin("", "v1", "Pod")->name,
                        "io.k8s.api.core.v1.Pod");
    assert_string_equal(builtin("apps", "v1", "Deployment")->go,
                        "v1.Deployment");
    assert_string_equal(
        builtin("autoscaling", "v2", "HorizontalPodAutoscaler")->name,
        "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler");
    assert_string_equal(builtin("apps", "v1", "DeleteOptions")->name,
                        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    assert_string_equal(kl__schema_metadata(NULL)->go, "v1.ObjectMeta");
}

PLAIN_CASE(an_unknown_kind_is_not_found)
{
    kl_error err = {0};

    assert_null(kl__schema_builtin("", "v1", "Nothing", &err));
    assert_int_equal(err.code, KL_EUNKNOWN_KIND);
    assert_null(kl__schema_builtin("no.such", "v1", "Pod", NULL));
}

PLAIN_CASE(a_field_has_its_type_its_number_and_its_claims)
{
    const kl__schema *pod = builtin("", "v1", "Pod");
    const kl__schema *spec = at(pod, "spec");
    const kl__schema_field *containers = member(spec, "containers");

    assert_true(containers->required);
    assert_int_equal(containers->number, 2);
    assert_int_equal(containers->schema->type, KL__SCHEMA_ARRAY);
    assert_int_equal(containers->schema->list, KL__LIST_MAP);
    assert_string_equal(containers->schema->map_keys[0], "name");
    assert_null(containers->schema->map_keys[1]);
    assert_true(containers->schema->flags & KL__SCHEMA_MERGE);
    assert_string_equal(containers->schema->merge_key, "name");
    assert_string_equal(containers->schema->items->go, "v1.Container");
    assert_int_equal(at(pod, "spec containers * ports")->list, KL__LIST_MAP);
    assert_string_equal(at(pod, "spec containers * ports")->map_keys[1],
                        "protocol");
    assert_string_equal(at(pod, "spec restartPolicy")->go, "v1.RestartPolicy");
    assert_int_equal(at(pod, "metadata creationTimestamp")->format,
                     KL__FORMAT_TIME);
    assert_int_equal(at(pod, "spec containers * resources limits *")->format,
                     KL__FORMAT_QUANTITY);
    assert_true(
        at(builtin("apps", "v1", "Deployment"), "spec replicas")->flags &
        KL__SCHEMA_POINTER);
    assert_int_equal(
        at(builtin("apps", "v1", "Deployment"), "spec selector")->list,
        KL__LIST_ATOMIC);
}

PLAIN_CASE(an_inlined_struct_is_a_message_of_its_own)
{
    const kl__schema *volume = at(builtin("", "v1", "Pod"), "spec volumes *");
    const kl__schema_field *path = member(volume, "hostPath");

    assert_int_equal(kl__schema_step(path->number, 0), 2);
    assert_int_equal(kl__schema_step(path->number, 2), path->number);
    assert_int_equal(path->number % KL__SCHEMA_BASE, 1);
    assert_int_equal(kl__schema_step(path->number, 3), 0);
    assert_int_equal(member(volume, "name")->number, 1);
    assert_int_equal(member(builtin("", "v1", "Pod"), "kind")->number, 0);
}

PLAIN_CASE(a_type_may_contain_itself)
{
    const kl__schema *crd =
        builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    const kl__schema *props = at(crd, "spec versions * schema openAPIV3Schema");

    assert_string_equal(props->go, "v1.JSONSchemaProps");
    assert_ptr_equal(at(props, "properties * not")->fields, props->fields);
    assert_string_equal(
        at(props, "items")->name,
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
        "JSONSchemaPropsOrArray");
}

PLAIN_CASE(every_row_of_the_table_reads)
{
    const char *name;
    size_t fields = 0;

    for (size_t i = 0; (name = kl__schema_name_at(i)) != NULL; i++) {
        const kl__schema *type = kl__schema_type_named(name, NULL);

        assert_non_null(type);
        assert_string_equal(type->name, name);
        for (size_t j = 0; j < type->field_count; j++) {
            const kl__schema_field *field = &type->fields[j];
            size_t length = strlen(field->name);

            assert_ptr_equal(kl__schema_get(type, field->name, length), field);
            fields++;
        }
    }
    assert_true(fields > 1500);
}

/* Reads a type, another one upon it, and gives both back. */
static kl_code read_two(void *context)
{
    kl_error err = {0};

    (void)context;
    if (kl__schema_builtin("", "v1", "Secret", &err) != NULL &&
        kl__schema_builtin("", "v1", "Pod", &err) != NULL) {
        err.code = KL_OK;
    }
    kl__schema_release();
    return err.code;
}

PLAIN_CASE(running_out_of_memory_is_an_error)
{
    kl__schema_release();
    assert_true(failing_alloc_each(read_two, NULL) > 5);
}

/* What could not be read is read the next time, and what was stays. */
PLAIN_CASE(a_type_that_could_not_be_read_is_forgotten)
{
    const kl__schema *secret;

    kl__schema_release();
    secret = builtin("", "v1", "Secret");
    failing_alloc_install();
    for (long nth = 1; nth <= 3; nth++) {
        failing_alloc_fail_at(nth, 1);
        assert_null(kl__schema_builtin("", "v1", "Pod", NULL));
    }
    failing_alloc_uninstall();
    assert_string_equal(at(builtin("", "v1", "Pod"), "spec containers *")->go,
                        "v1.Container");
    assert_ptr_equal(builtin("", "v1", "Secret"), secret);
}

static void *ask(void *argument)
{
    return (void *)kl__schema_builtin("", "v1", argument, NULL);
}

PLAIN_CASE(threads_share_what_was_read)
{
    pthread_t threads[4];
    void *found[4];

    kl__schema_release();
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, "Pod"), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], &found[i]);
        assert_ptr_equal(found[i], found[0]);
    }
}

static int nothing_is_left(void **state)
{
    (void)state;
    kl__schema_release();
    return kl_live_count(KL_LIVE_DOC) == 0 ? 0 : -1;
}

SPEC_END(nothing_is_left)

/* ---- Errors of an object's fields in the words of a real API server: each
 * line is an answer of one. */

typedef struct line {
    const char *json;
    const char *found; /* the error, or fields joined with ", " */
} line;

/* What is found in an object of a kind of apps/v1 or v1, as one text. */
static char *find(const char *kind, const char *json, kl_error *err)
{
    bool deployment = strcmp(kind, "Deployment") == 0;
    const kl__schema *schema =
        kl__schema_builtin(deployment ? "apps" : "", "v1", kind, err);
    kl__edit *edit = kl__edit_new(err);
    kl__node *root =
        edit != NULL ? kl__edit_parse(edit, json, strlen(json), err) : NULL;
    kl__findings found = {0};
    kl__buf text = {0};

    if (schema != NULL && root != NULL &&
        kl__schema_check(root, schema, &found, err) == KL_OK) {
        kl__buf_puts(&text, found.error != NULL ? found.error : "");
        for (size_t i = 0; found.error == NULL && i < found.field_count; i++) {
            kl__buf_printf(&text, "%s%s", i > 0 ? ", " : "", found.fields[i]);
        }
    }
    kl__findings_deinit(&found);
    kl__edit_free(edit);
    return kl__buf_take(&text, NULL);
}

static void expect(const char *kind, const line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        kl_error err = {0};
        char *found = find(kind, lines[i].json, &err);

        if (found == NULL || strcmp(found, lines[i].found) != 0) {
            fail_msg("%s: %s %s", lines[i].json, found, err.message);
        }
        kl_free(found);
    }
}

#define EXPECT(kind, lines) expect(kind, lines, sizeof(lines) / sizeof(*lines))
#define INTO "json: cannot unmarshal "
#define STRUCT " into Go struct field "

PLAIN_CASE(a_value_of_a_wrong_type_names_field_and_type)
{
    static const line deployments[] = {
        {"{\"spec\":{\"replicas\":\"3\"}}",
         INTO "string" STRUCT "DeploymentSpec.spec.replicas of type int32"},
        {"{\"spec\":{\"replicas\":1.5}}",
         INTO "number 1.5" STRUCT "DeploymentSpec.spec.replicas of type int32"},
        {"{\"spec\":{\"replicas\":3000000000}}",
         INTO "number 3000000000" STRUCT
              "DeploymentSpec.spec.replicas of type int32"},
        {"{\"spec\":{\"replicas\":99999999999999999999}}",
         INTO "number 99999999999999999999" STRUCT
              "DeploymentSpec.spec.replicas of type int32"},
        {"{\"spec\":{\"selector\":[]}}",
         INTO "array" STRUCT
              "DeploymentSpec.spec.selector of type v1.LabelSelector"},
        {"{\"spec\":{\"selector\":{\"matchLabels\":{\"a\":1}}}}",
         INTO "number" STRUCT
              "LabelSelector.spec.selector.matchLabels of type string"},
        {"{\"spec\":{\"selector\":{\"matchLabels\":[\"a\"]}}}",
         INTO "array" STRUCT "LabelSelector.spec.selector.matchLabels of type "
              "map[string]string"},
        {"{\"spec\":{\"template\":{\"spec\":{\"containers\":[\"x\",1]}}}}",
         INTO "string" STRUCT
              "PodSpec.spec.template.spec.containers of type v1.Container"},
        {"{\"spec\":{\"template\":{\"spec\":{\"containers\":{}}}}}",
         INTO "object" STRUCT
              "PodSpec.spec.template.spec.containers of type []v1.Container"},
        {"{\"spec\":{\"strategy\":{\"type\":7}}}",
         INTO "number" STRUCT "DeploymentStrategy.spec.strategy.type of type "
              "v1.DeploymentStrategyType"},
        {"{\"spec\":{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":true}}}}",
         INTO "bool" STRUCT
              "RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of "
              "type int32"},
        {"{\"spec\":[]}",
         INTO "array" STRUCT "Deployment.spec of type v1.DeploymentSpec"},
        {"{\"spec\":{\"replicas\":null,\"paused\":false}}", ""}};

    EXPECT("Deployment", deployments);
}

PLAIN_CASE(a_struct_that_go_inlines_is_named)
{
    static const line pods[] = {
        {"{\"spec\":{\"volumes\":[{\"emptyDir\":\"x\"}]}}", INTO
         "string" STRUCT "Volume.spec.volumes.VolumeSource.emptyDir of type "
         "v1.EmptyDirVolumeSource"},
        {"{\"spec\":{\"containers\":[{\"livenessProbe\":{\"httpGet\":{\"port\":"
         "99999999999}}}]}}",
         INTO "number 99999999999" STRUCT
              "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler."
              "httpGet.port of type int32"},
        {"{\"spec\":{\"ephemeralContainers\":[{\"name\":5}]}}",
         INTO "number" STRUCT "EphemeralContainer.spec.ephemeralContainers."
              "EphemeralContainerCommon.name of type string"},
    };

    EXPECT("Pod", pods);
}

PLAIN_CASE(quantities_times_and_bytes_are_read)
{
#define QUANTITY                                    \
    "quantities must match the regular expression " \
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define LIMIT(value) \
    "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":" value "}}]}}"
#define LAYOUT "\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \""
#define CREATED(value) "{\"metadata\":{\"creationTimestamp\":" value "}}"
    static const line pods[] = {
        {LIMIT("{\"cpu\":\"x\"}"), QUANTITY},
        {LIMIT("{\"cpu\":[]}"), QUANTITY},
        {LIMIT("{\"cpu\":0.5,\"memory\":null}"), ""},
        {LIMIT("\"x\""),
         INTO "string" STRUCT
              "ResourceRequirements.spec.containers.resources.limits of type "
              "v1.ResourceList"},
        {CREATED("5"),
         INTO "number" STRUCT "ObjectMeta.metadata.creationTimestamp of type "
              "string"},
        {CREATED("\"2020\""), "parsing time \"2020" LAYOUT "\" as \"-\""},
        {CREATED("\"2020-13-01T00:00:00Z\""),
         "parsing time \"2020-13-01T00:00:00Z\": month out of range"},
        {CREATED("\"2020-02-30T00:00:00Z\""),
         "parsing time \"2020-02-30T00:00:00Z\": day out of range"},
        {CREATED("\"2020-01-01 00:00:00Z\""),
         "parsing time \"2020-01-01 00:00:00Z" LAYOUT " 00:00:00Z\" as \"T\""},
        {CREATED("\"2020-01-01T00:00:00Zx\""),
         "parsing time \"2020-01-01T00:00:00Zx\": extra text: \"x\""},
        {CREATED("\"2020-01-01T00:00:00+25:00\""),
         "parsing time \"2020-01-01T00:00:00+25:00\": time zone offset hour "
         "out of range"},
        {CREATED("\"2020-01-01T0:00:00,5Z\""), ""},
    };
    static const line maps[] = {
        {"{\"binaryData\":{\"a\":\"%%%\"}}",
         "illegal base64 data at input byte 0"},
        {"{\"binaryData\":{\"a\":\"YQ\"}}",
         "illegal base64 data at input byte 0"},
        {"{\"binaryData\":{\"a\":1}}",
         INTO "number" STRUCT "ConfigMap.binaryData of type []uint8"},
        {"{\"binaryData\":{\"a\":[97,98],\"b\":\"YQ==\"}}", ""},
    };

    EXPECT("Pod", pods);
    EXPECT("ConfigMap", maps);
}

PLAIN_CASE(unknown_fields_are_reported_in_order)
{
    static const line pods[] = {
        {"{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"name\":"
         "\"c\",\"foo\":1,\"ports\":[{\"containerPort\":80,\"x\":1}],"
         "\"resources\":{\"zz\":1}}],\"zap\":null}}",
         "unknown field \"spec.containers[0].foo\", unknown field "
         "\"spec.containers[0].ports[0].x\", unknown field "
         "\"spec.containers[0].resources.zz\", unknown field \"spec.zap\""},
        {"{\"foo\":1,\"Spec\":{}}",
         "unknown field \"foo\", unknown field \"Spec\""},
    };

    EXPECT("Pod", pods);
}

static kl_code run_out(void *context)
{
    kl_error err = {0};
    char *found = find("Pod", context, &err);

    kl_free(found);
    kl__schema_release();
    return found == NULL ? KL_ENOMEM : err.code;
}

PLAIN_CASE(a_check_out_of_memory_is_an_error)
{
    kl__schema_release();
    failing_alloc_each(run_out, "{\"foo\":1,\"metadata\":{\"labels\":{\"a\":"
                                "\"b\",\"a\":\"c\"}}}");
    failing_alloc_each(run_out, "{\"spec\":{\"containers\":[5]}}");
}

/* ---- An object of a built-in kind becomes what a real API server makes of
 * it: each line is a part of what one answered. */

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
    const char *path; /* what of the result is looked at_path, and */
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
static kl__node *at_path(kl__node *node, const char *path)
{
    while (*path != '\0' && node != NULL) {
        size_t length = strcspn(path, " ");

        node = *path == '0' ? kl__node_at(node, 0)
                            : kl__node_get_n(node, path, length);
        path += length + (path[length] == ' ');
    }
    return node;
}

static void expect_stored(const trial *each)
{
    kl_error err = {0};
    kl__edit *edit = kl__edit_new(&err);
    kl__node *root = stored(edit, each->kind, sim_json(each->json), &err);
    kl__node *found = at_path(root, each->path);
    const char *is = each->is != NULL ? sim_json(each->is) : NULL;
    kl__node *wanted =
        is != NULL ? kl__edit_parse(edit, is, strlen(is), &err) : NULL;

    assert_non_null(root);
    if ((found == NULL) != (wanted == NULL) ||
        (wanted != NULL && !kl__node_equal(found, wanted))) {
        char *text = found != NULL ? kl__node_json(found, NULL, NULL) : NULL;

        fail_msg("%s %s: %s is %s", each->kind, each->json, each->path, text);
    }
    kl__edit_free(edit);
}

static void every(const trial *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect_stored(&lines[i]);
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
        const trial each = {"/v1/Pod", json,
                            "spec containers 0 imagePullPolicy", is};

        snprintf(json, sizeof(json), ONE(", image: '%s'"), images[i][0]);
        snprintf(is, sizeof(is), "\"%s\"", images[i][1]);
        expect_stored(&each);
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

static kl_code complete_pod(void *context)
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

PLAIN_CASE(defaults_out_of_memory_are_an_error)
{
    kl__schema_release();
    failing_alloc_each(complete_pod,
                       "{\"spec\":{\"containers\":[{\"name\":\"c\","
                       "\"resources\":{\"limits\":{\"cpu\":0.5}}}]}}");
}
