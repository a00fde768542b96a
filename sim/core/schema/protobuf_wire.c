/*
 * protobuf_wire.c - see protobuf_wire.h. Every length is checked against the
 * bytes that are left.
 */
#include "sim/core/schema/protobuf_wire.h"

#include "base/base64.h"
#include "base/buf.h"
#include "json/quote.h"
#include "sim/core/schema/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_GROUPS = 100 }; /* nested */

static kl_code fail_end(kl_error *err)
{
    return kl_error_set(err, KL_EPARSE, "unexpected EOF");
}

static kl_code read_varint(kl__wire *wire, uint64_t *value, kl_error *err)
{
    *value = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte;

        if (shift >= 64) {
            return kl_error_set(err, KL_EPARSE, "proto: integer overflow");
        }
        if (wire->at == wire->end) {
            return fail_end(err);
        }
        byte = *wire->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return KL_OK;
        }
    }
}

static kl_code read_fixed(kl__wire *wire, size_t size, uint64_t *value,
                          kl_error *err)
{
    if ((size_t)(wire->end - wire->at) < size) {
        return fail_end(err);
    }
    *value = 0;
    for (size_t i = 0; i < size; i++) {
        *value |= (uint64_t)*wire->at++ << (8 * i);
    }
    return KL_OK;
}

static kl_code read_bytes(kl__wire *wire, kl__wire *bytes, kl_error *err)
{
    uint64_t length;
    kl_code code = read_varint(wire, &length, err);

    if (code != KL_OK) {
        return code;
    }
    if (length > INT64_MAX) {
        return kl_error_set(err, KL_EPARSE,
                            "proto: negative length found during "
                            "unmarshaling");
    }
    if (length > (uint64_t)(wire->end - wire->at)) {
        return fail_end(err);
    }
    *bytes = (kl__wire){wire->at, wire->at + length};
    wire->at += length;
    return KL_OK;
}

kl_code kl__wire_tag(kl__wire *wire, const char *message, kl__wire_field *field,
                     kl_error *err)
{
    uint64_t tag;
    kl_code code = read_varint(wire, &tag, err);

    if (code != KL_OK) {
        return code;
    }
    *field = (kl__wire_field){.number = (int)(int32_t)(tag >> 3),
                              .type = (int)(tag & 7)};
    if (field->type == KL__WIRE_GROUP_END) {
        return kl_error_set(err, KL_EPARSE,
                            "proto: %s: wiretype end group for non-group",
                            message);
    }
    if (field->number <= 0) {
        return kl_error_set(err, KL_EPARSE,
                            "proto: %s: illegal tag %d (wire type %d)", message,
                            field->number, field->type);
    }
    return KL_OK;
}

kl_code kl__wire_number(kl__wire *wire, int type, uint64_t *value,
                        kl_error *err)
{
    return type == KL__WIRE_FIXED64   ? read_fixed(wire, 8, value, err)
           : type == KL__WIRE_FIXED32 ? read_fixed(wire, 4, value, err)
                                      : read_varint(wire, value, err);
}

kl_code kl__wire_value(kl__wire *wire, kl__wire_field *field, kl_error *err)
{
    switch (field->type) {
    case KL__WIRE_VARINT:
    case KL__WIRE_FIXED64:
    case KL__WIRE_FIXED32:
        return kl__wire_number(wire, field->type, &field->value, err);
    case KL__WIRE_BYTES:
        return read_bytes(wire, &field->bytes, err);
    default:
        return kl_error_set(err, KL_EPARSE, "proto: illegal wireType %d",
                            field->type);
    }
}

kl_code kl__wire_skip(kl__wire *wire, kl__wire_field *field, kl_error *err)
{
    int depth = field->type == KL__WIRE_GROUP;
    kl_code code = depth == 0 ? kl__wire_value(wire, field, err) : KL_OK;

    while (code == KL_OK && depth != 0) {
        kl__wire_field inner;
        uint64_t tag;

        code = read_varint(wire, &tag, err);
        inner = (kl__wire_field){.type = (int)(tag & 7)};
        if (code != KL_OK) {
            return code;
        }
        if (inner.type == KL__WIRE_GROUP) {
            depth++;
        } else if (inner.type == KL__WIRE_GROUP_END) {
            depth--;
        } else {
            code = kl__wire_value(wire, &inner, err);
        }
        if (depth > MAX_GROUPS) {
            return kl_error_set(err, KL_EPARSE, "proto: nested too deep");
        }
    }
    return code;
}

/* ---- values without fields in their schema ---- */

