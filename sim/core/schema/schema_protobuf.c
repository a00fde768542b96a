/*
 * schema_protobuf.c - see schema_protobuf.h: decodes a message into an object.
 * Fields may come in any order, and more than once.
 */
#include "sim/core/schema/schema_protobuf.h"

#include "sim/core/schema/protobuf_wire.h"

#include <stdio.h>
#include <string.h>

typedef struct decoder {
    kl__edit *edit;
    kl_error *err;
    int depth;
} decoder;

static kl_code decode_out_of_memory(decoder *self)
{
    return kl_error_set(self->err, KL_ENOMEM, "out of memory for an object");
}

static kl_code read_message(decoder *self, const kl__schema *schema, int within,
                            kl__wire wire, kl__node *target);

/* "ConfigMap" of "io.k8s.api.core.v1.ConfigMap". */
static const char *message_name(const kl__schema *schema)
{
    const char *dot = schema->name != NULL ? strrchr(schema->name, '.') : NULL;

    return dot != NULL ? dot + 1 : "message";
}

/* The field with that number in the message at path `within` (0: the schema's
 * own); or if the number is that of an inlined struct, a field in it, and
 * *is_inlined is true. NULL: there is none. */
static const kl__schema_field *find_field(const kl__schema *schema, int within,
                                          int number, bool *is_inlined)
{
    const int path = within * KL__SCHEMA_BASE + number;

    for (size_t i = 0; number < KL__SCHEMA_BASE && i < schema->field_count;
         i++) {
        const kl__schema_field *field = &schema->fields[i];

        if (kl__schema_step(field->number, within) == path) {
            *is_inlined = field->number != path;
            return field;
        }
    }
    return NULL;
}

/* True if JSON would leave the value out. */
static bool is_left_out(const kl__schema *schema, const kl__node *node)
{
    size_t length = 0;

    if (kl__node_is(node, KL_NULL)) {
        return true;
    }
    if ((schema->flags & KL__SCHEMA_POINTER) != 0 ||
        (schema->flags & KL__SCHEMA_OMIT_EMPTY) == 0) {
        return false;
    }
    switch (kl__node_type(node)) {
    case KL_STRING:
        return kl__node_string(node, &length) == NULL || length == 0;
    case KL_INTEGER:
        return kl__node_integer(node) == 0;
    case KL_REAL:
        return kl__node_real(node) == 0;
    case KL_BOOL:
        return !kl__node_bool(node);
    default:
        return false;
    }
}

static kl_code wrong_wire(decoder *self, const kl__wire_field *field,
                          const char *name)
{
    char go[128];

    snprintf(go, sizeof(go), "%s",
             strcmp(name, "metadata") == 0 ? "ObjectMeta" : name);
    if (go[0] >= 'a' && go[0] <= 'z') {
        go[0] = (char)(go[0] - 'a' + 'A');
    }
    return kl_error_set(self->err, KL_EPARSE,
                        "proto: wrong wireType = %d for field %s", field->type,
                        go);
}

/* Reads a value as a new node. Here, a list is a message of its own, and a map
 * is one entry. NULL: an error. */
static kl__node *read_value(decoder *self, const kl__schema *schema,
                            const kl__wire_field *field);

/* Reads one entry of a map: key and value are fields 1 and 2. */
static kl_code read_entry(decoder *self, const kl__schema *items, kl__wire wire,
                          kl__node *map)
{
    kl__wire_field field, value = {.type = -1}, key = {.type = -1};
    kl__wire_field empty = {.type = KL__WIRE_BYTES};
    kl__node *name, *node;
    size_t length;
    const char *text;

    while (!kl__wire_is_empty(&wire)) {
        kl_code code = kl__wire_next(&wire, "Entry", &field, self->err);

        if (code != KL_OK) {
            return code;
        }
        if (field.number == 1 && field.type == KL__WIRE_BYTES) {
            key = field;
        } else if (field.number == 2) {
            value = field;
        }
    }
    name = kl__protobuf_text(self->edit,
                             key.type >= 0 ? &key.bytes : &empty.bytes);
    if (name == NULL) {
        return decode_out_of_memory(self);
    }
    node = read_value(self, items, value.type >= 0 ? &value : &empty);
    if (node == NULL) {
        return KL_EPARSE;
    }
    text = kl__node_string(name, &length);
    return kl__node_put_n(self->edit, map, text, length, node)
               ? KL_OK
               : decode_out_of_memory(self);
}

