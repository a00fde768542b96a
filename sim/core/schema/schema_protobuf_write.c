/*
 * schema_protobuf_write.c - see schema_protobuf.h: encodes objects, byte for
 * byte as Go's generated code does. Fields are sorted by number, maps by key.
 * Zeros are written too, except for pointers, lists and maps of Go.
 */
#include "sim/core/schema/schema_protobuf.h"

#include "base/mem.h"
#include "sim/core/schema/protobuf_scalar.h"
#include "sim/core/schema/protobuf_write.h"

#include <stdlib.h>
#include <string.h>

/* `values` is a stack with the members of the objects that are being written,
 * outer objects first: for each field of an object's schema, the value, or NULL
 * if it is absent or null. It is not on the C stack, which would be too small
 * for deep nesting. */
typedef struct encoder {
    kl__buf *out;
    const kl_value **values;
    size_t used;
    size_t capacity;
} encoder;

/* The members of one object, and how many of them are written. */
typedef struct members {
    const kl__schema *schema;
    size_t first; /* in encoder->values */
    size_t at;    /* the next one in schema->numbered */
} members;

static void put_members(encoder *self, members *from, int within);

/* Adds `count` values to the stack, all absent. False: out of memory. */
static bool reserve_values(encoder *self, size_t count)
{
    size_t capacity = 2 * (self->used + count) + 64;
    const kl_value **values = self->values;

    if (count == 0) {
        return true;
    }
    if (self->used + count > self->capacity) {
        values = kl__realloc(self->values, capacity * sizeof(kl_value *));
        if (values == NULL) {
            self->out->failed = true;
            return false;
        }
        self->values = values;
        self->capacity = capacity;
    }
    memset(values + self->used, 0, count * sizeof(kl_value *));
    self->used += count;
    return true;
}

static void put_message(encoder *self, const kl__schema *schema,
                        const kl_value *object)
{
    members from = {schema, self->used, 0};
    kl_value_iter iter = {0};
    const kl_value *value, *key;

    if (!reserve_values(self, schema->field_count)) {
        return;
    }
    while (kl_value_type(object) == KL_OBJECT &&
           (value = kl_value_next(object, &iter, &key)) != NULL) {
        size_t length;
        const char *name = kl_value_string(key, &length);
        const kl__schema_field *field = kl__schema_get(schema, name, length);

        if (field != NULL && kl_value_type(value) != KL_NULL) {
            self->values[from.first + (size_t)(field - schema->fields)] = value;
        }
    }
    put_members(self, &from, 0);
    self->used = from.first;
}

/* A member of a map. */
typedef struct entry {
    const char *name;
    size_t length;
    const kl_value *value;
} entry;

static int compare_map_keys(const void *a, const void *b)
{
    const entry *left = a, *right = b;
    size_t length = left->length < right->length ? left->length : right->length;
    int order = memcmp(left->name, right->name, length);

    return order != 0 ? order
                      : (left->length > right->length) -
                            (left->length < right->length);
}

/* The members of a map, sorted by name; owned by the caller. NULL: there are
 * none, or out of memory. */
static entry *sort_entries(const kl_value *map, kl__buf *out)
{
    const size_t count = kl_value_size(map);
    entry *entries = count != 0 ? kl__malloc(count * sizeof(*entries)) : NULL;
    kl_value_iter iter = {0};
    const kl_value *key;

    for (size_t i = 0; entries != NULL && i < count; i++) {
        entries[i].value = kl_value_next(map, &iter, &key);
        entries[i].name = kl_value_string(key, &entries[i].length);
    }
    if (entries != NULL) {
        qsort(entries, count, sizeof(*entries), compare_map_keys);
    }
    out->failed = out->failed || (entries == NULL && count != 0);
    return entries;
}

static void put_either(encoder *self, const kl__schema *schema, int number,
                       const kl_value *value);

/* Appends a value. It is called for all elements of lists and maps, and for
 * members unless they are nil in Go. */
static void put_element(encoder *self, const kl__schema *schema, int number,
                        const kl_value *value)
{
    kl__buf *out = self->out;
    size_t begin;

    if (schema->type == KL__SCHEMA_OBJECT) {
        begin = kl__wire_begin(out, number);
        put_message(self, schema, value);
        kl__wire_end(out, begin);
    } else if (schema->type == KL__SCHEMA_ARRAY) {
        kl_value_iter iter = {0};
        const kl_value *element;

        begin = kl__wire_begin(out, number);
        while ((element = kl_value_next(value, &iter, NULL)) != NULL) {
            put_element(self, schema->items, 1, element);
        }
        kl__wire_end(out, begin);
    } else if ((schema->flags & KL__PROTOBUF_EITHER) != 0) {
        put_either(self, schema, number, value);
    } else {
        kl__protobuf_put_scalar(schema, number, value, out);
    }
}