/* Longer than any duration. */
enum { DURATION_SIZE = 48 };

/* The last second of the year 9999. */
#define LAST_SECOND INT64_C(253402300799)

static kl__node *scalar_out_of_memory(kl_error *err)
{
    kl_error_set(err, KL_ENOMEM, "out of memory for an object");
    return NULL;
}

/* The length of the UTF-8 character; 0: malformed. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
    for (size_t length = 1; length <= 4 && length <= left; length++) {
        if (kl__utf8_is_valid((const char *)at, length)) {
            return length;
        }
    }
    return 0;
}

kl__node *kl__protobuf_text(kl__edit *edit, const kl__wire *bytes)
{
    kl__buf text = {0};

    for (const unsigned char *at = bytes->at; at < bytes->end;) {
        size_t length = utf8_length(at, (size_t)(bytes->end - at));

        if (length != 0) {
            kl__buf_append(&text, at, length);
        } else {
            kl__buf_puts(&text, "\xef\xbf\xbd");
        }
        at += length != 0 ? length : 1;
    }
    return kl__edit_take(edit, &text);
}

/* The values of a message with fields 1 to 3, by the number of the field. */
typedef struct small {
    uint64_t numbers[4];
    kl__wire texts[4];
    bool has_text[4];
} small;

static kl_code read_small(const kl__wire_field *field, const char *message,
                          small *out, kl_error *err)
{
    kl__wire wire = field->bytes;
    kl__wire_field inner;
    kl_code code = KL_OK;

    memset(out, 0, sizeof(*out));
    while (code == KL_OK && !kl__wire_is_empty(&wire)) {
        code = kl__wire_next(&wire, message, &inner, err);
        if (code != KL_OK || inner.number > 3) {
            continue;
        }
        if (inner.type == KL__WIRE_BYTES) {
            out->texts[inner.number] = inner.bytes;
            out->has_text[inner.number] = true;
        } else {
            out->numbers[inner.number] = inner.value;
        }
    }
    return code;
}

static kl__node *read_time(kl__edit *edit, const kl__wire_field *field,
                           bool is_micro, kl_error *err)
{
    char text[KL__TIME_SIZE];
    kl__time time;
    small read;

    if (read_small(field, "Timestamp", &read, err) != KL_OK) {
        return NULL;
    }
    time.seconds = (int64_t)read.numbers[1];
    time.microseconds = (int)(read.numbers[2] / 1000 % 1000000);
    if (kl__wire_is_empty(&field->bytes) ||
        time.seconds == KL__PROTOBUF_FIRST_SECOND) {
        return kl__edit_null(edit);
    }
    if (time.seconds < KL__PROTOBUF_FIRST_SECOND ||
        time.seconds > LAST_SECOND) {
        kl_error_set(err, KL_EPARSE, "year outside of range [0,9999]");
        return NULL;
    }
    kl__time_write(&time, is_micro, text);
    return kl__edit_text(edit, text);
}

/* Writes `value` / `unit`, without zeros at its end, and the name of the unit:
 * "1.5ms". */
static void write_fraction(char *out, size_t size, uint64_t value,
                           uint64_t unit, const char *name)
{
    int digits = unit == 1000 ? 3 : unit == 1000000 ? 6 : 9;
    char text[DURATION_SIZE];
    size_t length;

    if (value % unit == 0) {
        snprintf(out, size, "%" PRIu64 "%s", value / unit, name);
        return;
    }
    snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64, value / unit, digits,
             value % unit);
    length = strlen(text);
    while (text[length - 1] == '0') {
        text[--length] = '\0';
    }
    snprintf(out, size, "%s%s", text, name);
}

/* Writes nanoseconds as Go prints a Duration: "1h5m0s", "1.5ms". */
static kl__node *write_duration(kl__edit *edit, int64_t nanos)
{
    const uint64_t second = UINT64_C(1000000000);
    uint64_t left = nanos < 0 ? 0 - (uint64_t)nanos : (uint64_t)nanos;
    char text[3 * DURATION_SIZE], seconds[2 * DURATION_SIZE];
    const char *sign = nanos < 0 ? "-" : "";
    uint64_t minutes = left / second / 60;

    if (left == 0) {
        return kl__edit_text(edit, "0s");
    }
    if (left < 1000) {
        snprintf(seconds, sizeof(seconds), "%" PRIu64 "ns", left);
    } else if (left < 1000000) {
        write_fraction(seconds, sizeof(seconds), left, 1000, "\xc2\xb5s");
    } else if (left < second) {
        write_fraction(seconds, sizeof(seconds), left, 1000000, "ms");
    } else {
        write_fraction(seconds, sizeof(seconds), left % (60 * second), second,
                       "s");
    }
    if (minutes >= 60) {
        snprintf(text, sizeof(text), "%s%" PRIu64 "h%" PRIu64 "m%s", sign,
                 minutes / 60, minutes % 60, seconds);
    } else if (minutes > 0) {
        snprintf(text, sizeof(text), "%s%" PRIu64 "m%s", sign, minutes,
                 seconds);
    } else {
        snprintf(text, sizeof(text), "%s%s", sign, seconds);
    }
    return kl__edit_text(edit, text);
}

