/*
 * field_errors.c - see field_errors.h.
 */
#include "sim/core/schema/field_errors.h"

#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In longer lists no duplicates are looked for, as that takes quadratic time.
 * Users do not read so long a list. */
enum { FEW = 500 };

static const struct {
    const char *reason;
    const char *words;
} faults[] = {
    [KL__FIELD_INVALID] = {"FieldValueInvalid", "Invalid value"},
    [KL__FIELD_TYPE] = {"FieldValueTypeInvalid", "Invalid value"},
    [KL__FIELD_REQUIRED] = {"FieldValueRequired", "Required value"},
    [KL__FIELD_UNSUPPORTED] = {"FieldValueNotSupported", "Unsupported value"},
    [KL__FIELD_DUPLICATE] = {"FieldValueDuplicate", "Duplicate value"},
    [KL__FIELD_FORBIDDEN] = {"FieldValueForbidden", "Forbidden"},
    [KL__FIELD_TOO_LONG] = {"FieldValueTooLong", "Too long"},
    [KL__FIELD_TOO_MANY] = {"FieldValueTooMany", "Too many"},
    [KL__FIELD_NOT_FOUND] = {"FieldValueNotFound", "Not found"}};

const char *kl__field_reason(kl__field_fault fault)
{
    return faults[fault].reason;
}

static void clear_error(kl__field_error *error)
{
    kl__free(error->field);
    kl__free(error->message);
}

void kl__field_errors_cut(kl__field_errors *errors, size_t count)
{
    while (errors->count > count) {
        clear_error(&errors->items[--errors->count]);
    }
}

void kl__field_errors_deinit(kl__field_errors *errors)
{
    kl__field_errors_cut(errors, 0);
    kl__free(errors->items);
    memset(errors, 0, sizeof(*errors));
}

/* Appends an error; takes its texts, also when memory runs out. */
static void push_error(kl__field_errors *errors, const kl__field_error *error)
{
    if (errors->count == errors->capacity) {
        size_t capacity = errors->capacity != 0 ? errors->capacity * 2 : 4;
        kl__field_error *items =
            kl__realloc(errors->items, capacity * sizeof(*items));

        if (items == NULL) {
            errors->failed = true;
        } else {
            errors->items = items;
            errors->capacity = capacity;
        }
    }
    if (error->field == NULL || error->message == NULL ||
        errors->count == errors->capacity) {
        kl__free(error->field);
        kl__free(error->message);
        errors->failed = true;
        return;
    }
    errors->items[errors->count++] = *error;
}

void kl__field_add(kl__field_errors *errors, kl__field_fault fault,
                   const char *field, const char *value, const char *detail)
{
    kl__field_error error = {fault, kl__strdup(field), NULL};
    kl__buf message = {0};

    kl__buf_puts(&message, faults[fault].words);
    if (value != NULL) {
        kl__buf_puts(&message, ": ");
        kl__buf_puts(&message, value);
    }
    if (*detail != '\0') {
        kl__buf_puts(&message, ": ");
        kl__buf_puts(&message, detail);
    }
    if (!message.failed) {
        error.message = kl__buf_take(&message, NULL);
    }
    kl__buf_deinit(&message);
    push_error(errors, &error);
}

/* Adds an error with a formatted detail; takes `value`. If `value` is NULL,
 * memory has run out. */
static void add_invalid(kl__field_errors *errors, const char *field,
                        char *value, const char *format, va_list arguments)
{
    va_list again;
    int length;
    char *detail = NULL;

    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length >= 0 && value != NULL) {
        detail = kl__malloc((size_t)length + 1);
    }
    if (detail == NULL) {
        errors->failed = true;
    } else {
        vsnprintf(detail, (size_t)length + 1, format, arguments);
        kl__field_add(errors, KL__FIELD_INVALID, field, value, detail);
    }
    kl__free(detail);
    kl__free(value);
}

void kl__field_invalid(kl__field_errors *errors, const char *field,
                       const char *text, const char *format, ...)
{
    kl__buf quoted = {0};
    va_list arguments;

    kl__go_quote(&quoted, text, strlen(text));
    va_start(arguments, format);
    add_invalid(errors, field,
                quoted.failed ? NULL : kl__buf_take(&quoted, NULL), format,
                arguments);
    va_end(arguments);
    kl__buf_deinit(&quoted);
}

