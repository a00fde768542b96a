/*
 * definition_fields.c - see definition_parts.h: checks the spec of a
 * definition. If a member is equal in all versions, kube-apiserver moves it
 * from the versions to spec; messages name its path there.
 */
#include "sim/core/schema/definition_parts.h"

#include "base/mem.h"
#include "sim/core/schema/custom.h"
#include "sim/core/schema/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void definition_scale(kl__definition *self,
                             const kl_value *subresources);

static void kl__definition_columns(kl__definition *self,
                                   const kl_value *columns);

static void definition_selectable(kl__definition *self, const kl_value *fields,
                                  const kl_value *schema);

static void require_member(kl__definition *self, const kl_value *object,
                           const char *name)
{
    char member[64];

    snprintf(member, sizeof(member), ".%s", name);
    if (!kl__definition_has(object, name)) {
        kl__definition_add(self, KL__FIELD_REQUIRED, member, "");
    }
}

static bool is_same_value(const kl_value *a, const kl_value *b)
{
    kl__edit *left = kl__edit_of(a, NULL), *right = kl__edit_of(b, NULL);
    bool equal = left != NULL && right != NULL &&
                 kl__node_equal(kl__edit_root(left), kl__edit_root(right));

    kl__edit_free(left);
    kl__edit_free(right);
    return equal;
}

/* The member of all versions if it is equal in all; else NULL. */
static const kl_value *shared_member(const kl_value *versions, const char *name)
{
    const kl_value *first = kl_value_get(kl_value_at(versions, 0), name);

    if (kl_value_size(first) == 0) {
        return NULL;
    }
    for (size_t i = 1; i < kl_value_size(versions); i++) {
        if (!is_same_value(first,
                           kl_value_get(kl_value_at(versions, i), name))) {
            return NULL;
        }
    }
    return first;
}

/* --- Names. --------------------------------------------------------------- */

/* Checks a DNS label; with `any_case`, capital letters are allowed. */
static void check_label(kl__definition *self, const char *member,
                        const char *text, bool any_case)
{
    char lower[256];
    size_t length = strnlen(text, sizeof(lower) - 1);
    kl__buf why = {0};

    for (size_t i = 0; i < length; i++) {
        lower[i] = any_case ? (char)tolower((unsigned char)text[i]) : text[i];
    }
    lower[length] = '\0';
    if (any_case) {
        kl__buf_puts(&why, "may have mixed case, but should otherwise match: ");
    }
    if (*text != '\0' && !kl__name_is_dns1035(lower, &why)) {
        kl__definition_refuse(self, member, text,
                              why.bytes != NULL ? why.bytes : "");
    }
    self->errors->failed |= why.failed;
    kl__buf_deinit(&why);
}

static void check_labels(kl__definition *self, const kl_value *names,
                         const char *name)
{
    const kl_value *list = kl_value_get(names, name);
    char member[64];

    for (size_t i = 0; i < kl_value_size(list); i++) {
        const char *text = kl_value_string(kl_value_at(list, i), NULL);

        snprintf(member, sizeof(member), ".%s[%zu]", name, i);
        if (text != NULL) {
            check_label(self, member, text, false);
        }
    }
}

static void check_names(kl__definition *self, const kl_value *names)
{
    static const char *const needed[] = {"plural", "singular", "kind",
                                         "listKind"};
    const char *kind = kl__definition_text(names, "kind");
    const char *list = kl__definition_text(names, "listKind");
    size_t before = kl__definition_enter(self, ".names");

    for (size_t i = 0; i < 4; i++) {
        require_member(self, names, needed[i]);
    }
    check_label(self, ".plural", kl__definition_text(names, "plural"), false);
    check_label(self, ".singular", kl__definition_text(names, "singular"),
                false);
    check_label(self, ".kind", kind, true);
    check_label(self, ".listKind", list, true);
    check_labels(self, names, "shortNames");
    if (*kind != '\0' && strcmp(kind, list) == 0) {
        kl__definition_refuse(self, ".listKind", list,
                              "kind and listKind may not be the same");
    }
    check_labels(self, names, "categories");
    kl__definition_leave(self, before);
}

static void check_group(kl__definition *self, const char *group)
{
    kl__buf why = {0};

    if (*group == '\0') {
        kl__definition_add(self, KL__FIELD_REQUIRED, ".group", "");
    } else if (!kl__name_is_subdomain(group, &why)) {
        kl__definition_refuse(self, ".group", group,
                              why.bytes != NULL ? why.bytes : "");
    } else if (strchr(group, '.') == NULL) {
        kl__definition_refuse(self, ".group", group,
                              "should be a domain with at least one dot");
    }
    self->errors->failed |= why.failed;
    kl__buf_deinit(&why);
}

