/*
 * schema_check_spec.c - errors of an object's fields in the words of a real API
 * server: each line is an answer of one.
 */
#include "spec_case.h"
#include "sim/core/schema/schema_check.h"

#include "base/buf.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"

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

PLAIN_CASE(running_out_of_memory_is_an_error)
{
    kl__schema_release();
    failing_alloc_each(run_out, "{\"foo\":1,\"metadata\":{\"labels\":{\"a\":"
                                "\"b\",\"a\":\"c\"}}}");
    failing_alloc_each(run_out, "{\"spec\":{\"containers\":[5]}}");
}

static int release(void **state)
{
    (void)state;
    kl__schema_release();
    return 0;
}

SPEC_END(release)
