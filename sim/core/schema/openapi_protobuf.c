/*
 * openapi_protobuf.c - see openapi_protobuf.h. Tables map the members of an
 * object to the fields of its message. Other members are left out, except
 * extensions ("x-..."), which are written as JSON.
 */
#include "sim/core/schema/openapi_protobuf.h"

#include "base/buf.h"
#include "base/mem.h"
#include "sim/core/schema/protobuf_wire.h"

#include <stdint.h>
#include <string.h>

enum { MAX_VARINT = 10 };

static void wire_end(kl__buf *out, size_t begin);

static size_t encode_varint(uint64_t value, char *bytes)
{
    size_t length = 0;

    while (value >= 0x80) {
        bytes[length++] = (char)(value | 0x80);
        value >>= 7;
    }
    bytes[length++] = (char)value;
    return length;
}

static void put_varint(kl__buf *out, uint64_t value)
{
    char bytes[MAX_VARINT];

    kl__buf_append(out, bytes, encode_varint(value, bytes));
}

static void put_tag(kl__buf *out, int number, int type)
{
    put_varint(out, (uint64_t)number << 3 | (unsigned)type);
}

/* Append fields of the wire types varint, fixed64 and bytes. */
static void wire_put_number(kl__buf *out, int number, uint64_t value)
{
    put_tag(out, number, KL__WIRE_VARINT);
    put_varint(out, value);
}

static void wire_put_real(kl__buf *out, int number, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_tag(out, number, KL__WIRE_FIXED64);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        kl__buf_putc(out, (char)(bits >> shift));
    }
}

/* Appends the head of a field of `length` bytes, which the caller appends
 * then. */
static void put_head(kl__buf *out, int number, size_t length)
{
    put_tag(out, number, KL__WIRE_BYTES);
    put_varint(out, length);
}

static void wire_put_bytes(kl__buf *out, int number, const void *bytes,
                           size_t length)
{
    put_head(out, number, length);
    kl__buf_append(out, bytes, length);
}

/* Begins a field that is a message. All that is appended before wire_end is
 * the message; pass the result to wire_end. */
static size_t wire_begin(kl__buf *out, int number)
{
    put_tag(out, number, KL__WIRE_BYTES);
    return out->length;
}

/* Inserts the length before the message, now that it is known. */
static void wire_end(kl__buf *out, size_t begin)
{
    char length[MAX_VARINT];
    size_t inner = out->length - begin;
    size_t size = encode_varint(inner, length);

    if (kl__buf_reserve(out, size) == NULL) {
        return;
    }
    memmove(out->bytes + begin + size, out->bytes + begin, inner);
    memcpy(out->bytes + begin, length, size);
    out->length += size;
    out->bytes[out->length] = '\0';
}

/* ---- documents ---- */

typedef enum member_form {
    FORM_TEXT, /* one, or an array of them */
    FORM_FLAG,
    FORM_INTEGER,
    FORM_REAL,
    FORM_RAW,     /* the JSON of any value: one, or an array of them */
    FORM_MESSAGE, /* one, or an array of them */
    FORM_NAMED,   /* an object as a list of (name, message) */
    FORM_EITHER   /* a message, or a boolean */
} member_form;

typedef struct message_row message_row;

typedef struct member_row {
    const char *name;
    int number;
    member_form form;
    const message_row *message;
    /* a byte for each message around the value: the number of the field in it
     * that leads on to the value */
    const char *within;
    int entry; /* FORM_NAMED: the number of the field for pairs */
} member_row;

struct message_row {
    const member_row *members;
    int extensions; /* the number of the field for extensions; 0: none */
};

#define PLAIN(name, number, form)       \
    {                                   \
        name, number, form, NULL, "", 0 \
    }
#define MESSAGE(name, number, row, within)         \
    {                                              \
        name, number, FORM_MESSAGE, row, within, 0 \
    }
#define LAST PLAIN(NULL, 0, FORM_TEXT)

static const message_row schema;

static const member_row of_info[] = {PLAIN("title", 1, FORM_TEXT),
                                     PLAIN("version", 2, FORM_TEXT),
                                     PLAIN("description", 3, FORM_TEXT), LAST};
