/*
 * schema_read.c - see schema_cache.h: reads a row of the table of built-in
 * types, and the rows to which it refers. schema_table.h explains the notation.
 */
#include "sim/core/schema/schema_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct kl__schema_text {
    kl__schema_cache *cache;
    const char *at;
} text;

/* The meaning of a letter of the notation. `name` is NULL if the type has no
 * name in OpenAPI; `go` is NULL for lists and maps. */
typedef struct letter {
    char letter;
    kl__schema_type type;
    kl__schema_format format;
    const char *go;
    const char *name;
} letter;

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."
#define PKG "io.k8s.apimachinery.pkg."

static const letter letters[] = {
    {'s', KL__SCHEMA_STRING, KL__FORMAT_NONE, "string", NULL},
    {'i', KL__SCHEMA_INTEGER, KL__FORMAT_INT32, "int32", NULL},
    {'l', KL__SCHEMA_INTEGER, KL__FORMAT_INT64, "int64", NULL},
    {'f', KL__SCHEMA_NUMBER, KL__FORMAT_NONE, "float64", NULL},
    {'b', KL__SCHEMA_BOOLEAN, KL__FORMAT_NONE, "bool", NULL},
    {'y', KL__SCHEMA_STRING, KL__FORMAT_BYTE, "[]uint8", NULL},
    {'t', KL__SCHEMA_STRING, KL__FORMAT_TIME, "v1.Time", META "Time"},
    {'u', KL__SCHEMA_STRING, KL__FORMAT_MICROTIME, "v1.MicroTime",
     META "MicroTime"},
    {'d', KL__SCHEMA_STRING, KL__FORMAT_DURATION, "v1.Duration",
     META "Duration"},
    {'q', KL__SCHEMA_STRING, KL__FORMAT_QUANTITY, "resource.Quantity",
     PKG "api.resource.Quantity"},
    {'o', KL__SCHEMA_INT_OR_STRING, KL__FORMAT_NONE, "intstr.IntOrString",
     PKG "util.intstr.IntOrString"},
    {'a', KL__SCHEMA_ANY, KL__FORMAT_NONE, "runtime.RawExtension",
     PKG "runtime.RawExtension"},
    {'[', KL__SCHEMA_ARRAY, KL__FORMAT_NONE, NULL, NULL},
    {'(', KL__SCHEMA_ARRAY, KL__FORMAT_NONE, NULL, NULL},
    {'{', KL__SCHEMA_MAP, KL__FORMAT_NONE, NULL, NULL},
};

/* Copies the text up to the byte `end`, and moves on behind that byte. NULL:
 * out of memory. */
static char *cut_text(text *from, char end)
{
    const char *stop = strchr(from->at, end);
    size_t length = (size_t)(stop - from->at);
    char *copy = kl__schema_alloc(from->cache, length + 1);

    assert(stop != NULL);
    if (copy != NULL) {
        memcpy(copy, from->at, length);
    }
    from->at = stop + 1;
    return copy;
}

static long take_number(text *from)
{
    char *end = NULL;
    long number = strtol(from->at, &end, 10);

    from->at = end;
    return number;
}

/* Splits "a,b" into a list of names that ends with NULL. */
static const char *const *split_names(kl__schema_cache *cache, char *names)
{
    size_t count = 2;
    char **list;

    for (const char *at = names; *at != '\0'; at++) {
        count += *at == ',';
    }
    list = kl__schema_alloc(cache, count * sizeof(*list));
    if (list == NULL) {
        return NULL;
    }
    for (size_t i = 0; i + 1 < count; i++) {
        char *comma = strchr(names, ',');

        list[i] = names;
        if (comma != NULL) {
            *comma = '\0';
            names = comma + 1;
        }
    }
    return (const char *const *)list;
}

static bool read_keys(text *from, kl__schema *schema)
{
    char *names;

    from->at++; /* ( */
    names = cut_text(from, ')');
    schema->list = KL__LIST_MAP;
    schema->map_keys = names != NULL ? split_names(from->cache, names) : NULL;
    return schema->map_keys != NULL;
}

static bool read_merge_key(text *from, kl__schema *schema)
{
    schema->flags |= KL__SCHEMA_MERGE;
    from->at++; /* ( */
    if (*from->at == ')') {
        from->at++;
        return true;
    }
    schema->merge_key = cut_text(from, ')');
    return schema->merge_key != NULL;
}

/* Reads one mark; false: out of memory. */
static bool read_mark(text *from, char mark, kl__schema_field *field,
                      kl__schema *schema)
{
    switch (mark) {
    case '!':
        field->required = true;
        return true;
    case '?':
        schema->flags |= KL__SCHEMA_OMIT_EMPTY;
        return true;
    case '0':
        schema->flags |= KL__SCHEMA_OMIT_ZERO;
        return true;
    case '^':
        schema->flags |= KL__SCHEMA_POINTER;
        return true;
    case 'A':
        schema->list = KL__LIST_ATOMIC;
        return true;
    case 'S':
        schema->list = KL__LIST_SET;
        return true;
    case 'R':
        schema->flags |= KL__SCHEMA_RETAIN_KEYS;
        return true;
    case 'L':
        return read_keys(from, schema);
    case 'M':
        return read_merge_key(from, schema);
    case '<':
        field->within = cut_text(from, '>');
        return field->within != NULL;
    default:
        assert(mark == '=');
        schema->initial = kl_value_at(kl_doc_root(from->cache->initials),
                                      (size_t)take_number(from));
        return true;
    }
}

