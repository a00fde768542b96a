/*
 * field_errors.h - a list of errors about fields of an object. They become the
 * causes of a 422, in Kubernetes' words. Not thread-safe.
 */
#ifndef KL_SCHEMA_FIELD_ERRORS_H
#define KL_SCHEMA_FIELD_ERRORS_H

#include "base/buf.h"
#include "sim/core/json/edit.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum kl__field_fault {
    KL__FIELD_INVALID,
    KL__FIELD_TYPE, /* the wrong type; its text is "Invalid value" too */
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

/* A zeroed list is empty and valid. `failed` is set when memory runs out. */
typedef struct kl__field_errors {
    kl__field_error *items;
    size_t count;
    size_t capacity;
    bool failed;
} kl__field_errors;

void kl__field_errors_deinit(kl__field_errors *errors);

/* Adds an error. `value`: the bad value in the form that kl__field_value
 * writes; NULL: the message shows no value. The detail may be empty. */
void kl__field_add(kl__field_errors *errors, kl__field_fault fault,
                   const char *field, const char *value, const char *detail);
/* Adds KL__FIELD_INVALID for a text, which the message shows in quotes. */
void kl__field_invalid(kl__field_errors *errors, const char *field,
                       const char *text, const char *format, ...)
    KL_PRINTF(4, 5);
/* The same for a value of any type. */
void kl__field_invalid_node(kl__field_errors *errors, const char *field,
                            const kl__node *value, const char *format, ...)
    KL_PRINTF(4, 5);
void kl__field_invalid_value(kl__field_errors *errors, const char *field,
                             const kl_value *value, const char *format, ...)
    KL_PRINTF(4, 5);

/* Moves the errors of `from` to the end of `errors`, but not an error that
 * `errors` has already. Duplicates are kept in a list of more than 500. */
void kl__field_errors_merge(kl__field_errors *errors, kl__field_errors *from);
/* Removes errors that are in `others` too, unless `others` has more than
 * 500. */
void kl__field_errors_subtract(kl__field_errors *errors,
                               const kl__field_errors *others);
/* Removes all but the first `count`. */
void kl__field_errors_cut(kl__field_errors *errors, size_t count);
/* Sorts errors from index `first` on by field, then message. */
void kl__field_errors_sort(kl__field_errors *errors, size_t first);

/* The reason that a cause has for this fault: "FieldValueInvalid". Static. */
const char *kl__field_reason(kl__field_fault fault);

/* The form in which messages show a value: a text in quotes, a number as it is,
 * all else as JSON with sorted members; null for NULL. Owned by the caller
 * (kl__free); NULL: out of memory. */
char *kl__field_value(const kl__node *value);

/* The first appends a text with quotes and escapes like Go's; the second
 * appends a number like Go's "%v". When memory runs out, `out` keeps the
 * failure. */
void kl__go_quote(kl__buf *out, const char *text, size_t length);
void kl__go_number(kl__buf *out, double number);

#endif
