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

/* The kind in messages about its objects: "ConfigMap", "Foo.example.com". */
static void qualify(const kl__sim_kind *kind, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", kind->kind, *kind->group != '\0' ? "." : "",
             kind->group);
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
                     "ObjectMeta.%s%s of type %s",
                     go_type(bad), prefix, rule->name,
                     bad == value ? rule->go : "string");
            return false;
        }
    }
    return true;
}

/* Whether kind and apiVersion are those of the path. */
static bool check_type(kl__sim_answer *answer, const kl__sim_kind *kind,
                       const kl_value *root, kl_code *code, kl_error *err)
{
    const char *group = *kind->group != '\0' ? kind->group : "";
    const char *given_kind = kl__sim_text(root, "kind");
    const char *given = kl__sim_text(root, "apiVersion");
    const char *version = answer->ask.route.version;
    bool is_custom = kl__sim_kind_is(kind, KL__SIM_CUSTOM);
    char expected[512];

    snprintf(expected, sizeof(expected), "%s%s%s", group,
             *group != '\0' ? "/" : "", version);
    if (is_custom && (given_kind == NULL || given == NULL)) {
        *code = kl__sim_refuse(
            answer, 400, "BadRequest", err,
            "the object provided is unrecognized (must be of type %s): Object "
            "'%s' is missing in '%.200s'",
            kind->kind, given_kind == NULL ? "Kind" : "apiVersion",
            answer->ask.body);
        return false;
    }
    if (given_kind != NULL && *given_kind != '\0' &&
        strcmp(given_kind, kind->kind) != 0) {
        *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                               "%s in version \"%s\" cannot be handled as a %s",
                               given_kind, given != NULL ? given : version,
                               kind->kind);
        return false;
    }
    if (given != NULL && *given != '\0' && strcmp(given, expected) != 0) {
        *code = kl__sim_refuse(
            answer, 400, "BadRequest", err,
            "the API version in the data (%s) does not match the expected API "
            "version (%s)",
            given, expected);
        return false;
    }
    return true;
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
    const char *dry = kl__sim_parameter_get(ask, "dryRun");
    const kl_value *root;
    char why[256];

    if (!check_media(answer, code, err)) {
        return false;
    }
    if (dry != NULL && strcmp(dry, "All") != 0) {
        kl__sim_status status = {.group = "meta.k8s.io",
                                 .kind = "CreateOptions"};

        kl__sim_cause_add(&status, "FieldValueNotSupported", "dryRun",
                          "Unsupported value: \"%s\": supported values: "
                          "\"All\"",
                          dry);
        *code = kl__sim_refuse_invalid(answer, &status,
                                       "CreateOptions.meta.k8s.io", err);
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
    if (!check_type(answer, kind, root, code, err)) {
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

/* --- Names. --------------------------------------------------------------- */

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* RFC 1123: letters, digits and '-', which neither begins nor ends it. */
static bool is_label(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool inside = i > 0 && i + 1 < length;

        if (!is_letter_or_digit(name[i]) && !(inside && name[i] == '-')) {
            return false;
        }
    }
    return length > 0;
}

static bool is_subdomain(const char *name)
{
    for (;;) {
        size_t length = strcspn(name, ".");

        if (!is_label(name, length)) {
            return false;
        }
        if (name[length] == '\0') {
            return true;
        }
        name += length + 1;
    }
}

static bool is_path_segment(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           strpbrk(name, "/%") == NULL;
}

static const char SUBDOMAIN[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
static const char LABEL[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric "
    "characters or '-', and must start and end with an alphanumeric character "
    "(e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
static const char SERVICE[] =
    "a DNS-1035 label must consist of lower case alphanumeric characters or "
    "'-', start with an alphabetic character, and end with an alphanumeric "
    "character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";

/* Why a kind does not allow a name; NULL: it does. */
static const char *name_fault(const kl__sim_kind *kind, const char *name)
{
    size_t length = strlen(name);

    if (strcmp(kind->group, "rbac.authorization.k8s.io") == 0 ||
        strcmp(kind->plural, "ipaddresses") == 0) {
        return is_path_segment(name) ? NULL : "may not contain '/' or '%'";
    }
    if (kl__sim_is_namespace(kind)) {
        return length > 63              ? "must be no more than 63 bytes"
               : is_label(name, length) ? NULL
                                        : LABEL;
    }
    if (*kind->group == '\0' && strcmp(kind->plural, "services") == 0) {
        bool begins = *name >= 'a' && *name <= 'z';

        return length > 63 ? "must be no more than 63 bytes"
               : begins && is_label(name, length) ? NULL
                                                  : SERVICE;
    }
    return length > 253         ? "must be no more than 253 bytes"
           : is_subdomain(name) ? NULL
                                : SUBDOMAIN;
}

bool kl__sim_check_name(kl__sim_answer *answer, const kl__sim_kind *kind,
                        const char *name, kl_code *code, kl_error *err)
{
    kl__sim_status status = {
        .name = name, .group = kind->group, .kind = kind->kind};
    const char *fault = name != NULL ? name_fault(kind, name) : NULL;
    char qualified[512];

    if (name != NULL && fault == NULL) {
        return true;
    }
    if (name == NULL) {
        kl__sim_cause_add(&status, "FieldValueRequired", "metadata.name",
                          "Required value: name or generateName is required");
    } else {
        kl__sim_cause_add(&status, "FieldValueInvalid", "metadata.name",
                          "Invalid value: \"%s\": %s", name, fault);
    }
    qualify(kind, qualified, sizeof(qualified));
    *code = kl__sim_refuse_invalid(answer, &status, qualified, err);
    return false;
}