static const message_row info = {of_info, 7};

static const member_row of_query[] = {
    PLAIN("required", 1, FORM_FLAG),     PLAIN("in", 2, FORM_TEXT),
    PLAIN("description", 3, FORM_TEXT),  PLAIN("name", 4, FORM_TEXT),
    PLAIN("type", 6, FORM_TEXT),         PLAIN("format", 7, FORM_TEXT),
    PLAIN("uniqueItems", 20, FORM_FLAG), LAST};
static const message_row query = {of_query, 23};

static const member_row of_response[] = {PLAIN("description", 1, FORM_TEXT),
                                         MESSAGE("schema", 2, &schema, "\1"),
                                         LAST};
static const message_row response = {of_response, 5};

/* In these documents, all parameters of an operation are query parameters. */
static const member_row of_operation[] = {
    PLAIN("description", 3, FORM_TEXT),
    PLAIN("operationId", 5, FORM_TEXT),
    PLAIN("produces", 6, FORM_TEXT),
    PLAIN("consumes", 7, FORM_TEXT),
    MESSAGE("parameters", 8, &query, "\1\2\3"),
    {"responses", 9, FORM_NAMED, &response, "\1", 1},
    LAST};
static const message_row operation = {of_operation, 13};

static const member_row of_path[] = {MESSAGE("get", 2, &operation, ""),
                                     MESSAGE("put", 3, &operation, ""),
                                     MESSAGE("post", 4, &operation, ""),
                                     MESSAGE("delete", 5, &operation, ""),
                                     MESSAGE("patch", 8, &operation, ""),
                                     MESSAGE("parameters", 9, &query, "\1\2\3"),
                                     LAST};
static const message_row path = {of_path, 10};

static const member_row of_schema[] = {
    PLAIN("$ref", 1, FORM_TEXT),
    PLAIN("format", 2, FORM_TEXT),
    PLAIN("title", 3, FORM_TEXT),
    PLAIN("description", 4, FORM_TEXT),
    PLAIN("default", 5, FORM_RAW),
    PLAIN("multipleOf", 6, FORM_REAL),
    PLAIN("maximum", 7, FORM_REAL),
    PLAIN("exclusiveMaximum", 8, FORM_FLAG),
    PLAIN("minimum", 9, FORM_REAL),
    PLAIN("exclusiveMinimum", 10, FORM_FLAG),
    PLAIN("maxLength", 11, FORM_INTEGER),
    PLAIN("minLength", 12, FORM_INTEGER),
    PLAIN("pattern", 13, FORM_TEXT),
    PLAIN("maxItems", 14, FORM_INTEGER),
    PLAIN("minItems", 15, FORM_INTEGER),
    PLAIN("uniqueItems", 16, FORM_FLAG),
    PLAIN("maxProperties", 17, FORM_INTEGER),
    PLAIN("minProperties", 18, FORM_INTEGER),
    PLAIN("required", 19, FORM_TEXT),
    PLAIN("enum", 20, FORM_RAW),
    {"additionalProperties", 21, FORM_EITHER, &schema, "\1", 0},
    {"type", 22, FORM_TEXT, NULL, "\1", 0},
    MESSAGE("items", 23, &schema, "\1"),
    MESSAGE("allOf", 24, &schema, ""),
    {"properties", 25, FORM_NAMED, &schema, "", 1},
    LAST};
static const message_row schema = {of_schema, 31};

static const member_row of_document[] = {
    PLAIN("swagger", 1, FORM_TEXT),
    MESSAGE("info", 2, &info, ""),
    {"paths", 8, FORM_NAMED, &path, "", 2},
    {"definitions", 9, FORM_NAMED, &schema, "", 1},
    LAST};
static const message_row document_row = {of_document, 16};

static void put_message(kl__buf *out, const message_row *row,
                        const kl_value *value);

/* Appends a text, which may have a NUL inside. */
static void put_string(kl__buf *out, int number, const kl_value *value)
{
    size_t length;
    const char *text = kl_value_string(value, &length);

    if (text != NULL) {
        wire_put_bytes(out, number, text, length);
    }
}

/* Appends a message whose second field is the JSON of a value. The field is for
 * YAML, and JSON is YAML too. */