/* Appends the elements in a field of a list: one, or many packed numbers. */
static kl_code append_elements(decoder *self, const kl__schema *items,
                               const kl__wire_field *field, kl__node *array)
{
    int type = items->type == KL__SCHEMA_OBJECT || items->type == KL__SCHEMA_MAP
                   ? KL__WIRE_BYTES
                   : kl__protobuf_scalar_wire(items);
    kl__wire_field one = *field;
    kl__node *node;

    if (field->type == KL__WIRE_BYTES && type != KL__WIRE_BYTES) {
        kl__wire packed = field->bytes;
        kl_code code = KL_OK;

        one.type = type;
        while (code == KL_OK && !kl__wire_is_empty(&packed)) {
            code = kl__wire_number(&packed, type, &one.value, self->err);
            if (code == KL_OK) {
                code = append_elements(self, items, &one, array);
            }
        }
        return code;
    }
    if (field->type != type) {
        return wrong_wire(self, field, "items");
    }
    node = read_value(self, items, &one);
    if (node == NULL) {
        return KL_EPARSE;
    }
    return kl__node_append(array, node) ? KL_OK : decode_out_of_memory(self);
}

/* Reads a list that is a message of its own. */
static kl_code append_wrapped(decoder *self, const kl__schema *schema,
                              kl__wire wire, kl__node *array)
{
    kl_code code = KL_OK;
    kl__wire_field field;

    while (code == KL_OK && !kl__wire_is_empty(&wire)) {
        code = kl__wire_next(&wire, "items", &field, self->err);
        if (code == KL_OK && field.number == 1) {
            code = append_elements(self, schema->items, &field, array);
        }
    }
    return code;
}

/* Reads a schema of a definition. */
static kl__node *read_schema(decoder *self, kl__wire wire)
{
    const kl__schema *schema =
        kl__schema_type_named(KL__PROTOBUF_SCHEMAS, self->err);
    kl__node *node = kl__edit_object(self->edit);

    if (schema == NULL || node == NULL) {
        decode_out_of_memory(self);
        return NULL;
    }
    return read_message(self, schema, 0, wire, node) == KL_OK ? node : NULL;
}

/* Reads a message that has a schema; or instead, a list of schemas, a list of
 * names, or a boolean. */
static kl__node *read_either(decoder *self, const kl__schema *schema,
                             kl__wire wire)
{
    const bool is_bool = (schema->flags & KL__SCHEMA_OR_BOOL) != 0;
    const bool has_names = (schema->flags & KL__SCHEMA_OR_NAMES) != 0;
    kl__node *single =
        is_bool ? kl__edit_bool(self->edit, false) : kl__edit_null(self->edit);
    kl__node *many = kl__edit_array(self->edit);
    kl__wire_field field;

    while (single != NULL && many != NULL && !kl__wire_is_empty(&wire)) {
        kl__node *node;

        if (kl__wire_next(&wire, message_name(schema), &field, self->err) !=
            KL_OK) {
            return NULL;
        }
        if (field.number > 2) {
            continue;
        }
        if (is_bool && field.number == 1) {
            single = kl__edit_bool(self->edit, field.value != 0);
            continue;
        }
        if (field.type != KL__WIRE_BYTES) {
            wrong_wire(self, &field, message_name(schema));
            return NULL;
        }
        node = has_names && field.number == 2
                   ? kl__protobuf_text(self->edit, &field.bytes)
                   : read_schema(self, field.bytes);
        if (is_bool || field.number == 1) {
            single = node;
        } else if (!kl__node_append(many, node)) {
            many = NULL;
        }
    }
    if (single == NULL || many == NULL) {
        if (self->err->code == KL_OK) {
            decode_out_of_memory(self);
        }
        return NULL;
    }
    return kl__node_size(many) != 0 ? many : single;
}