/* --- Versions. ------------------------------------------------------------ */

/* Checks the keywords of the root: if status is a subresource, only some are
 * allowed. */
static void check_root(kl__definition *self, const kl_value *schema)
{
    static const char allowed[] =
        " description type format title maximum exclusiveMaximum minimum "
        "exclusiveMinimum maxLength minLength pattern maxItems minItems "
        "uniqueItems multipleOf required items properties externalDocs example "
        "x-kubernetes-preserve-unknown-fields x-kubernetes-validations "
        "nullable ";
    const kl_value *name, *value;
    kl_value_iter iter = {0};
    char word[64];

    while ((value = kl_value_next(schema, &iter, &name)) != NULL) {
        snprintf(word, sizeof(word), " %.60s ", kl_value_string(name, NULL));
        if (strstr(allowed, word) == NULL) {
            kl__definition_refuse_value(
                self, "", schema,
                "only [Description Type Format Title Maximum ExclusiveMaximum "
                "Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems "
                "MinItems UniqueItems MultipleOf Required Items Properties "
                "ExternalDocs Example XPreserveUnknownFields XValidations] "
                "fields are allowed at the root of the schema if the status "
                "subresource is enabled");
            return;
        }
    }
}

/* Checks each keyword of a schema. If all are supported, also checks that the
 * schema is structural, and then its defaults; these errors come first. */
static void check_keywords(kl__definition *self, const kl_value *schema)
{
    static const char unsupported[] = " is not supported";
    kl__field_errors own = {0}, *all = self->errors;
    bool is_known = true;

    self->errors = &own;
    kl__definition_schema(self, schema);
    self->errors = all;
    for (size_t i = 0; i < own.count; i++) {
        is_known &= strstr(own.items[i].message, unsupported) == NULL;
    }
    if (is_known && kl__definition_structural(self, schema)) {
        kl__definition_defaults(self, schema);
    }
    kl__field_errors_merge(all, &own);
    kl__field_errors_deinit(&own);
}

/* Checks the member "schema" of a version, the current value. */
static void check_schema(kl__definition *self, const kl_value *holder,
                         bool has_status)
{
    const kl_value *schema = kl_value_get(holder, "openAPIV3Schema");
    size_t before;

    if (kl_value_type(schema) != KL_OBJECT) {
        return;
    }
    before = kl__definition_enter(self, ".openAPIV3Schema");
    if (has_status) {
        check_root(self, schema);
    }
    if (kl_value_bool(kl_value_get(schema, "nullable"))) {
        kl__definition_add(self, KL__FIELD_FORBIDDEN, ".nullable",
                           "nullable cannot be true at the root");
    }
    check_keywords(self, schema);
    kl__definition_leave(self, before);
}

static bool has_status(const kl_value *version)
{
    return kl_value_type(kl_value_get(kl_value_get(version, "subresources"),
                                      "status")) == KL_OBJECT;
}

static void check_warning(kl__definition *self, const kl_value *version)
{
    const kl_value *warning = kl_value_get(version, "deprecationWarning");
    const char *text = kl_value_string(warning, NULL);

    if (text == NULL) {
        return;
    }
    if (!kl_value_bool(kl_value_get(version, "deprecated"))) {
        kl__definition_refuse(self, ".deprecationWarning", text,
                              "can only be set for deprecated versions");
    } else if (strlen(text) > 256) {
        kl__definition_refuse(self, ".deprecationWarning", text,
                              "must be <= 256 characters long");
    } else if (*text == '\0') {
        kl__definition_refuse(self, ".deprecationWarning", text,
                              "must not be an empty string");
    }
}

/* A member of a version that can be equal in all versions. */
typedef struct shared_part {
    const char *member;
    const char *above; /* its name in spec if it is equal in all */
    void (*check)(kl__definition *self, const kl_value *value,
                  const kl_value *version);
} shared_part;

static void check_part_schema(kl__definition *self, const kl_value *value,
                              const kl_value *version)
{
    check_schema(self, value, has_status(version));
}

static void check_part_subresources(kl__definition *self, const kl_value *value,
                                    const kl_value *version)
{
    (void)version;
    definition_scale(self, value);
}

