/*
 * schema_leaf.c - see schema_leaf.h.
 */
#include "sim/core/schema/schema_leaf.h"

#include "base/base64.h"
#include "base/mem.h"
#include "sim/core/schema/quantity.h"
#include "sim/core/schema/time.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(const kl__node *value)
{
    kl_type type = kl__node_type(value);

    return type == KL_INTEGER || type == KL_UNSIGNED || type == KL_REAL ||
           type == KL_NUMBER;
}

/* Appends a number as its JSON text. */
static void put_json_number(kl__buf *out, const kl__node *value)
{
    char *text = kl__node_json(value, NULL, NULL);

    kl__buf_puts(out, text != NULL ? text : "");
    out->failed = out->failed || text == NULL;
    kl__free(text);
}

void kl__leaf_put_found(kl__buf *out, const kl__node *value,
                        const kl__schema *schema)
{
    switch (kl__node_type(value)) {
    case KL_BOOL:
        kl__buf_puts(out, "bool");
        return;
    case KL_STRING:
        kl__buf_puts(out, "string");
        return;
    case KL_ARRAY:
        kl__buf_puts(out, "array");
        return;
    case KL_OBJECT:
        kl__buf_puts(out, "object");
        return;
    default:
        kl__buf_puts(out, "number");
    }
    if (schema->type == KL__SCHEMA_INTEGER ||
        schema->type == KL__SCHEMA_INT_OR_STRING) {
        kl__buf_putc(out, ' ');
        put_json_number(out, value);
    }
}

static kl__leaf fits_integer(const kl__node *value, const kl__schema *schema)
{
    int64_t number = kl__node_integer(value);
    bool byte = schema->go != NULL && strcmp(schema->go, "uint8") == 0;

    if (kl__node_type(value) != KL_INTEGER) {
        return KL__LEAF_TYPE;
    }
    if (byte && (number < 0 || number > UCHAR_MAX)) {
        return KL__LEAF_TYPE;
    }
    if (schema->format == KL__FORMAT_INT64) {
        return KL__LEAF_FITS;
    }
    return number < INT32_MIN || number > INT32_MAX ? KL__LEAF_TYPE
                                                    : KL__LEAF_FITS;
}

static kl__leaf fits_quantity(const kl__node *value, kl__buf *why)
{
    char out[KL__QUANTITY_SIZE];
    const char *wrong;
    size_t length = 0;
    const char *text = kl__node_string(value, &length);
    kl__buf number = {0};

    if (text == NULL && is_number(value)) {
        put_json_number(&number, value);
        text = number.bytes;
        length = number.length;
    }
    /* A value that is neither text nor number is refused like "". */
    wrong = kl__quantity_canonical(text != NULL ? text : "", length, -9, out);
    why->failed = why->failed || number.failed;
    kl__buf_deinit(&number);
    if (wrong == NULL) {
        return KL__LEAF_FITS;
    }
    kl__buf_puts(why, wrong);
    return KL__LEAF_TEXT;
}

static kl__leaf fits_time(const char *text, bool micro, kl__buf *why)
{
    kl__time time;
    char wrong[512];

    if (kl__time_read(text, micro, &time, wrong, sizeof(wrong))) {
        return KL__LEAF_FITS;
    }
    kl__buf_puts(why, wrong);
    return KL__LEAF_TEXT;
}

/* Checks bytes, which are a text in base64. They may also be an array of
 * numbers, which schema_check.c has checked. */
static kl__leaf fits_bytes(const kl__node *value, kl__buf *why)
{
    size_t length = 0;
    const char *text = kl__node_string(value, &length);
    long wrong;

    if (!kl__node_is(value, KL_STRING)) {
        return kl__node_is(value, KL_ARRAY) ? KL__LEAF_FITS : KL__LEAF_TYPE;
    }
    wrong = kl__base64_wrong(text, length);
    if (wrong < 0) {
        return KL__LEAF_FITS;
    }
    kl__buf_printf(why, "illegal base64 data at input byte %ld", wrong);
    return KL__LEAF_TEXT;
}

static kl__leaf fits_string(const kl__node *value, const kl__schema *schema,
                            kl__buf *why, const char **go)
{
    bool string = kl__node_is(value, KL_STRING);

    switch (schema->format) {
    case KL__FORMAT_QUANTITY:
        return fits_quantity(value, why);
    case KL__FORMAT_BYTE:
        return fits_bytes(value, why);
    case KL__FORMAT_TIME:
    case KL__FORMAT_MICROTIME:
        *go = "string";
        return string ? fits_time(kl__node_string(value, NULL),
                                  schema->format == KL__FORMAT_MICROTIME, why)
                      : KL__LEAF_TYPE;
    case KL__FORMAT_DURATION:
        *go = "string";
        return string ? KL__LEAF_FITS : KL__LEAF_TYPE;
    default:
        return string ? KL__LEAF_FITS : KL__LEAF_TYPE;
    }
}

