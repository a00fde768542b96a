/*
 * sim_check.c - whether a body is an object of the kind that it is sent to, and
 * its name one that the kind allows.
 */
#include "sim/sim_write.h"

#include "base/str.h"
#include "sim/sim_status.h"

#include <stdio.h>
#include <string.h>

bool kl__sim_is_dry(const kl__sim_answer *answer)
{
    return kl__sim_parameter_get(&answer->ask, "dryRun") != NULL;
}

static const char *go_type(const kl_value *value)
{
    switch (kl_value_type(value)) {
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

bool kl__sim_check_dry(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const char *dry = kl__sim_parameter_get(&answer->ask, "dryRun");
    const char *verb = kl__sim_verb(&answer->ask);
    kl__sim_status status = {.group = "meta.k8s.io"};
    char qualified[64];

    if (dry == NULL || strcmp(dry, "All") == 0) {
        return true;
    }
    status.kind = strcmp(verb, "create") == 0   ? "CreateOptions"
                  : strcmp(verb, "update") == 0 ? "UpdateOptions"
                  : strcmp(verb, "patch") == 0  ? "PatchOptions"
                                                : "DeleteOptions";
    kl__sim_cause_add(&status, "FieldValueNotSupported", "dryRun",
                      "Unsupported value: [\"%s\"]: supported values: \"All\"",
                      dry);
    snprintf(qualified, sizeof(qualified), "%s.meta.k8s.io", status.kind);
    *code = kl__sim_refuse_invalid(answer, &status, qualified, err);
    return false;
}

/* What a member of metadata has to be. */
typedef struct meta_rule {
    const char *name;
    kl_type type;
    kl_type element; /* of an array or object; KL_NULL: any */
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

/* The value that breaks a rule, or NULL. */
static const kl_value *broken_by(const meta_rule *rule, const kl_value *value)
{
    const kl_value *element;
    kl_value_iter iter = {0};

    if (kl_value_type(value) == KL_NULL) {
        return NULL;
    }
    if (kl_value_type(value) != rule->type) {
        return value;
    }
    if (rule->element == KL_NULL) {
        return NULL;
    }
    while ((element = kl_value_next(value, &iter, NULL)) != NULL) {
        if (kl_value_type(element) != rule->element &&
            kl_value_type(element) != KL_NULL) {
            return element;
        }
    }
    return NULL;
}

bool kl__sim_metadata_fits(const kl__sim_kind *kind, const kl_value *root,
                           char *why, size_t size)
{
    const kl_value *metadata = kl_value_get(root, "metadata");
    const char *prefix =
        kl__sim_kind_is(kind, KL__SIM_CUSTOM) ? "" : "metadata.";
    const meta_rule whole = {"", KL_OBJECT, KL_NULL, "v1.ObjectMeta"};

    for (size_t i = 0; i <= sizeof(rules) / sizeof(rules[0]); i++) {
        const meta_rule *rule = i == 0 ? &whole : &rules[i - 1];
        const kl_value *value =
            i == 0 ? metadata : kl_value_get(metadata, rule->name);
        const kl_value *bad = broken_by(rule, value);

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

/* A custom object says what it is. */
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
    char text[512];

    if (given_kind == NULL || *given_kind == '\0') {
        *code = kl__sim_refuse(
            answer, 400, "BadRequest", err,
            "the object provided is unrecognized (must be of type %s): Object "
            "'Kind' is missing in '%.200s'",
            kind->kind, answer->ask.body);
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

/* A built-in one may leave out what it is, but must not lie. */
static bool check_type(kl__sim_answer *answer, const kl__sim_kind *kind,
                       const kl_value *root, kl_code *code, kl_error *err)
{
    const char *given_kind = kl__sim_text(root, "kind");
    const char *given = kl__sim_text(root, "apiVersion");
    const char *version = answer->ask.route.version;
    char expected[512], why[256] = "";

    snprintf(expected, sizeof(expected), "%s%s%s", kind->group,
             *kind->group != '\0' ? "/" : "", version);
    if (given_kind == NULL || *given_kind == '\0') {
        given_kind = kind->kind;
    }
    if (given == NULL || *given == '\0') {
        given = expected;
    }
    if (strcmp(given, expected) != 0) {
        snprintf(why, sizeof(why),
                 "no kind \"%.60s\" is registered for version \"%.60s\"",
                 given_kind, given);
    } else if (strcmp(given_kind, kind->kind) != 0) {
        snprintf(why, sizeof(why),
                 "converting (%s.%.60s) to (%s.%.60s): unknown conversion",
                 version, given_kind,
                 *kind->group != '\0' ? kind->group : "core", kind->kind);
    } else {
        return true;
    }
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "%s in version \"%s\" cannot be handled as a %s: %s",
                           given_kind, given, kind->kind, why);
    return false;
}

static bool check_media(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const char *type = answer->ask.content_type;
    size_t length = strcspn(type, "; ");

    if (length == 0 ||
        (length == 16 && (!strncmp(type, "application/json", 16) ||
                          !strncmp(type, "application/yaml", 16)))) {
        return true;
    }
    *code = kl__sim_refuse(answer, 415, "UnsupportedMediaType", err,
                           "the body of the request was in an unknown format - "
                           "accepted media types include: application/json, "
                           "application/yaml");
    return false;
}

bool kl__sim_check_body(kl__sim_answer *answer, const kl__sim_kind *kind,
                        kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const kl_value *root;
    char why[256];

    if (!check_media(answer, code, err) ||
        !kl__sim_check_dry(answer, code, err)) {
        return false;
    }
    root = ask->doc != NULL ? kl_doc_root(ask->doc) : NULL;
    if (ask->doc == NULL ||
        (kl_value_type(root) != KL_OBJECT && kl_value_type(root) != KL_NULL)) {
        *code = kl__sim_refuse(
            answer, 400, "BadRequest", err,
            "the object provided is unrecognized (must be of type %s): "
            "couldn't get version/kind; json parse error: %s",
            kind->kind,
            ask->doc == NULL ? ask->parse.message : "it is no object");
        return false;
    }
    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)
            ? !check_custom_type(answer, kind, root, code, err)
            : !check_type(answer, kind, root, code, err)) {
        return false;
    }
    if (!kl__sim_metadata_fits(kind, root, why, sizeof(why))) {
        *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                               "%s in version \"%s\" cannot be handled as a "
                               "%s: %s",
                               kind->kind, ask->route.version, kind->kind, why);
        return false;
    }
    return true;
}