static void check_part_columns(kl__definition *self, const kl_value *value,
                               const kl_value *version)
{
    (void)version;
    kl__definition_columns(self, value);
}

static void check_part_fields(kl__definition *self, const kl_value *value,
                              const kl_value *version)
{
    definition_selectable(
        self, value,
        kl_value_get(kl_value_get(version, "schema"), "openAPIV3Schema"));
}

static const shared_part parts[] = {
    {"schema", "validation", check_part_schema},
    {"subresources", "subresources", check_part_subresources},
    {"additionalPrinterColumns", "additionalPrinterColumns",
     check_part_columns},
    {"selectableFields", "selectableFields", check_part_fields}};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

static void check_part(kl__definition *self, const shared_part *part,
                       const char *name, const kl_value *version)
{
    size_t before = kl__definition_enter(self, ".%s", name);

    part->check(self, kl_value_get(version, part->member), version);
    kl__definition_leave(self, before);
}

static void check_definition_version(kl__definition *self,
                                     const kl_value *versions,
                                     const kl_value *version)
{
    check_label(self, ".name", kl__definition_text(version, "name"), false);
    check_warning(self, version);
    for (size_t i = 0; i < PARTS; i++) {
        if (shared_member(versions, parts[i].member) == NULL) {
            check_part(self, &parts[i], parts[i].member, version);
        }
    }
}

static bool has_schema(const kl_value *version)
{
    return kl_value_type(kl_value_get(kl_value_get(version, "schema"),
                                      "openAPIV3Schema")) == KL_OBJECT;
}

/* Refuses the list of versions. The message shows it like kube-apiserver: with
 * the fields of Go's struct, but without members that are equal in all. */
static void refuse_versions(kl__definition *self, const kl_value *versions,
                            const char *why)
{
    static const char *const rest[][2] = {
        {"schema", "Schema"},
        {"subresources", "Subresources"},
        {"additionalPrinterColumns", "AdditionalPrinterColumns"},
        {"selectableFields", "SelectableFields"}};
    kl__buf shown = {0}, field = {0};

    kl__buf_putc(&shown, '[');
    for (size_t i = 0; i < kl_value_size(versions); i++) {
        const kl_value *version = kl_value_at(versions, i);

        kl__buf_printf(
            &shown,
            "%s{\"Name\":\"%s\",\"Served\":%s,\"Storage\":%s,\"Deprecated\":%s,"
            "\"DeprecationWarning\":null",
            i != 0 ? "," : "", kl__definition_text(version, "name"),
            kl_value_bool(kl_value_get(version, "served")) ? "true" : "false",
            kl_value_bool(kl_value_get(version, "storage")) ? "true" : "false",
            kl_value_bool(kl_value_get(version, "deprecated")) ? "true"
                                                               : "false");
        for (size_t j = 0; j < 4; j++) {
            const kl_value *value = shared_member(versions, rest[j][0]) == NULL
                                        ? kl_value_get(version, rest[j][0])
                                        : NULL;
            char *json =
                value != NULL ? kl_value_json(value, NULL, NULL) : NULL;

            kl__buf_printf(&shown, ",\"%s\":%s", rest[j][1],
                           json != NULL ? json : "null");
            kl_free(json);
        }
        kl__buf_putc(&shown, '}');
    }
    kl__buf_putc(&shown, ']');
    kl__buf_printf(&field, "%s.versions",
                   self->path.bytes != NULL ? self->path.bytes : "");
    if (shown.failed || field.failed) {
        self->errors->failed = true;
    } else {
        kl__field_add(self->errors, KL__FIELD_INVALID, field.bytes, shown.bytes,
                      why);
    }
    kl__buf_deinit(&shown);
    kl__buf_deinit(&field);
}

static bool are_unique(const kl_value *versions)
{
    for (size_t i = 0; i < kl_value_size(versions); i++) {
        const char *name =
            kl__definition_text(kl_value_at(versions, i), "name");

        for (size_t j = 0; j < i; j++) {
            if (strcmp(kl__definition_text(kl_value_at(versions, j), "name"),
                       name) == 0) {
                return false;
            }
        }
    }
    return true;
}

