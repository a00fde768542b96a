/*
 * schema_custom.c - see schema.h: makes the schema of a custom resource from
 * its definition's openAPIV3Schema, which is known to be structural.
 */
#include "sim/core/schema/schema.h"

#include "base/mem.h"
#include "sim/core/schema/custom.h"

#include <stdlib.h>
#include <string.h>

/* A schema and its rules, in one block. */
typedef struct custom {
    kl__schema schema; /* first: to free its address frees the block */
    kl__schema_rules rules;
} custom;

static bool text_is(const kl_value *object, const char *name, const char *text)
{
    const char *value = kl_value_string(kl_value_get(object, name), NULL);

    return value != NULL && strcmp(value, text) == 0;
}

static bool is_true(const kl_value *object, const char *name)
{
    return kl_value_bool(kl_value_get(object, name));
}

static kl__schema_type read_type(const kl_value *source)
{
    static const struct {
        const char *name;
        kl__schema_type type;
    } types[] = {
        {"object", KL__SCHEMA_OBJECT}, {"array", KL__SCHEMA_ARRAY},
        {"string", KL__SCHEMA_STRING}, {"integer", KL__SCHEMA_INTEGER},
        {"number", KL__SCHEMA_NUMBER}, {"boolean", KL__SCHEMA_BOOLEAN}};

    if (is_true(source, "x-kubernetes-int-or-string")) {
        return KL__SCHEMA_INT_OR_STRING;
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (text_is(source, "type", types[i].name)) {
            return types[i].type;
        }
    }
    return KL__SCHEMA_ANY;
}

static kl__schema_format read_format(const kl_value *source)
{
    return text_is(source, "format", "int32")   ? KL__FORMAT_INT32
           : text_is(source, "format", "int64") ? KL__FORMAT_INT64
           : text_is(source, "format", "byte")  ? KL__FORMAT_BYTE
                                                : KL__FORMAT_NONE;
}

static kl__schema_list read_list(const kl_value *source)
{
    if (text_is(source, "x-kubernetes-map-type", "atomic") ||
        text_is(source, "x-kubernetes-list-type", "atomic")) {
        return KL__LIST_ATOMIC;
    }
    return text_is(source, "x-kubernetes-list-type", "set")   ? KL__LIST_SET
           : text_is(source, "x-kubernetes-list-type", "map") ? KL__LIST_MAP
                                                              : KL__LIST_NONE;
}

static unsigned read_flags(const kl_value *source)
{
    unsigned flags = KL__SCHEMA_CUSTOM;

    flags |= is_true(source, "nullable") ? KL__SCHEMA_NULLABLE : 0;
    flags |= is_true(source, "x-kubernetes-preserve-unknown-fields")
                 ? KL__SCHEMA_PRESERVE
                 : 0;
    flags |= is_true(source, "x-kubernetes-embedded-resource")
                 ? KL__SCHEMA_EMBEDDED
                 : 0;
    return flags;
}

static void dispose_schema(kl__schema *schema)
{
    if (schema == NULL || (schema->flags & KL__SCHEMA_CUSTOM) == 0) {
        return; /* metadata has a built-in schema */
    }
    for (size_t i = 0; i < schema->field_count; i++) {
        dispose_schema((kl__schema *)(uintptr_t)schema->fields[i].schema);
    }
    dispose_schema((kl__schema *)(uintptr_t)schema->items);
    kl__free((void *)(uintptr_t)schema->fields);
    kl__free((void *)(uintptr_t)schema->map_keys);
    kl__free(schema);
}

static kl__schema *build_schema(const kl_value *source);

static kl__schema *new_schema(const kl_value *source)
{
    custom *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        return NULL;
    }
    self->rules.source = source;
    self->schema.rules = &self->rules;
    self->schema.type = read_type(source);
    self->schema.format = read_format(source);
    self->schema.list = read_list(source);
    self->schema.flags = read_flags(source);
    self->schema.initial = kl_value_get(source, "default");
    if (kl_value_type(self->schema.initial) == KL_NULL) {
        self->schema.initial = NULL;
    }
    return &self->schema;
}

static kl__schema *new_text(void)
{
    kl__schema *schema = new_schema(NULL);

    if (schema != NULL) {
        schema->type = KL__SCHEMA_STRING;
    }
    return schema;
}

static int compare_fields(const void *left, const void *right)
{
    return strcmp(((const kl__schema_field *)left)->name,
                  ((const kl__schema_field *)right)->name);
}

bool kl__schema_requires(const kl_value *source, const char *name)
{
    const kl_value *required = kl_value_get(source, "required"), *element;
    kl_value_iter iter = {0};

    while ((element = kl_value_next(required, &iter, NULL)) != NULL) {
        const char *text = kl_value_string(element, NULL);

        if (text != NULL && strcmp(text, name) == 0) {
            return true;
        }
    }
    return false;
}

static const char *const meta_names[] = {"apiVersion", "kind", "metadata"};

static bool is_meta(const char *name)
{
    return strcmp(name, meta_names[0]) == 0 ||
           strcmp(name, meta_names[1]) == 0 || strcmp(name, meta_names[2]) == 0;
}