static kl__node *read_scalar(decoder *self, const kl__schema *schema,
                             const kl__wire_field *field)
{
    return (schema->flags & KL__PROTOBUF_EITHER) != 0
               ? read_either(self, schema, field->bytes)
               : kl__protobuf_scalar(self->edit, schema, field, self->err);
}

static kl__node *read_value(decoder *self, const kl__schema *schema,
                            const kl__wire_field *field)
{
    kl__node *node;
    kl_code code = KL_OK;

    if (schema->type == KL__SCHEMA_OBJECT) {
        node = kl__edit_object(self->edit);
        code = node != NULL ? read_message(self, schema, 0, field->bytes, node)
                            : decode_out_of_memory(self);
        return code == KL_OK ? node : NULL;
    }
    if (schema->type == KL__SCHEMA_MAP) {
        node = kl__edit_object(self->edit);
        code = node != NULL
                   ? read_entry(self, schema->items, field->bytes, node)
                   : decode_out_of_memory(self);
        return code == KL_OK ? node : NULL;
    }
    if (schema->type == KL__SCHEMA_ARRAY) {
        node = kl__edit_array(self->edit);
        code = node != NULL ? append_wrapped(self, schema, field->bytes, node)
                            : decode_out_of_memory(self);
        return code == KL_OK ? node : NULL;
    }
    return read_scalar(self, schema, field);
}

/* The list or object to which the field adds; it is made if it is absent. NULL:
 * out of memory. */
static kl__node *ensure_member(decoder *self, const kl__schema_field *field,
                               kl__node *target)
{
    kl__node *there = kl__node_get(target, field->name);
    bool is_array = field->schema->type == KL__SCHEMA_ARRAY;

    if (there != NULL) {
        return there;
    }
    there = is_array ? kl__edit_array(self->edit) : kl__edit_object(self->edit);
    return kl__node_put(self->edit, target, field->name, there) ? there : NULL;
}

static kl_code read_member(decoder *self, const kl__schema_field *field,
                           const kl__wire_field *read, kl__node *target)
{
    const kl__schema *schema = field->schema;
    bool is_scalar = schema->type != KL__SCHEMA_OBJECT &&
                     schema->type != KL__SCHEMA_MAP &&
                     schema->type != KL__SCHEMA_ARRAY;
    kl__node *node = is_scalar ? NULL : ensure_member(self, field, target);

    if (is_scalar && read->type != kl__protobuf_scalar_wire(schema)) {
        return wrong_wire(self, read, field->name);
    }
    if (is_scalar) {
        node = read_scalar(self, schema, read);
        if (node == NULL) {
            return KL_EPARSE;
        }
        if (is_left_out(schema, node)) {
            kl__node_remove(target, field->name);
            return KL_OK;
        }
        return kl__node_put(self->edit, target, field->name, node)
                   ? KL_OK
                   : decode_out_of_memory(self);
    }
    if (node == NULL) {
        return decode_out_of_memory(self);
    }
    if (schema->type == KL__SCHEMA_ARRAY &&
        (schema->flags & KL__SCHEMA_WRAPPED) == 0) {
        return append_elements(self, schema->items, read, node);
    }
    if (read->type != KL__WIRE_BYTES) {
        return wrong_wire(self, read, field->name);
    }
    if (schema->type != KL__SCHEMA_OBJECT) {
        return schema->type == KL__SCHEMA_ARRAY
                   ? append_wrapped(self, schema, read->bytes, node)
                   : read_entry(self, schema->items, read->bytes, node);
    }
    if ((schema->flags & KL__SCHEMA_OMIT_ZERO) != 0 &&
        kl__wire_is_empty(&read->bytes) && kl__node_size(node) == 0) {
        kl__node_remove(target, field->name);
        return KL_OK;
    }
    return read_message(self, schema, 0, read->bytes, node);
}

/* A message that is being read. */
typedef struct message {
    const kl__schema *schema;
    int within;
    kl__wire wire; /* the part that is not read yet */
    kl__node *target;
} message;

