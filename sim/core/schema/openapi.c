/*
 * openapi.c - see openapi.h. Only types with names become components. Fields
 * refer to them; what a field has beside its type is written with the
 * reference. Defaults are left out: code of the server sets most of them, and
 * these are missing in a real document too.
 */
#include "sim/core/schema/openapi.h"

#include "base/mem.h"
#include "json/quote.h"
#include "sim/core/schema/schema_table.h"

#include <stdlib.h>
#include <string.h>

static void put_quoted(kl__openapi *self, const char *text)
{
    kl__quote(self->out, text, strlen(text));
}

static void put_schema_member(kl__openapi *self, const char *name,
                              const char *text)
{
    kl__buf_printf(self->out, ",\"%s\":", name);
    put_quoted(self, text);
}

void kl__openapi_deinit(kl__openapi *self)
{
    kl__map_deinit(&self->told);
    kl__free(self->waiting);
    self->waiting = NULL;
    self->waiting_count = self->waiting_capacity = 0;
}

static bool note_type(kl__openapi *self, const char *name)
{
    if (kl__map_get(&self->told, name) != NULL) {
        return false;
    }
    if (!kl__map_put(&self->told, name, self, NULL)) {
        self->out->failed = true;
        return false;
    }
    return true;
}

/* Queues a type (may be NULL) to be written later, unless it was written or
 * queued. */
static void queue_type(kl__openapi *self, const kl__schema *schema)
{
    if (schema == NULL || !note_type(self, schema->name)) {
        return;
    }
    if (self->waiting_count == self->waiting_capacity) {
        size_t capacity =
            self->waiting_capacity != 0 ? 2 * self->waiting_capacity : 64;
        const kl__schema **waiting =
            kl__realloc(self->waiting, capacity * sizeof(*waiting));

        if (waiting == NULL) {
            self->out->failed = true;
            return;
        }
        self->waiting = waiting;
        self->waiting_capacity = capacity;
    }
    self->waiting[self->waiting_count++] = schema;
}

void kl__openapi_refer(kl__openapi *self, const char *name)
{
    kl__buf_printf(self->out, "{\"$ref\":\"#/%s/%s\"}",
                   self->is_v2 ? "definitions" : "components/schemas", name);
}

static int compare_fields(const void *a, const void *b)
{
    const kl__schema_enum *left = a, *right = b;
    int order = strcmp(left->type, right->type);

    return order != 0 ? order : strcmp(left->field, right->field);
}

/* The values that a field may have ("a,b"); NULL: any. */
static const char *find_values(const char *type, const char *field)
{
    const kl__schema_enum wanted = {type, field, NULL}, *found;

    found = type == NULL
                ? NULL
                : bsearch(&wanted, kl__schema_enums, kl__schema_enum_count,
                          sizeof(wanted), compare_fields);
    return found != NULL ? found->values : NULL;
}

static void write_values(kl__openapi *self)
{
    const char *at = self->values;

    kl__buf_puts(self->out, ",\"enum\":[");
    while (at != NULL) {
        size_t length = strcspn(at, ",");

        kl__quote(self->out, at, length);
        at = at[length] == ',' ? at + length + 1 : NULL;
        kl__buf_puts(self->out, at != NULL ? "," : "]");
    }
    self->values = NULL;
}

/* Writes a scalar's type and format, without braces. */
static void write_scalar(kl__openapi *self, const kl__schema *schema)
{
    static const struct {
        const char *type;
        const char *format;
    } words[] = {[KL__SCHEMA_STRING] = {"string", NULL},
                 [KL__SCHEMA_INTEGER] = {"integer", NULL},
                 [KL__SCHEMA_NUMBER] = {"number", "double"},
                 [KL__SCHEMA_BOOLEAN] = {"boolean", NULL}};
    static const char *const formats[] = {
        [KL__FORMAT_INT32] = "int32",         [KL__FORMAT_INT64] = "int64",
        [KL__FORMAT_BYTE] = "byte",           [KL__FORMAT_TIME] = "date-time",
        [KL__FORMAT_MICROTIME] = "date-time", [KL__FORMAT_DURATION] = NULL};
    const char *format = words[schema->type].format;

    if (schema->format < sizeof(formats) / sizeof(formats[0]) &&
        formats[schema->format] != NULL) {
        format = formats[schema->format];
    }
    kl__buf_printf(self->out, "\"type\":\"%s\"", words[schema->type].type);
    if (format != NULL) {
        put_schema_member(self, "format", format);
    }
    if (self->values != NULL) {
        write_values(self);
    }
}