/* Adds apiVersion, kind and metadata, which every resource has. */
static bool add_meta(kl__schema_field *fields, size_t *count)
{
    for (size_t i = 0; i < 3; i++) {
        kl__schema_field *field = &fields[*count];

        field->name = meta_names[i];
        field->schema = i < 2 ? new_text() : kl__schema_metadata(NULL);
        if (field->schema == NULL) {
            return false;
        }
        (*count)++;
    }
    return true;
}

/* Marks required fields. schema->fields, which is `fields`, must be sorted:
 * kl__schema_get searches it. */
static void mark_required(const kl__schema *schema, kl__schema_field *fields,
                          const kl_value *source)
{
    const kl_value *required = kl_value_get(source, "required"), *element;
    kl_value_iter iter = {0};

    while ((element = kl_value_next(required, &iter, NULL)) != NULL) {
        size_t length;
        const char *name = kl_value_string(element, &length);
        const kl__schema_field *found =
            name != NULL ? kl__schema_get(schema, name, length) : NULL;

        if (found != NULL) {
            fields[found - fields].required = true;
        }
    }
}

static bool add_fields(kl__schema *schema, const kl_value *source)
{
    const kl_value *properties = kl_value_get(source, "properties");
    const kl_value *name, *property;
    bool is_resource = (schema->flags & KL__SCHEMA_EMBEDDED) != 0;
    kl_value_iter iter = {0};
    kl__schema_field *fields =
        kl__calloc(kl_value_size(properties) + 3, sizeof(*fields));

    if (fields == NULL) {
        return false;
    }
    schema->fields = fields;
    while (kl_value_type(properties) == KL_OBJECT &&
           (property = kl_value_next(properties, &iter, &name)) != NULL) {
        kl__schema_field *field = &fields[schema->field_count];

        field->name = kl_value_string(name, NULL);
        if (is_resource && is_meta(field->name)) {
            continue;
        }
        field->schema = build_schema(property);
        if (field->schema == NULL) {
            return false;
        }
        schema->field_count++;
    }
    qsort(fields, schema->field_count, sizeof(*fields), compare_fields);
    mark_required(schema, fields, source);
    if (is_resource) {
        if (!add_meta(fields, &schema->field_count)) {
            return false;
        }
        qsort(fields, schema->field_count, sizeof(*fields), compare_fields);
    }
    return true;
}

static bool add_keys(kl__schema *schema, const kl_value *source)
{
    const kl_value *keys = kl_value_get(source, "x-kubernetes-list-map-keys");
    const char **names = kl__calloc(kl_value_size(keys) + 1, sizeof(*names));
    kl_value_iter iter = {0};
    const kl_value *key;
    size_t count = 0;

    if (names == NULL) {
        return false;
    }
    schema->map_keys = names;
    while ((key = kl_value_next(keys, &iter, NULL)) != NULL) {
        const char *text = kl_value_string(key, NULL);

        if (text != NULL) {
            names[count++] = text;
        }
    }
    return true;
}

/* Fills the fields or items of a schema. False: out of memory. */
static bool fill_schema(kl__schema *schema, const kl_value *source)
{
    const kl_value *others = kl_value_get(source, "additionalProperties");
    const kl_value *items = kl_value_get(source, "items");
    const kl_value *properties = kl_value_get(source, "properties");

    if (schema->list == KL__LIST_MAP && !add_keys(schema, source)) {
        return false;
    }
    if (kl_value_type(items) == KL_OBJECT) {
        schema->items = build_schema(items);
        return schema->items != NULL;
    }
    if (kl_value_size(properties) != 0 ||
        (schema->flags & KL__SCHEMA_EMBEDDED) != 0) {
        schema->type = KL__SCHEMA_OBJECT;
        return add_fields(schema, source);
    }
    if (kl_value_type(others) == KL_OBJECT ||
        kl_value_type(others) == KL_BOOL) {
        schema->type = KL__SCHEMA_MAP;
        /* `additionalProperties: true` does not describe the values, so they
         * get a schema without a type. */
        schema->items =
            build_schema(kl_value_type(others) == KL_OBJECT ? others : NULL);
        return schema->items != NULL;
    }
    return true;
}

static kl__schema *build_schema(const kl_value *source)
{
    kl__schema *schema = new_schema(source);

    if (schema != NULL && !fill_schema(schema, source)) {
        dispose_schema(schema);
        return NULL;
    }
    return schema;
}

kl__schema *kl__schema_custom(const kl_value *value, kl_error *err)
{
    kl__schema *schema = new_schema(value);

    kl__schema_hold();
    if (schema != NULL) {
        schema->type = KL__SCHEMA_OBJECT;
        schema->flags |= KL__SCHEMA_EMBEDDED;
        schema->flags |= value == NULL ? KL__SCHEMA_PRESERVE : 0;
    }
    if (schema == NULL || !fill_schema(schema, value)) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a schema");
        dispose_schema(schema);
        kl__schema_release();
        return NULL;
    }
    return schema;
}

void kl__schema_free(kl__schema *schema)
{
    if (schema != NULL) {
        dispose_schema(schema);
        kl__schema_release();
    }
}
