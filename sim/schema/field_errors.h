/*
 * field_errors.h - errors of an object's fields: the causes of a 422, in
 * Kubernetes' words. One thread at a time.
 */
#ifndef KL_SCHEMA_FIELD_ERRORS_H
#define KL_SCHEMA_FIELD_ERRORS_H

#include "base/buf.h"
#include "sim/json/edit.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum kl__field_fault {
    KL__FIELD_INVALID,
    KL__FIELD_TYPE, /* of the wrong type: "Invalid value" too */
    KL__FIELD_REQUIRED,
    KL__FIELD_UNSUPPORTED,
    KL__FIELD_DUPLICATE,
    KL__FIELD_FORBIDDEN,
    KL__FIELD_TOO_LONG,
    KL__FIELD_TOO_MANY,
    KL__FIELD_NOT_FOUND
} kl__field_fault;

typedef struct kl__field_error {
    kl__field_fault fault;
    char *field;   /* "spec.replicas" */
    char *message; /* "Invalid value: 0: must be positive" */
} kl__field_error;

/* Zeroed, it is empty and valid. `failed` is set when memory runs out. */
typedef struct kl__field_errors {
    kl__field_error *items;
    size_t count;
    size_t capacity;
    bool failed;
} kl__field_errors;

void kl__field_errors_deinit(kl__field_errors *errors);

/* Adds an error. `value`: the bad value as kl__field_value writes it; NULL for
 * faults that show none. The detail may be empty. */
void kl__field_add(kl__field_errors *errors, kl__field_fault fault,
                   const char *field, const char *value, const char *detail);
/* The same for an invalid text, which is quoted. */
void kl__field_invalid(kl__field_errors *errors, const char *field,
                       const char *text, const char *format, ...)
    KL_PRINTF(4, 5);
/* The same for an invalid value. */
void kl__field_invalid_node(kl__field_errors *errors, const char *field,
                            const kl__node *value, const char *format, ...)
    KL_PRINTF(4, 5);
void kl__field_invalid_value(kl__field_errors *errors, const char *field,
                             const kl_value *value, const char *format, ...)
    KL_PRINTF(4, 5);

/* Moves all errors of `from` to the end, except those that are there
 * already. */
void kl__field_errors_merge(kl__field_errors *errors, kl__field_errors *from);
/* Removes errors that are in `others` too. */
void kl__field_errors_subtract(kl__field_errors *errors,
                               const kl__field_errors *others);
/* Removes all but the first `count`. */
void kl__field_errors_cut(kl__field_errors *errors, size_t count);
/* Sorts errors from index `first` on by field, then message. */
void kl__field_errors_sort(kl__field_errors *errors, size_t first);

/* The reason of a cause: "FieldValueInvalid". */
const char *kl__field_reason(kl__field_fault fault);

/* A value as messages show it: texts quoted, numbers bare, others as JSON with
 * sorted members; NULL is null. Owned by the caller (kl__free); NULL: out of
 * memory. */
char *kl__field_value(const kl__node *value);

/* Appends a text in quotes as Go quotes it; a number as Go prints it ("%v"). */
void kl__go_quote(kl__buf *out, const char *text, size_t length);
void kl__go_number(kl__buf *out, double number);

#endif