static void check_versions(kl__definition *self, const kl_value *versions)
{
    size_t stored = 0, before;

    for (size_t i = 0; i < kl_value_size(versions); i++) {
        if (!has_schema(kl_value_at(versions, i))) {
            before = kl__definition_enter(self, ".versions[%zu]", i);
            kl__definition_add(self, KL__FIELD_REQUIRED,
                               ".schema.openAPIV3Schema", "");
            kl__definition_leave(self, before);
        }
    }
    for (size_t i = 0; i < kl_value_size(versions); i++) {
        const kl_value *version = kl_value_at(versions, i);

        stored += kl_value_bool(kl_value_get(version, "storage"));
        before = kl__definition_enter(self, ".versions[%zu]", i);
        check_definition_version(self, versions, version);
        kl__definition_leave(self, before);
    }
    if (!are_unique(versions)) {
        refuse_versions(self, versions, "must contain unique version names");
    }
    if (stored != 1) {
        refuse_versions(
            self, versions,
            "must have exactly one version marked as storage version");
    }
    check_label(self, ".version",
                kl__definition_text(kl_value_at(versions, 0), "name"), false);
}

static void check_shared(kl__definition *self, const kl_value *versions)
{
    for (size_t i = 0; i < PARTS; i++) {
        if (shared_member(versions, parts[i].member) != NULL) {
            check_part(self, &parts[i], parts[i].above,
                       kl_value_at(versions, 0));
        }
    }
}

void kl__definition_spec(kl__definition *self, const kl_value *spec)
{
    const kl_value *versions = kl_value_get(spec, "versions");
    const char *scope = kl__definition_text(spec, "scope");
    size_t before = kl__definition_enter(self, "spec");

    check_group(self, kl__definition_text(spec, "group"));
    if (*scope == '\0') {
        kl__definition_add(self, KL__FIELD_REQUIRED, ".scope", "");
    } else if (strcmp(scope, "Cluster") != 0 &&
               strcmp(scope, "Namespaced") != 0) {
        kl__definition_unsupported(self, ".scope", scope,
                                   "\"Cluster\", \"Namespaced\"");
    }
    check_versions(self, versions);
    check_names(self, kl_value_get(spec, "names"));
    check_shared(self, versions);
    kl__definition_conversion(self, kl_value_get(spec, "conversion"));
    kl__definition_leave(self, before);
}

/* ---- columns, subresources and selectable fields of a version ---- */

/* --- Columns. ------------------------------------------------------------- */

static bool is_among(const char *text, const char *list)
{
    size_t length = strlen(text);

    for (const char *at = list; *at != '\0'; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strcspn(at, ",") == length && strncmp(at, text, length) == 0) {
            return true;
        }
    }
    return false;
}

/* True if a JSON path is there and begins correctly; else adds an error. */
static bool check_column_path(kl__definition *self, const char *member,
                              const char *path)
{
    if (*path == '\0') {
        kl__definition_add(self, KL__FIELD_REQUIRED, member, "");
        return false;
    }
    if (*path != '.') {
        kl__definition_refuse(self, member, path,
                              "must be a simple json path starting with .");
        return false;
    }
    return true;
}

static void kl__definition_columns(kl__definition *self,
                                   const kl_value *columns)
{
    static const char types[] = "boolean,date,integer,number,string";
    static const char formats[] =
        "byte,date,date-time,double,float,int32,int64,password";
    kl_value_iter iter = {0};
    const kl_value *column;

    for (size_t i = 0; (column = kl_value_next(columns, &iter, NULL)) != NULL;
         i++) {
        size_t before = kl__definition_enter(self, "[%zu]", i);
        const char *type = kl__definition_text(column, "type");
        const char *format = kl__definition_text(column, "format");
        char why[100];

        snprintf(why, sizeof(why), "must be one of %s", types);
        if (!kl__definition_has(column, "name")) {
            kl__definition_add(self, KL__FIELD_REQUIRED, ".name", "");
        }
        if (*type == '\0') {
            kl__definition_add(self, KL__FIELD_REQUIRED, ".type", why);
        } else if (!is_among(type, types)) {
            kl__definition_refuse(self, ".type", type, why);
        }
        snprintf(why, sizeof(why), "must be one of %s", formats);
        if (*format != '\0' && !is_among(format, formats)) {
            kl__definition_refuse(self, ".format", format, why);
        }
        check_column_path(self, ".JSONPath",
                          kl__definition_text(column, "jsonPath"));
        kl__definition_leave(self, before);
    }
}

/* --- Subresources. -------------------------------------------------------- */