/* Writes the type of a value that may be a text or a number: of a quantity, or
 * of KL__SCHEMA_INT_OR_STRING. */
static void write_union(kl__openapi *self, const kl__schema *schema)
{
    bool is_quantity = schema->format == KL__FORMAT_QUANTITY;

    if (self->is_v2) {
        kl__buf_puts(self->out, is_quantity ? "\"type\":\"string\""
                                            : "\"type\":\"string\",\"format\":"
                                              "\"int-or-string\"");
    } else {
        kl__buf_puts(self->out, is_quantity
                                    ? "\"oneOf\":[{\"type\":\"string\"},"
                                      "{\"type\":\"number\"}]"
                                    : "\"format\":\"int-or-string\",\"oneOf\":["
                                      "{\"type\":\"integer\"},"
                                      "{\"type\":\"string\"}]");
    }
}

static void write_fields(kl__openapi *self, const kl__schema *schema)
{
    const char *comma = "";

    kl__buf_puts(self->out, "\"type\":\"object\"");
    for (size_t i = 0; i < schema->field_count; i++) {
        if (schema->fields[i].required) {
            kl__buf_puts(self->out, *comma != '\0' ? "," : ",\"required\":[");
            put_quoted(self, schema->fields[i].name);
            comma = ",";
        }
    }
    kl__buf_puts(self->out, *comma != '\0' ? "]" : "");
    if (schema->field_count == 0) {
        return;
    }
    kl__buf_puts(self->out, ",\"properties\":{");
    for (size_t i = 0; i < schema->field_count; i++) {
        kl__buf_puts(self->out, i != 0 ? "," : "");
        put_quoted(self, schema->fields[i].name);
        kl__buf_putc(self->out, ':');
        self->values = find_values(schema->name, schema->fields[i].name);
        kl__openapi_value(self, schema->fields[i].schema);
    }
    self->values = NULL;
    kl__buf_putc(self->out, '}');
}

/* True for types that allow any value and are written as an object all the
 * same. */
static bool is_object(const kl__schema *schema)
{
    const char *name = schema->name != NULL ? schema->name : "";

    return strstr(name, "RawExtension") != NULL ||
           strstr(name, "FieldsV1") != NULL;
}

/* Writes the content of a schema, without braces. */
static void write_type(kl__openapi *self, const kl__schema *schema)
{
    switch (schema->type) {
    case KL__SCHEMA_OBJECT:
        write_fields(self, schema);
        break;
    case KL__SCHEMA_MAP:
        kl__buf_puts(self->out,
                     "\"type\":\"object\",\"additionalProperties\":");
        kl__openapi_value(self, schema->items);
        break;
    case KL__SCHEMA_ARRAY:
        kl__buf_puts(self->out, "\"type\":\"array\",\"items\":");
        kl__openapi_value(self, schema->items);
        break;
    case KL__SCHEMA_ANY:
        if (is_object(schema)) {
            kl__buf_puts(self->out, "\"type\":\"object\"");
        }
        break;
    case KL__SCHEMA_INT_OR_STRING:
        write_union(self, schema);
        break;
    default:
        if (schema->format == KL__FORMAT_QUANTITY) {
            write_union(self, schema);
        } else {
            write_scalar(self, schema);
        }
        break;
    }
}

static void write_keys(kl__openapi *self, const kl__schema *schema)
{
    kl__buf_puts(self->out, ",\"x-kubernetes-list-map-keys\":[");
    for (size_t i = 0; schema->map_keys[i] != NULL; i++) {
        kl__buf_puts(self->out, i != 0 ? "," : "");
        put_quoted(self, schema->map_keys[i]);
    }
    kl__buf_putc(self->out, ']');
}

/* Writes what a field has beside its type: list type, merge key, strategy; each
 * after a comma. `list`: the list type that its type has already. */
static void write_claims(kl__openapi *self, const kl__schema *schema,
                         kl__schema_list list)
{
    static const char *const lists[] = {"granular", "atomic", "set", "map"};
    bool merges = (schema->flags & KL__SCHEMA_MERGE) != 0;
    bool retains = (schema->flags & KL__SCHEMA_RETAIN_KEYS) != 0;

    if (schema->map_keys != NULL) {
        write_keys(self, schema);
    }
    if (schema->list != list) {
        put_schema_member(self,
                          schema->type == KL__SCHEMA_ARRAY
                              ? "x-kubernetes-list-type"
                              : "x-kubernetes-map-type",
                          lists[schema->list]);
    }
    if (schema->merge_key != NULL) {
        put_schema_member(self, "x-kubernetes-patch-merge-key",
                          schema->merge_key);
    }
    if (merges || retains) {
        put_schema_member(self, "x-kubernetes-patch-strategy",
                          !retains  ? "merge"
                          : !merges ? "retainKeys"
                                    : "merge,retainKeys");
    }
}