kl__leaf kl__leaf_fits(const kl__node *value, const kl__schema *schema,
                       kl__buf *why, const char **go)
{
    switch (schema->type) {
    case KL__SCHEMA_STRING:
        return fits_string(value, schema, why, go);
    case KL__SCHEMA_INTEGER:
        return fits_integer(value, schema);
    case KL__SCHEMA_NUMBER:
        return is_number(value) ? KL__LEAF_FITS : KL__LEAF_TYPE;
    case KL__SCHEMA_BOOLEAN:
        return kl__node_is(value, KL_BOOL) ? KL__LEAF_FITS : KL__LEAF_TYPE;
    case KL__SCHEMA_INT_OR_STRING:
        *go = "int32";
        return kl__node_is(value, KL_STRING) ? KL__LEAF_FITS
                                             : fits_integer(value, schema);
    default:
        return KL__LEAF_FITS;
    }
}

static kl__node *canonical_quantity(kl__edit *edit, kl__node *value)
{
    char out[KL__QUANTITY_SIZE];
    size_t length = 0;
    const char *text = kl__node_string(value, &length);
    kl__buf number = {0};
    bool good = false;

    if (text == NULL) {
        put_json_number(&number, value);
        text = number.bytes;
        length = number.length;
    }
    if (number.failed) {
        kl__buf_deinit(&number);
        return NULL;
    }
    good = kl__quantity_canonical(text, length, -9, out) == NULL;
    if (good && kl__node_is(value, KL_STRING) && strlen(out) == length &&
        memcmp(out, text, length) == 0) {
        return value;
    }
    kl__buf_deinit(&number);
    return good ? kl__edit_text(edit, out) : value;
}

static kl__node *canonical_time(kl__edit *edit, kl__node *value, bool micro)
{
    const char *text = kl__node_string(value, NULL);
    char out[KL__TIME_SIZE], why[512];
    kl__time time;

    if (text == NULL || !kl__time_read(text, micro, &time, why, sizeof(why))) {
        return value;
    }
    kl__time_write(&time, micro, out);
    return strcmp(out, text) == 0 ? value : kl__edit_text(edit, out);
}

/* Encodes bytes in base64; NULL: out of memory. */
static kl__node *encode_base64(kl__edit *edit, const char *bytes, size_t length)
{
    kl__buf text = {0};

    kl__base64_encode(&text, bytes, length);
    return kl__edit_take(edit, &text);
}

kl__node *kl__leaf_base64(kl__edit *edit, const kl__node *text)
{
    size_t length = 0;
    const char *bytes = kl__node_string(text, &length);

    return encode_base64(edit, bytes, length);
}

/* Encodes bytes again: they may have come as an array of numbers, or as base64
 * with line breaks or with unused bits at the end. */
static kl__node *canonical_bytes(kl__edit *edit, kl__node *value)
{
    kl__buf bytes = {0};
    kl__node_iter iter = {0};
    const kl__node *element;
    size_t length;
    const char *text = kl__node_string(value, &length);
    kl__node *made = value;

    if (text != NULL && !kl__base64_decode(&bytes, text, length) &&
        !bytes.failed) {
        kl__buf_deinit(&bytes);
        return value;
    }
    while (kl__node_is(value, KL_ARRAY) &&
           (element = kl__node_next(value, &iter, NULL, NULL)) != NULL) {
        kl__buf_putc(&bytes, (char)kl__node_integer(element));
    }
    if (text != NULL || kl__node_is(value, KL_ARRAY)) {
        made = bytes.failed ? NULL
                            : encode_base64(edit, bytes.bytes, bytes.length);
    }
    kl__buf_deinit(&bytes);
    return made;
}

kl__node *kl__leaf_canonical(kl__edit *edit, kl__node *value,
                             const kl__schema *schema)
{
    switch (schema->format) {
    case KL__FORMAT_QUANTITY:
        return canonical_quantity(edit, value);
    case KL__FORMAT_TIME:
    case KL__FORMAT_MICROTIME:
        return canonical_time(edit, value,
                              schema->format == KL__FORMAT_MICROTIME);
    case KL__FORMAT_BYTE:
        return canonical_bytes(edit, value);
    default:
        return value;
    }
}