static void put_raw(kl__buf *out, int number, const kl_value *value)
{
    size_t length, begin = wire_begin(out, number);
    char *json = kl_value_json(value, &length, NULL);

    if (json != NULL) {
        wire_put_bytes(out, 2, json, length);
    } else {
        out->failed = true;
    }
    wire_end(out, begin);
    kl__free(json);
}

/* Appends the value by the form of its row. */
static void put_content(kl__buf *out, int number, const member_row *row,
                        const kl_value *value)
{
    size_t begin;

    switch (row->form) {
    case FORM_TEXT:
        put_string(out, number, value);
        break;
    case FORM_FLAG:
        wire_put_number(out, number, kl_value_bool(value));
        break;
    case FORM_INTEGER:
        wire_put_number(out, number, (uint64_t)kl_value_integer(value));
        break;
    case FORM_REAL:
        wire_put_real(out, number, kl_value_real(value));
        break;
    case FORM_RAW:
        put_raw(out, number, value);
        break;
    default:
        begin = wire_begin(out, number);
        put_message(out, row->message, value);
        wire_end(out, begin);
        break;
    }
}

/* Appends the value inside the messages that row->within names. */
static void put_within(kl__buf *out, int number, const member_row *row,
                       const kl_value *value)
{
    enum { MAX_WITHIN = 4 };

    size_t begins[MAX_WITHIN], count = strlen(row->within);

    for (size_t i = 0; i < count; i++) {
        begins[i] = wire_begin(out, number);
        number = row->within[i];
    }
    put_content(out, number, row, value);
    for (size_t i = count; i > 0; i--) {
        wire_end(out, begins[i - 1]);
    }
}

static void put_named(kl__buf *out, const member_row *row,
                      const kl_value *object)
{
    size_t all = wire_begin(out, row->number);
    kl_value_iter iter = {0};
    const kl_value *name, *value;

    while ((value = kl_value_next(object, &iter, &name)) != NULL) {
        size_t pair = wire_begin(out, row->entry);

        put_string(out, 1, name);
        put_within(out, 2, row, value);
        wire_end(out, pair);
    }
    wire_end(out, all);
}

/* True if each element of an array is a field of its own. */
static bool is_repeated(const member_row *row, const kl_value *value)
{
    return kl_value_type(value) == KL_ARRAY &&
           (row->form == FORM_TEXT || row->form == FORM_MESSAGE ||
            row->form == FORM_RAW);
}

static void put_document_member(kl__buf *out, const member_row *row,
                                const kl_value *value)
{
    kl_value_iter iter = {0};
    const kl_value *element;
    size_t begin;

    if (row->form == FORM_NAMED) {
        put_named(out, row, value);
    } else if (is_repeated(row, value)) {
        while ((element = kl_value_next(value, &iter, NULL)) != NULL) {
            put_within(out, row->number, row, element);
        }
    } else if (row->form == FORM_EITHER && kl_value_type(value) == KL_BOOL) {
        begin = wire_begin(out, row->number);
        wire_put_number(out, 2, kl_value_bool(value));
        wire_end(out, begin);
    } else {
        put_within(out, row->number, row, value);
    }
}

static void put_extension(kl__buf *out, int number, const kl_value *name,
                          const kl_value *value)
{
    size_t begin = wire_begin(out, number);

    put_string(out, 1, name);
    put_raw(out, 2, value);
    wire_end(out, begin);
}

static void put_message(kl__buf *out, const message_row *row,
                        const kl_value *object)
{
    kl_value_iter iter = {0};
    const kl_value *name, *value;

    while ((value = kl_value_next(object, &iter, &name)) != NULL) {
        const char *text = kl_value_string(name, NULL);
        const member_row *member = row->members;

        while (member->name != NULL && strcmp(member->name, text) != 0) {
            member++;
        }
        if (member->name != NULL) {
            put_document_member(out, member, value);
        } else if (strncmp(text, "x-", 2) == 0 && row->extensions != 0) {
            put_extension(out, row->extensions, name, value);
        }
    }
}

void kl__openapi_protobuf(const kl_value *document, kl__buf *out)
{
    put_message(out, &document_row, document);
}
