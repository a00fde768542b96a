/*
 * sim_decode.c - the first stage of a write: parses the body, and checks that
 * it is an object of the kind that the path names.
 */
#include "sim/core/write/sim_pipeline.h"

#include "base/str.h"
#include "sim/core/request/sim_said.h"
#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>

bool kl__sim_is_dry(const kl__sim_answer *answer)
{
    return kl__sim_parameter_get(&answer->ask, "dryRun") != NULL;
}

static const char *go_type(const kl__node *value)
{
    switch (kl__node_type(value)) {
    case KL_BOOL:
        return "bool";
    case KL_STRING:
        return "string";
    case KL_ARRAY:
        return "array";
    case KL_OBJECT:
        return "object";
    default:
        return "number";
    }
}

kl_code kl__sim_refuse_option(kl__sim_answer *answer, const char *name,
                              const char *given, const char *supported,
                              kl_error *err)
{
    const char *verb = kl__sim_verb(&answer->ask);
    kl__sim_status status = {.group = "meta.k8s.io"};
    char qualified[64];

    status.kind = strcmp(verb, "create") == 0   ? "CreateOptions"
                  : strcmp(verb, "update") == 0 ? "UpdateOptions"
                  : strcmp(verb, "patch") == 0  ? "PatchOptions"
                                                : "DeleteOptions";
    kl__sim_cause_add(&status, "FieldValueNotSupported", name,
                      "Unsupported value: %s: supported values: %s", given,
                      supported);
    snprintf(qualified, sizeof(qualified), "%s.meta.k8s.io", status.kind);
    return kl__sim_refuse_invalid(answer, &status, qualified, err);
}

bool kl__sim_check_dry(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const char *dry = kl__sim_parameter_get(&answer->ask, "dryRun");
    char shown[256];

    if (dry == NULL || strcmp(dry, "All") == 0) {
        return true;
    }
    snprintf(shown, sizeof(shown), "[\"%.200s\"]", dry);
    *code = kl__sim_refuse_option(answer, "dryRun", shown, "\"All\"", err);
    return false;
}

/* A member of metadata, and the type that it must have. */
typedef struct meta_rule {
    const char *name;
    kl_type type;
    kl_type element; /* the type of elements or values; KL_NULL: any */
    const char *go;  /* Go's word for the type */
} meta_rule;

static const meta_rule rules[] = {
    {"name", KL_STRING, KL_NULL, "string"},
    {"generateName", KL_STRING, KL_NULL, "string"},
    {"namespace", KL_STRING, KL_NULL, "string"},
    {"uid", KL_STRING, KL_NULL, "types.UID"},
    {"resourceVersion", KL_STRING, KL_NULL, "string"},
    {"creationTimestamp", KL_STRING, KL_NULL, "string"},
    {"deletionTimestamp", KL_STRING, KL_NULL, "string"},
    {"generation", KL_INTEGER, KL_NULL, "int64"},
    {"labels", KL_OBJECT, KL_STRING, "map[string]string"},
    {"annotations", KL_OBJECT, KL_STRING, "map[string]string"},
    {"finalizers", KL_ARRAY, KL_STRING, "[]string"},
    {"ownerReferences", KL_ARRAY, KL_OBJECT, "[]v1.OwnerReference"},
    {"managedFields", KL_ARRAY, KL_OBJECT, "[]v1.ManagedFieldsEntry"}};

/* The value that has the wrong type: `value` or an element of it. NULL: all
 * have the right type. */
static const kl__node *broken_by(const meta_rule *rule, const kl__node *value)
{
    const kl__node *element;
    kl__node_iter iter = {0};

    if (kl__node_type(value) == KL_NULL) {
        return NULL;
    }
    if (kl__node_type(value) != rule->type) {
        return value;
    }
    if (rule->element == KL_NULL) {
        return NULL;
    }
    while ((element = kl__node_next(value, &iter, NULL, NULL)) != NULL) {
        if (kl__node_type(element) != rule->element &&
            kl__node_type(element) != KL_NULL) {
            return element;
        }
    }
    return NULL;
}