static bool read_type(text *from, kl__schema *schema);

/* Reads the schema of elements: that of a struct in the table, or a new one.
 * NULL: out of memory. */
static const kl__schema *read_items(text *from)
{
    kl__schema *items;

    if (*from->at == '@') {
        from->at++;
        return kl__schema_read(from->cache, (size_t)take_number(from));
    }
    items = kl__schema_alloc(from->cache, sizeof(*items));
    return items != NULL && read_type(from, items) ? items : NULL;
}

/* Types with the same letter can differ: sets the OpenAPI name and the flags
 * that belong to the Go name. */
static void tell_apart(kl__schema *schema)
{
    static const struct {
        const char *go, *name;
        unsigned flags;
    } named[] = {
        {"v1.FieldsV1", META "FieldsV1", 0},
#define EXTENSIONS "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
        {"v1.JSON", EXTENSIONS "JSON", 0},
        {"v1.JSONSchemaPropsOrArray", EXTENSIONS "JSONSchemaPropsOrArray",
         KL__SCHEMA_OR_ARRAY},
        {"v1.JSONSchemaPropsOrBool", EXTENSIONS "JSONSchemaPropsOrBool",
         KL__SCHEMA_OR_BOOL},
        {"v1.JSONSchemaPropsOrStringArray",
         EXTENSIONS "JSONSchemaPropsOrStringArray", KL__SCHEMA_OR_NAMES},
    };

    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (strcmp(schema->go, named[i].go) == 0) {
            schema->name = named[i].name;
            schema->flags |= named[i].flags;
        }
    }
}

/* Reads a type that is not a struct. False: out of memory. */
static bool read_type(text *from, kl__schema *schema)
{
    const letter *found = letters;

    while (found->letter != *from->at) {
        found++;
        assert(found < letters + sizeof(letters) / sizeof(letters[0]));
    }
    from->at++;
    schema->type = found->type;
    schema->format = found->format;
    schema->go = found->go;
    schema->name = found->name;
    if (*from->at == '\'') {
        from->at++;
        schema->go = cut_text(from, '\'');
        if (schema->go == NULL) {
            return false;
        }
        tell_apart(schema);
    }
    schema->flags |= found->letter == '(' ? KL__SCHEMA_WRAPPED : 0;
    if (strchr("[({", found->letter) != NULL) {
        schema->items = read_items(from);
        return schema->items != NULL;
    }
    return true;
}

/* Reads a reference to a struct, and copies to the field's schema what the
 * struct has. False: out of memory. */
static bool refer_to_type(text *from, kl__schema *schema)
{
    const kl__schema *type;

    from->at++; /* @ */
    type = kl__schema_read(from->cache, (size_t)take_number(from));
    if (type == NULL) {
        return false;
    }
    schema->name = type->name;
    schema->go = type->go;
    schema->type = type->type;
    schema->fields = type->fields;
    schema->field_count = type->field_count;
    if (schema->list == KL__LIST_NONE) {
        schema->list = type->list;
    }
    return true;
}

static bool read_field(text *from, kl__schema_field *field)
{
    kl__schema *schema = kl__schema_alloc(from->cache, sizeof(*schema));

    field->schema = schema;
    field->name = cut_text(from, ',');
    if (schema == NULL || field->name == NULL) {
        return false;
    }
    if (*from->at != ',') {
        field->number = (int)take_number(from);
    }
    from->at++; /* , */
    while (strchr("<!?0^ASLMR=", *from->at) != NULL) {
        if (!read_mark(from, *from->at++, field, schema)) {
            return false;
        }
    }
    return *from->at == '@' ? refer_to_type(from, schema)
                            : read_type(from, schema);
}

/* The name without the package's path: "v1.PodSpec". */
static const char *short_name(const char *name)
{
    const char *last = strrchr(name, '.');

    while (last > name && last[-1] != '.') {
        last--;
    }
    return last;
}

static size_t count_fields(const char *fields)
{
    size_t count = *fields != '\0';

    for (; *fields != '\0'; fields++) {
        count += *fields == ';';
    }
    return count;
}

kl__schema *kl__schema_read(kl__schema_cache *cache, size_t row)
{
    text from = {cache, kl__schema_rows[row].fields};
    kl__schema *type = cache->types[row];
    kl__schema_field *fields;

    if (type != NULL) {
        /* It may not be complete yet: a type can contain itself, and a caller
         * of this call is reading it. */
        return type;
    }
    type = kl__schema_alloc(cache, sizeof(*type));
    if (type == NULL) {
        return NULL;
    }
    cache->types[row] = type;
    cache->begun[cache->begun_count++] = row;
    type->name = kl__schema_rows[row].name;
    type->go = short_name(type->name);
    type->type = KL__SCHEMA_OBJECT;
    if (*from.at == '%') {
        type->list = KL__LIST_ATOMIC;
        from.at++;
    }
    /* A reference to a type that is being read copies all of this, so it is set
     * before the fields are read. */
    type->field_count = count_fields(from.at);
    fields = kl__schema_alloc(cache, type->field_count * sizeof(*fields));
    if (fields == NULL) {
        return NULL;
    }
    type->fields = fields;
    for (size_t i = 0; i < type->field_count; i++) {
        if (!read_field(&from, &fields[i])) {
            return NULL;
        }
        from.at += *from.at == ';';
    }
    return type;
}
