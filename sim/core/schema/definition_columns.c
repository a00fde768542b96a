/*
 * definition_columns.c - see definition_parts.h: checks columns, subresources
 * and selectable fields of a version.
 */
#include "sim/core/schema/definition_parts.h"

#include "sim/core/schema/custom.h"

#include <stdio.h>
#include <string.h>

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

void kl__definition_columns(kl__definition *self, const kl_value *columns)
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

void kl__definition_scale(kl__definition *self, const kl_value *subresources)
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

void kl__definition_selectable(kl__definition *self, const kl_value *fields,
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