bool kl__sim_metadata_fits(const kl__sim_kind *kind, const kl__node *root,
                           char *why, size_t size)
{
    const kl__node *metadata = kl__node_get(root, "metadata");
    const char *prefix =
        kl__sim_kind_is(kind, KL__SIM_CUSTOM) ? "" : "metadata.";
    const meta_rule whole = {"", KL_OBJECT, KL_NULL, "v1.ObjectMeta"};

    for (size_t i = 0; i <= sizeof(rules) / sizeof(rules[0]); i++) {
        const meta_rule *rule = i == 0 ? &whole : &rules[i - 1];
        const kl__node *value =
            i == 0 ? metadata : kl__node_get(metadata, rule->name);
        const kl__node *bad = broken_by(rule, value);

        if (bad != NULL) {
            snprintf(why, size,
                     "json: cannot unmarshal %s into Go struct field "
                     "%s.%s%s of type %s",
                     go_type(bad), i == 0 ? kind->kind : "ObjectMeta",
                     i == 0 ? "metadata" : prefix, rule->name,
                     bad == value ? rule->go : "string");
            return false;
        }
    }
    return true;
}

/* Refuses a custom object whose kind or apiVersion is missing or wrong. */
static bool check_custom_type(kl__sim_answer *answer, const kl__sim_kind *kind,
                              const kl_value *root, kl_code *code,
                              kl_error *err)
{
    const char *given_kind = kl__sim_text(root, "kind");
    const char *given = kl__sim_text(root, "apiVersion");
    kl__sim_status status = {
        .name = kl__sim_text(kl_value_get(root, "metadata"), "name"),
        .group = kind->group,
        .kind = given_kind};
    char shown[KL__SIM_SHOWN_SIZE];
    char text[512];

    if (given_kind == NULL || *given_kind == '\0') {
        *code = kl__sim_refuse(
            answer, 400, "BadRequest", err,
            "the object provided is unrecognized (must be of type %s): Object "
            "'Kind' is missing in '%.200s' (%s)",
            kind->kind, answer->ask.body,
            kl__sim_show_body(&answer->ask, shown));
        return false;
    }
    snprintf(text, sizeof(text), "%s/%s", kind->group,
             answer->ask.route.version);
    if (given == NULL || strcmp(given, text) != 0) {
        *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                               "the API version in the data (%s) does not "
                               "match the expected API version (%s)",
                               given != NULL ? given : "", text);
        return false;
    }
    if (strcmp(given_kind, kind->kind) == 0) {
        return true;
    }
    kl__sim_cause_add(&status, "FieldValueInvalid", "kind",
                      "Invalid value: \"%s\": must be %s", given_kind,
                      kind->kind);
    snprintf(text, sizeof(text), "%.200s.%s", given_kind, kind->group);
    *code = kl__sim_refuse_invalid(answer, &status, text, err);
    return false;
}

/* Refuses a built-in object whose kind or apiVersion is wrong; both may be
 * absent. */
static bool check_builtin_type(kl__sim_answer *answer, const kl__sim_kind *kind,
                               const kl_value *root, kl_code *code,
                               kl_error *err)
{
    const char *given_kind = kl__sim_text(root, "kind");
    const char *given = kl__sim_text(root, "apiVersion");
    const char *version;
    char expected[512];

    snprintf(expected, sizeof(expected), "%s%s%s", kind->group,
             *kind->group != '\0' ? "/" : "", answer->ask.route.version);
    if (given_kind == NULL || *given_kind == '\0') {
        given_kind = kind->kind;
    }
    if (given == NULL || *given == '\0') {
        given = expected;
    }
    given += *given == '/'; /* Go also reads "/v1" as "v1" */
    if (strcmp(given, expected) == 0 && strcmp(given_kind, kind->kind) == 0) {
        return true;
    }
    version = strchr(given, '/') != NULL ? strchr(given, '/') + 1 : given;
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "%s in version \"%s\" cannot be handled as a %s",
                           given_kind, version, kind->kind);
    return false;
}