/* Reads one field; its tag was read before. */
static kl_code read_field(decoder *self, message *from, kl__wire_field *read)
{
    bool is_inlined = false;
    const kl__schema_field *field =
        find_field(from->schema, from->within, read->number, &is_inlined);
    kl_code code;

    if (field == NULL) {
        return kl__wire_skip(&from->wire, read, self->err);
    }
    if (read->type == KL__WIRE_GROUP ||
        (is_inlined && read->type != KL__WIRE_BYTES)) {
        return wrong_wire(self, read, field->name);
    }
    code = kl__wire_value(&from->wire, read, self->err);
    if (code != KL_OK) {
        return code;
    }
    return is_inlined
               ? read_message(self, from->schema,
                              from->within * KL__SCHEMA_BASE + read->number,
                              read->bytes, from->target)
               : read_member(self, field, read, from->target);
}

static kl_code read_message(decoder *self, const kl__schema *schema, int within,
                            kl__wire wire, kl__node *target)
{
    message from = {schema, within, wire, target};
    kl_code code = KL_OK;
    kl__wire_field read;

    if (++self->depth > KL__NODE_DEPTH / 2) {
        return kl_error_set(self->err, KL_EPARSE, "proto: nested too deep");
    }
    while (code == KL_OK && !kl__wire_is_empty(&from.wire)) {
        code = kl__wire_tag(&from.wire, message_name(schema), &read, self->err);
        if (code == KL_OK) {
            code = read_field(self, &from, &read);
        }
    }
    self->depth--;
    return code;
}

kl__node *kl__protobuf_decode(kl__edit *edit, const kl__schema *schema,
                              const char *raw, size_t length, kl_error *err)
{
    kl_error why = {0};
    decoder self = {.edit = edit, .err = &why};
    kl__node *root = kl__edit_object(edit);
    kl_code code = root != NULL ? read_message(&self, schema, 0,
                                               kl__wire_of(raw, length), root)
                                : decode_out_of_memory(&self);

    if (code != KL_OK) {
        kl_error_set(err, why.code, "%s", why.message);
        return NULL;
    }
    return root;
}

/* --- The envelope: "k8s", a NUL byte, and a runtime.Unknown. -------------- */

static kl_code read_type(kl__wire wire, kl__protobuf *out, kl_error *err)
{
    kl_code code = KL_OK;
    kl__wire_field field;

    while (code == KL_OK && !kl__wire_is_empty(&wire)) {
        code = kl__wire_next(&wire, "TypeMeta", &field, err);
        if (code != KL_OK || field.type != KL__WIRE_BYTES) {
            continue;
        }
        if (field.number == 1) {
            out->api_version = (const char *)field.bytes.at;
            out->api_version_length =
                (size_t)(field.bytes.end - field.bytes.at);
        } else if (field.number == 2) {
            out->kind = (const char *)field.bytes.at;
            out->kind_length = (size_t)(field.bytes.end - field.bytes.at);
        }
    }
    return code;
}

kl_code kl__protobuf_open(const char *bytes, size_t length, kl__protobuf *out,
                          kl_error *err)
{
    kl_code code = KL_OK;
    kl__wire_field field;
    kl__wire wire;

    *out = (kl__protobuf){"", 0, "", 0, "", 0};
    if (length == 0) {
        return kl_error_set(err, KL_EPARSE, "empty data");
    }
    if (length < sizeof(KL__PROTOBUF_MAGIC) ||
        memcmp(bytes, KL__PROTOBUF_MAGIC, sizeof(KL__PROTOBUF_MAGIC)) != 0) {
        return kl_error_set(err, KL_EPARSE,
                            "provided data does not appear to be a protobuf "
                            "message, expected prefix [107 56 115 0]");
    }
    wire = kl__wire_of(bytes + sizeof(KL__PROTOBUF_MAGIC),
                       length - sizeof(KL__PROTOBUF_MAGIC));
    if (kl__wire_is_empty(&wire)) {
        return kl_error_set(err, KL_EPARSE, "empty body");
    }
    while (code == KL_OK && !kl__wire_is_empty(&wire)) {
        code = kl__wire_next(&wire, "Unknown", &field, err);
        if (code != KL_OK || field.type != KL__WIRE_BYTES) {
            continue;
        }
        if (field.number == 1) {
            code = read_type(field.bytes, out, err);
        } else if (field.number == 2) {
            out->raw = (const char *)field.bytes.at;
            out->raw_length = (size_t)(field.bytes.end - field.bytes.at);
        }
    }
    return code;
}
