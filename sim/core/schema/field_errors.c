/*
 * field_errors.c - see field_errors.h.
 */
#include "sim/core/schema/field_errors.h"

#include "base/mem.h"
#include "base/str.h"

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
