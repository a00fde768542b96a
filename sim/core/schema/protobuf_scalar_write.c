/*
 * protobuf_scalar_write.c - see protobuf_scalar.h: encodes scalars. An absent
 * value is written as Go's zero.
 */
#include "sim/core/schema/protobuf_scalar.h"

#include "base/base64.h"
#include "base/mem.h"
#include "sim/core/schema/protobuf_write.h"
#include "sim/core/schema/time.h"

#include <string.h>

static void put_string(int number, const kl_value *value, kl__buf *out)
{
    size_t length = 0;
    const char *text = kl_value_string(value, &length);

    kl__wire_put_bytes(out, number, text != NULL ? text : "", length);
}

static void put_bytes(int number, const kl_value *value, kl__buf *out)
{
    kl__buf bytes = {0};
    size_t length = 0;
    const char *text = kl_value_string(value, &length);

    if (text != NULL) {
        kl__base64_decode(&bytes, text, length);
        out->failed = out->failed || bytes.failed;
        kl__wire_put_bytes(out, number, bytes.bytes, bytes.length);
    }
    kl__buf_deinit(&bytes);
}

/* Appends a message with seconds and nanoseconds. It is empty for Go's zero
 * time, which is null in JSON. */
static void put_time(int number, const kl_value *value, bool is_micro,
                     kl__buf *out)
{
    const char *text = kl_value_string(value, NULL);
    size_t begin = kl__wire_begin(out, number);
    char why[2 * KL__TIME_SIZE];
    kl__time time;

    if (text != NULL &&
        kl__time_read(text, is_micro, &time, why, sizeof(why)) &&
        (time.seconds != KL__PROTOBUF_FIRST_SECOND || time.microseconds != 0)) {
        kl__wire_put_number(out, 1, (uint64_t)time.seconds);
        kl__wire_put_number(out, 2,
                            is_micro ? (uint64_t)time.microseconds * 1000 : 0);
    }
    kl__wire_end(out, begin);
}

static void put_quantity(int number, const kl_value *value, kl__buf *out)
{
    size_t begin = kl__wire_begin(out, number);

    if (kl_value_string(value, NULL) != NULL) {
        put_string(1, value, out);
    } else {
        kl__wire_put_text(out, 1, "0");
    }
    kl__wire_end(out, begin);
}

static void put_int_or_string(int number, const kl_value *value, kl__buf *out)
{
    const bool is_string = kl_value_type(value) == KL_STRING;
    size_t begin = kl__wire_begin(out, number);

    kl__wire_put_number(out, 1, is_string);
    kl__wire_put_number(out, 2, (uint64_t)kl_value_integer(value));
    put_string(3, is_string ? value : NULL, out);
    kl__wire_end(out, begin);
}

/* Appends a message whose first field is the JSON of a value. */
static void put_json(int number, const kl_value *value, kl__buf *out)
{
    const bool is_there = kl_value_type(value) != KL_NULL;
    size_t length = 0, begin = kl__wire_begin(out, number);
    char *json = is_there ? kl_value_json(value, &length, NULL) : NULL;

    if (json != NULL) {
        kl__wire_put_bytes(out, 1, json, length);
    }
    out->failed = out->failed || (is_there && json == NULL);
    kl_free(json);
    kl__wire_end(out, begin);
}

static void put_scalar_text(const kl__schema *schema, int number,
                            const kl_value *value, kl__buf *out)
{
    switch (schema->format) {
    case KL__FORMAT_BYTE:
        put_bytes(number, value, out);
        break;
    case KL__FORMAT_TIME:
    case KL__FORMAT_MICROTIME:
        put_time(number, value, schema->format == KL__FORMAT_MICROTIME, out);
        break;
    case KL__FORMAT_QUANTITY:
        put_quantity(number, value, out);
        break;
    default:
        put_string(number, value, out);
        break;
    }
}

void kl__protobuf_put_scalar(const kl__schema *schema, int number,
                             const kl_value *value, kl__buf *out)
{
    switch (schema->type) {
    case KL__SCHEMA_INTEGER:
        kl__wire_put_number(out, number, (uint64_t)kl_value_integer(value));
        break;
    case KL__SCHEMA_BOOLEAN:
        kl__wire_put_number(out, number, kl_value_bool(value));
        break;
    case KL__SCHEMA_NUMBER:
        kl__wire_put_real(out, number, kl_value_real(value));
        break;
    case KL__SCHEMA_INT_OR_STRING:
        put_int_or_string(number, value, out);
        break;
    case KL__SCHEMA_STRING:
        put_scalar_text(schema, number, value, out);
        break;
    default:
        put_json(number, value, out);
        break;
    }
}