static bool text_begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Check parts of a version. */
static void definition_scale(kl__definition *self, const kl_value *subresources)
{
    const kl_value *scale = kl_value_get(subresources, "scale");
    const char *of_spec = kl__definition_text(scale, "specReplicasPath");
    const char *of_status = kl__definition_text(scale, "statusReplicasPath");
    const char *selector = kl__definition_text(scale, "labelSelectorPath");

    if (kl_value_type(scale) != KL_OBJECT) {
        return;
    }
    if (check_column_path(self, ".scale.specReplicasPath", of_spec) &&
        !text_begins(of_spec, ".spec.")) {
        kl__definition_refuse(self, ".scale.specReplicasPath", of_spec,
                              "should be a json path under .spec");
    }
    if (check_column_path(self, ".scale.statusReplicasPath", of_status) &&
        !text_begins(of_status, ".status.")) {
        kl__definition_refuse(self, ".scale.statusReplicasPath", of_status,
                              "should be a json path under .status");
    }
    if (*selector != '\0' &&
        check_column_path(self, ".scale.labelSelectorPath", selector) &&
        !text_begins(selector, ".spec.") &&
        !text_begins(selector, ".status.")) {
        kl__definition_refuse(
            self, ".scale.labelSelectorPath", selector,
            "should be a json path under either .spec or .status");
    }
}

/* --- Fields to select by. ------------------------------------------------- */

/* The schema to which a path such as ".spec.color" leads; NULL: none. */
static const kl_value *follow_schema(const kl_value *schema, const char *path)
{
    while (*path == '.' && schema != NULL) {
        size_t length = strcspn(++path, ".");

        schema =
            kl_value_get_n(kl_value_get(schema, "properties"), path, length);
        path += length;
    }
    return *path == '\0' ? schema : NULL;
}

static void check_field(kl__definition *self, const char *path,
                        const kl_value *schema)
{
    const kl_value *found;
    const char *type;
    char why[300];

    if (*path != '.') {
        snprintf(why, sizeof(why),
                 "is an invalid path: expected [ or . but got: %.200s", path);
        why[strcspn(why + 40, ".[") + 40] = '\0';
        kl__definition_refuse(self, ".jsonPath", path, why);
        return;
    }
    found = follow_schema(schema, path);
    type = kl__definition_text(found, "type");
    if (found == NULL) {
        kl__definition_refuse(
            self, ".jsonPath", path,
            "is an invalid path: does not refer to a valid field");
        return;
    }
    if (text_begins(path, ".metadata")) {
        kl__definition_refuse(self, ".jsonPath", path,
                              "must not point to fields in metadata");
    }
    if (strcmp(type, "string") != 0 && strcmp(type, "boolean") != 0 &&
        strcmp(type, "integer") != 0) {
        kl__definition_refuse(
            self, ".jsonPath", path,
            "must point to a field of type string, boolean or integer. Enum "
            "string fields and strings with formats are allowed.");
    }
}

static void definition_selectable(kl__definition *self, const kl_value *fields,
                                  const kl_value *schema)
{
    enum { MOST = 8 };
    size_t unique = 0;

    for (size_t i = 0; i < kl_value_size(fields); i++) {
        const char *path =
            kl__definition_text(kl_value_at(fields, i), "jsonPath");
        size_t before = kl__definition_enter(self, "[%zu]", i), first = 0;

        while (first < i && strcmp(kl__definition_text(
                                       kl_value_at(fields, first), "jsonPath"),
                                   path) != 0) {
            first++;
        }
        if (*path == '\0') {
            kl__definition_add(self, KL__FIELD_REQUIRED, ".jsonPath", "");
        } else if (first < i) {
            kl__buf quoted = {0}, field = {0};

            kl__go_quote(&quoted, path, strlen(path));
            kl__buf_printf(&field, "%s.jsonPath",
                           self->path.bytes != NULL ? self->path.bytes : "");
            self->errors->failed |= quoted.failed || field.failed;
            if (!self->errors->failed) {
                kl__field_add(self->errors, KL__FIELD_DUPLICATE, field.bytes,
                              quoted.bytes, "");
            }
            kl__buf_deinit(&quoted);
            kl__buf_deinit(&field);
        } else {
            check_field(self, path, schema);
            unique++;
        }
        kl__definition_leave(self, before);
    }
    if (unique > MOST) {
        char count[24];

        snprintf(count, sizeof(count), "%zu", unique);
        kl__field_add(self->errors, KL__FIELD_TOO_MANY,
                      self->path.bytes != NULL ? self->path.bytes : "", count,
                      "must have at most 8 items");
    }
}