static void put_repeated(encoder *self, const kl__schema *schema, int number,
                         const kl_value *list)
{
    kl_value_iter iter = {0};
    const kl_value *element;

    while (kl_value_type(list) == KL_ARRAY &&
           (element = kl_value_next(list, &iter, NULL)) != NULL) {
        put_element(self, schema, number, element);
    }
}

static void put_map(encoder *self, const kl__schema *schema, int number,
                    const kl_value *map)
{
    const bool is_map = kl_value_type(map) == KL_OBJECT;
    const size_t count = is_map ? kl_value_size(map) : 0;
    entry *entries = count != 0 ? sort_entries(map, self->out) : NULL;

    for (size_t i = 0; entries != NULL && i < count; i++) {
        size_t begin = kl__wire_begin(self->out, number);

        kl__wire_put_bytes(self->out, 1, entries[i].name, entries[i].length);
        put_element(self, schema, 2, entries[i].value);
        kl__wire_end(self->out, begin);
    }
    kl__free(entries);
}

/* Appends a message with a schema; or instead, with a list of schemas, a list
 * of names, or a boolean. */
static void put_either(encoder *self, const kl__schema *schema, int number,
                       const kl_value *value)
{
    const bool is_bool = (schema->flags & KL__SCHEMA_OR_BOOL) != 0;
    const bool is_schema = kl_value_type(value) == KL_OBJECT;
    const kl__schema *inner = kl__schema_type_named(KL__PROTOBUF_SCHEMAS, NULL);
    size_t begin = kl__wire_begin(self->out, number);

    if (inner == NULL) {
        self->out->failed = true;
        return;
    }
    if (is_bool) {
        kl__wire_put_number(self->out, 1, is_schema || kl_value_bool(value));
    }
    if (is_schema) {
        put_element(self, inner, is_bool ? 2 : 1, value);
    } else if ((schema->flags & KL__SCHEMA_OR_ARRAY) != 0) {
        put_repeated(self, inner, 2, value);
    } else if (kl_value_type(value) == KL_ARRAY) {
        static const kl__schema name = {.type = KL__SCHEMA_STRING};

        put_repeated(self, &name, 2, value);
    }
    kl__wire_end(self->out, begin);
}

static void put_message_member(encoder *self, const kl__schema *schema,
                               int number, const kl_value *value)
{
    const bool is_wrapped = (schema->flags & KL__SCHEMA_WRAPPED) != 0;
    /* True if an absent value is nil in Go. */
    const bool may_be_nil = (schema->flags & KL__SCHEMA_POINTER) != 0 ||
                            is_wrapped || schema->format == KL__FORMAT_BYTE;

    if (schema->type == KL__SCHEMA_ARRAY && !is_wrapped) {
        put_repeated(self, schema->items, number, value);
    } else if (schema->type == KL__SCHEMA_MAP) {
        put_map(self, schema->items, number, value);
    } else if (value != NULL || !may_be_nil) {
        put_element(self, schema, number, value);
    }
}

/* Appends the members of the message at path `within`, and of the messages in
 * it that inlined structs are. */
static void put_members(encoder *self, members *from, int within)
{
    const kl__schema *schema = from->schema;

    while (from->at < schema->numbered_count) {
        const size_t index = schema->numbered[from->at];
        const kl__schema_field *field = &schema->fields[index];
        const int step = kl__schema_step(field->number, within);
        const int number = step % KL__SCHEMA_BASE;

        if (step == 0) {
            return;
        }
        if (step == field->number) {
            put_message_member(self, field->schema, number,
                               self->values[from->first + index]);
            from->at++;
        } else {
            size_t begin = kl__wire_begin(self->out, number);

            put_members(self, from, step);
            kl__wire_end(self->out, begin);
        }
    }
}

void kl__protobuf_encode(const kl__schema *schema, const kl_value *object,
                         kl__buf *out)
{
    encoder self = {.out = out};

    put_message(&self, schema, object);
    kl__free(self.values);
}

void kl__protobuf_begin(kl__buf *out, const char *api_version, const char *kind)
{
    size_t begin;

    kl__buf_append(out, KL__PROTOBUF_MAGIC, sizeof(KL__PROTOBUF_MAGIC));
    begin = kl__wire_begin(out, 1);
    kl__wire_put_text(out, 1, api_version);
    kl__wire_put_text(out, 2, kind);
    kl__wire_end(out, begin);
}

void kl__protobuf_end(kl__buf *out)
{
    kl__wire_put_text(out, 3, ""); /* contentEncoding */
    kl__wire_put_text(out, 4, ""); /* contentType */
}