/* The list type of the named type to which a schema refers. A scalar has no row
 * in the table, and so no list type. */
static kl__schema_list list_of_type(const kl__schema *reference)
{
    const kl__schema *type = kl__schema_type_named(reference->name, NULL);

    return type != NULL ? type->list : KL__LIST_NONE;
}

void kl__openapi_value(kl__openapi *self, const kl__schema *schema)
{
    const unsigned strategies = KL__SCHEMA_MERGE | KL__SCHEMA_RETAIN_KEYS;
    kl__schema_list list;

    if (schema->name == NULL) {
        kl__buf_putc(self->out, '{');
        write_type(self, schema);
        write_claims(self, schema, KL__LIST_NONE);
        kl__buf_putc(self->out, '}');
        return;
    }
    queue_type(self, schema);
    list = list_of_type(schema);
    if (schema->list == list && schema->map_keys == NULL &&
        schema->merge_key == NULL && (schema->flags & strategies) == 0) {
        kl__openapi_refer(self, schema->name);
        return;
    }
    if (self->is_v2) {
        kl__buf_printf(self->out, "{\"$ref\":\"#/definitions/%s\"",
                       schema->name);
    } else {
        kl__buf_puts(self->out, "{\"allOf\":[");
        kl__openapi_refer(self, schema->name);
        kl__buf_putc(self->out, ']');
    }
    write_claims(self, schema, list);
    kl__buf_putc(self->out, '}');
}

bool kl__openapi_begin(kl__openapi *self, const char *name)
{
    if (!note_type(self, name)) {
        return false;
    }
    kl__buf_puts(self->out, self->count++ != 0 ? "," : "");
    put_quoted(self, name);
    kl__buf_putc(self->out, ':');
    return true;
}

void kl__openapi_claim(kl__openapi *self, const kl__openapi_kind *kind)
{
    kl__buf_printf(self->out,
                   ",\"x-kubernetes-group-version-kind\":[{\"group\":\"%s\","
                   "\"kind\":\"%s\",\"version\":\"%s\"}]",
                   kind->group, kind->kind, kind->version);
}

static void write_component(kl__openapi *self, const kl__schema *schema,
                            const kl__openapi_kind *kind)
{
    kl__buf_putc(self->out, '{');
    write_type(self, schema);
    if (schema->type == KL__SCHEMA_OBJECT && schema->list == KL__LIST_ATOMIC) {
        put_schema_member(self, "x-kubernetes-map-type", "atomic");
    }
    if (kind != NULL) {
        kl__openapi_claim(self, kind);
    }
    kl__buf_putc(self->out, '}');
}

void kl__openapi_type(kl__openapi *self, const kl__schema *schema,
                      const kl__openapi_kind *kind)
{
    if (kl__openapi_begin(self, schema->name)) {
        write_component(self, schema, kind);
    }
}

void kl__openapi_list(kl__openapi *self, const char *of,
                      const kl__openapi_kind *list)
{
    static const char meta[] = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

    queue_type(self, kl__schema_type_named(meta, NULL));
    kl__buf_puts(self->out,
                 "{\"type\":\"object\",\"required\":[\"items\"],\"properties\":"
                 "{\"apiVersion\":{\"type\":\"string\"},\"items\":{\"type\":"
                 "\"array\",\"items\":");
    kl__openapi_refer(self, of);
    kl__buf_puts(self->out, "},\"kind\":{\"type\":\"string\"},\"metadata\":");
    kl__openapi_refer(self, meta);
    kl__buf_putc(self->out, '}');
    kl__openapi_claim(self, list);
    kl__buf_putc(self->out, '}');
}

kl_code kl__openapi_finish(kl__openapi *self, kl_error *err)
{
    for (size_t i = 0; i < self->waiting_count && !self->out->failed; i++) {
        kl__buf_puts(self->out, self->count++ != 0 ? "," : "");
        put_quoted(self, self->waiting[i]->name);
        kl__buf_putc(self->out, ':');
        write_component(self, self->waiting[i], NULL);
    }
    return !self->out->failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for OpenAPI");
}