void kl__field_invalid_node(kl__field_errors *errors, const char *field,
                            const kl__node *value, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_invalid(errors, field, kl__field_value(value), format, arguments);
    va_end(arguments);
}

void kl__field_invalid_value(kl__field_errors *errors, const char *field,
                             const kl_value *value, const char *format, ...)
{
    kl__edit *edit = kl__edit_of(value, NULL);
    va_list arguments;

    va_start(arguments, format);
    add_invalid(errors, field,
                edit != NULL ? kl__field_value(kl__edit_root(edit)) : NULL,
                format, arguments);
    va_end(arguments);
    kl__edit_free(edit);
}

static bool has_error(const kl__field_errors *errors,
                      const kl__field_error *error)
{
    for (size_t i = 0; i < errors->count && errors->count <= FEW; i++) {
        if (strcmp(errors->items[i].field, error->field) == 0 &&
            strcmp(errors->items[i].message, error->message) == 0) {
            return true;
        }
    }
    return false;
}

void kl__field_errors_merge(kl__field_errors *errors, kl__field_errors *from)
{
    for (size_t i = 0; i < from->count; i++) {
        if (has_error(errors, &from->items[i])) {
            clear_error(&from->items[i]);
        } else {
            push_error(errors, &from->items[i]);
        }
    }
    from->count = 0;
    errors->failed |= from->failed;
}

void kl__field_errors_subtract(kl__field_errors *errors,
                               const kl__field_errors *others)
{
    size_t kept = 0;

    for (size_t i = 0; i < errors->count; i++) {
        if (has_error(others, &errors->items[i])) {
            clear_error(&errors->items[i]);
        } else {
            errors->items[kept++] = errors->items[i];
        }
    }
    errors->count = kept;
}

static int compare_errors(const void *left, const void *right)
{
    const kl__field_error *a = left, *b = right;
    int order = strcmp(a->field, b->field);

    return order != 0 ? order : strcmp(a->message, b->message);
}

void kl__field_errors_sort(kl__field_errors *errors, size_t first)
{
    if (errors->count > first + 1) {
        qsort(errors->items + first, errors->count - first,
              sizeof(*errors->items), compare_errors);
    }
}

/* ---- Writes values as messages of kube-apiserver show them. There, Go's
 * fmt and encoding/json write them. */

void kl__go_quote(kl__buf *out, const char *text, size_t length)
{
    static const char letters[] = "abtnvfr"; /* escapes of bytes 7 to 13 */

    static_assert(sizeof(letters) == 8, "one letter for each");
    kl__buf_putc(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte == '"' || byte == '\\') {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, (char)byte);
        } else if (byte >= 7 && byte <= 13) {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, letters[byte - 7]);
        } else if (byte < 0x20 || byte == 0x7f) {
            kl__buf_printf(out, "\\x%02x", byte);
        } else {
            kl__buf_putc(out, (char)byte);
        }
    }
    kl__buf_putc(out, '"');
}

/* Writes the fewest digits, without a point, that still mean the same double.
 * Returns the decimal exponent. */
static int shortest_digits(double number, char digits[32])
{
    char text[40];
    size_t count = 0;

    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    for (const char *at = text; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') {
            digits[count++] = *at;
        }
    }
    digits[count] = '\0';
    return atoi(strchr(text, 'e') + 1);
}

/* Appends the number, with an exponent if it is below 10^low or at least
 * 10^high. The exponent has at least two digits, or one if `is_json`. */
static void put_number(kl__buf *out, double number, int low, int high,
                       bool is_json)
{
    char digits[32];
    int exponent = shortest_digits(fabs(number), digits);
    int count = (int)strlen(digits);

    if (signbit(number)) {
        kl__buf_putc(out, '-');
    }
    if (number != 0 && (exponent < low || exponent >= high)) {
        kl__buf_printf(out, "%c%s%s", digits[0], count > 1 ? "." : "",
                       digits + 1);
        if (is_json && exponent < 0 && exponent > -10) {
            kl__buf_printf(out, "e-%d", -exponent);
        } else {
            kl__buf_printf(out, "e%c%02d", exponent < 0 ? '-' : '+',
                           abs(exponent));
        }
    } else if (exponent < 0) {
        kl__buf_printf(out, "0.%.*s%s", -exponent - 1,
                       "00000000000000000000000", digits);
    } else if (count <= exponent + 1) {
        kl__buf_printf(out, "%s%.*s", digits, exponent + 1 - count,
                       "00000000000000000000000");
    } else {
        kl__buf_printf(out, "%.*s.%s", exponent + 1, digits,
                       digits + exponent + 1);
    }
}