/* Reads a message whose first field is raw JSON, and parses the JSON. */
static kl__node *read_json(kl__edit *edit, const kl__wire_field *field,
                           kl_error *err)
{
    small read;
    size_t length;

    if (read_small(field, "RawExtension", &read, err) != KL_OK) {
        return NULL;
    }
    length = (size_t)(read.texts[1].end - read.texts[1].at);
    if (length == 0) {
        return kl__edit_null(edit);
    }
    return kl__edit_parse(edit, (const char *)read.texts[1].at, length, err);
}

static kl__node *read_int_or_string(kl__edit *edit, const kl__wire_field *field,
                                    kl_error *err)
{
    small read;

    if (read_small(field, "IntOrString", &read, err) != KL_OK) {
        return NULL;
    }
    if (read.numbers[1] == 0) {
        return kl__edit_integer(edit, (int32_t)read.numbers[2]);
    }
    return kl__protobuf_text(edit, &read.texts[3]);
}

static kl__node *read_base64(kl__edit *edit, const kl__wire *bytes)
{
    kl__buf text = {0};

    kl__base64_encode(&text, bytes->at, (size_t)(bytes->end - bytes->at));
    return kl__edit_take(edit, &text);
}

static kl__node *read_text(kl__edit *edit, const kl__schema *schema,
                           const kl__wire_field *field, kl_error *err)
{
    small read;

    switch (schema->format) {
    case KL__FORMAT_BYTE:
        return read_base64(edit, &field->bytes);
    case KL__FORMAT_TIME:
        return read_time(edit, field, false, err);
    case KL__FORMAT_MICROTIME:
        return read_time(edit, field, true, err);
    case KL__FORMAT_DURATION:
        return read_small(field, "Duration", &read, err) == KL_OK
                   ? write_duration(edit, (int64_t)read.numbers[1])
                   : NULL;
    case KL__FORMAT_QUANTITY:
        if (read_small(field, "Quantity", &read, err) != KL_OK) {
            return NULL;
        }
        return kl__wire_is_empty(&read.texts[1])
                   ? kl__edit_text(edit, "0")
                   : kl__protobuf_text(edit, &read.texts[1]);
    default:
        return kl__protobuf_text(edit, &field->bytes);
    }
}

static double real_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

int kl__protobuf_scalar_wire(const kl__schema *schema)
{
    switch (schema->type) {
    case KL__SCHEMA_INTEGER:
    case KL__SCHEMA_BOOLEAN:
        return KL__WIRE_VARINT;
    case KL__SCHEMA_NUMBER:
        return KL__WIRE_FIXED64;
    default:
        return KL__WIRE_BYTES;
    }
}

kl__node *kl__protobuf_scalar(kl__edit *edit, const kl__schema *schema,
                              const kl__wire_field *field, kl_error *err)
{
    kl_error why = {0};
    kl__node *node;

    switch (schema->type) {
    case KL__SCHEMA_INTEGER:
        node = kl__edit_integer(edit, schema->format == KL__FORMAT_INT32
                                          ? (int32_t)field->value
                                          : (int64_t)field->value);
        break;
    case KL__SCHEMA_BOOLEAN:
        node = kl__edit_bool(edit, field->value != 0);
        break;
    case KL__SCHEMA_NUMBER:
        node = kl__edit_real(edit, real_of(field->value));
        break;
    case KL__SCHEMA_INT_OR_STRING:
        node = read_int_or_string(edit, field, &why);
        break;
    case KL__SCHEMA_STRING:
        node = read_text(edit, schema, field, &why);
        break;
    default:
        node = read_json(edit, field, &why);
        break;
    }
    if (node == NULL && why.code != KL_OK) {
        kl_error_set(err, why.code, "%s", why.message);
        return NULL;
    }
    return node != NULL ? node : scalar_out_of_memory(err);
}