kl_code kl__sim_refuse_media(kl__sim_answer *answer, kl_error *err)
{
    return kl__sim_refuse(answer, 415, "UnsupportedMediaType", err,
                          "the body of the request was in an unknown format - "
                          "accepted media types include: application/json, "
                          "application/yaml, "
                          "application/vnd.kubernetes.protobuf");
}

static bool check_media(const kl__sim_write *write, kl_code *code,
                        kl_error *err)
{
    kl__sim_answer *answer = write->answer;
    const char *type = answer->ask.content_type;
    size_t length = strcspn(type, "; ");

    if (length == 0 ||
        (answer->ask.is_protobuf && !kl__sim_write_is_custom(write)) ||
        (length == 16 && (!strncmp(type, "application/json", 16) ||
                          !strncmp(type, "application/yaml", 16)))) {
        return true;
    }
    *code = kl__sim_refuse_media(answer, err);
    return false;
}

/* Refuses a body that could not be parsed. */
static kl_code refuse_body(const kl__sim_write *write, const char *fault,
                           kl_error *err)
{
    const kl__sim_ask *ask = &write->answer->ask;
    const char *kind = write->kind->kind;
    char shown[KL__SIM_SHOWN_SIZE];

    if (ask->sent_kind != NULL && ask->doc == NULL) {
        const char *slash = strchr(ask->sent_version, '/');

        return kl__sim_refuse(
            write->answer, 400, "BadRequest", err,
            "%s in version \"%s\" cannot be handled as a %s: %s",
            ask->sent_kind, slash != NULL ? slash + 1 : ask->sent_version, kind,
            ask->parse.message);
    }
    return kl__sim_refuse(
        write->answer, 400, "BadRequest", err,
        "the object provided is unrecognized (must be of type %s): %s (%s)",
        kind, ask->is_protobuf ? ask->parse.message : fault,
        kl__sim_show_body(ask, shown));
}

static kl_code check_metadata(kl__sim_write *write, kl_error *err)
{
    const char *kind = write->kind->kind;
    char why[256];

    if (kl__sim_metadata_fits(write->kind, kl__sim_write_root(write), why,
                              sizeof(why))) {
        return KL_OK;
    }
    return kl__sim_refuse(write->answer, 400, "BadRequest", err,
                          "%s in version \"%s\" cannot be handled as a %s: %s",
                          kind, write->answer->ask.route.version, kind, why);
}

kl_code kl__sim_decode(kl__sim_write *write, kl_error *err)
{
    kl__sim_answer *answer = write->answer;
    const kl__sim_ask *ask = &answer->ask;
    const kl_value *root = ask->doc != NULL ? kl_doc_root(ask->doc) : NULL;
    char text[KL__SIM_SAID_SIZE];
    const char *fault = kl__sim_body_fault(ask, text);
    kl_code code = KL_OK;

    if (!check_media(write, &code, err) ||
        !kl__sim_check_dry(answer, &code, err)) {
        return code;
    }
    if (fault != NULL) {
        return refuse_body(write, fault, err);
    }
    if (kl__sim_write_is_custom(write)
            ? !check_custom_type(answer, write->kind, root, &code, err)
            : !check_builtin_type(answer, write->kind, root, &code, err)) {
        return code;
    }
    write->edit = kl_value_type(root) == KL_OBJECT ? kl__edit_of(root, err)
                                                   : kl__edit_new(err);
    if (write->edit == NULL) {
        return KL_ENOMEM;
    }
    if (kl__sim_write_root(write) == NULL) {
        kl__edit_set_root(write->edit, kl__edit_object(write->edit));
    }
    return kl__sim_write_root(write) != NULL ? check_metadata(write, err)
                                             : kl__sim_no_memory(err);
}