void kl__go_number(kl__buf *out, double number)
{
    put_number(out, number, -4, 21, false);
}

/* Quotes a text as encoding/json does, which also escapes '<', '>' and '&'. */
static void put_json_text(kl__buf *out, const char *text, size_t length)
{
    kl__buf_putc(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte == '"' || byte == '\\') {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, (char)byte);
        } else if (byte == '\n' || byte == '\r' || byte == '\t') {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, byte == '\n' ? 'n' : byte == '\r' ? 'r' : 't');
        } else if (byte == '\b' || byte == '\f') {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, byte == '\b' ? 'b' : 'f');
        } else if (byte < 0x20 || byte == '<' || byte == '>' || byte == '&') {
            kl__buf_printf(out, "\\u%04x", byte);
        } else {
            kl__buf_putc(out, (char)byte);
        }
    }
    kl__buf_putc(out, '"');
}

typedef struct member {
    const char *name;
    size_t length;
    const kl__node *value;
} member;

static int compare_member_names(const void *left, const void *right)
{
    return strcmp(((const member *)left)->name, ((const member *)right)->name);
}

static void put_value(kl__buf *out, const kl__node *value, bool is_json);

static void put_shown_object(kl__buf *out, const kl__node *value)
{
    size_t count = 0;
    member *members = kl__calloc(kl__node_size(value) + 1, sizeof(*members));
    kl__node_iter iter = {0};
    const kl__node *element;

    if (members == NULL) {
        out->failed = true;
        return;
    }
    while ((element = kl__node_next(value, &iter, &members[count].name,
                                    &members[count].length)) != NULL) {
        members[count++].value = element;
    }
    qsort(members, count, sizeof(*members), compare_member_names);
    kl__buf_putc(out, '{');
    for (size_t i = 0; i < count; i++) {
        if (i != 0) {
            kl__buf_putc(out, ',');
        }
        put_json_text(out, members[i].name, members[i].length);
        kl__buf_putc(out, ':');
        put_value(out, members[i].value, true);
    }
    kl__buf_putc(out, '}');
    kl__free(members);
}

static void put_array(kl__buf *out, const kl__node *value)
{
    kl__node_iter iter = {0};
    const kl__node *element;
    bool is_first = true;

    kl__buf_putc(out, '[');
    while ((element = kl__node_next(value, &iter, NULL, NULL)) != NULL) {
        if (!is_first) {
            kl__buf_putc(out, ',');
        }
        is_first = false;
        put_value(out, element, true);
    }
    kl__buf_putc(out, ']');
}

static void put_value(kl__buf *out, const kl__node *value, bool is_json)
{
    size_t length = 0;
    const char *text = kl__node_string(value, &length);

    switch (kl__node_type(value)) {
    case KL_OBJECT:
        put_shown_object(out, value);
        break;
    case KL_ARRAY:
        put_array(out, value);
        break;
    case KL_STRING:
        if (is_json) {
            put_json_text(out, text, length);
        } else {
            kl__go_quote(out, text, length);
        }
        break;
    case KL_BOOL:
        kl__buf_puts(out, kl__node_bool(value) ? "true" : "false");
        break;
    case KL_INTEGER:
        kl__buf_printf(out, "%lld", (long long)kl__node_integer(value));
        break;
    case KL_UNSIGNED:
    case KL_REAL:
        put_number(out, kl__node_real(value), is_json ? -6 : -4, 21, is_json);
        break;
    case KL_NUMBER:
        kl__buf_append(out, text, length);
        break;
    default:
        kl__buf_puts(out, "null");
        break;
    }
}

char *kl__field_value(const kl__node *value)
{
    kl__buf out = {0};

    put_value(&out, value, false);
    if (out.failed) {
        kl__buf_deinit(&out);
        return NULL;
    }
    return kl__buf_take(&out, NULL);
}
