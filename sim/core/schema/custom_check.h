/*
 * custom_check.h - the validation of a value by a structural schema.
 * custom_check.c has the path and the errors of the value; custom_validate.c
 * (types and members), custom_scalar.c, custom_elements.c and custom_logic.c
 * check it.
 */
#ifndef KL_SCHEMA_CUSTOM_CHECK_H
#define KL_SCHEMA_CUSTOM_CHECK_H

#include "sim/core/schema/custom.h"
#include "sim/core/schema/custom_lookup.h"

/* The errors of a value, and how many checks it has passed. If a value fits no
 * schema of anyOf or oneOf, the errors of the schema with the most passed
 * checks are reported. */
typedef struct kl__outcome {
    kl__field_errors errors;
    long matches;
} kl__outcome;

typedef struct kl__check {
    kl__outcome *outcome; /* of the current value */
    const char *prefix;   /* the start of all paths: "" or "status" */
    kl__buf name;      /* the path of the current value, without the prefix */
    kl__lookup lookup; /* tables for schemas, and for new and old values */
} kl__check;

/* Adds an error about the current value. The formatted message begins with its
 * path. `value`: see kl__field_add. */
void kl__check_add(kl__check *check, kl__field_fault fault, const char *value,
                   const char *format, ...) KL_PRINTF(4, 5);
/* The same, with a node as the value. */
void kl__check_refuse(kl__check *check, const kl__node *value,
                      const char *format, ...) KL_PRINTF(3, 4);
/* Adds an error that names no field. */
void kl__check_complain(kl__check *check, const char *format, ...)
    KL_PRINTF(2, 3);
/* Adds the error that a member of the current value is missing. */
void kl__check_miss(kl__check *check, const char *member);
/* The path of the current value. */
const char *kl__check_name(const kl__check *check);

/* Checks a member or element; the path leads to it. If it equals `old` (may be
 * NULL), its errors are dropped: an unchanged value may stay invalid. */
void kl__check_child(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old);
/* Cuts the path to that length, after a child was checked. */
void kl__check_leave(kl__check *check, size_t length);

/* Check the current value by the keywords for its type, by enum, and by allOf,
 * anyOf, oneOf and not. `old`: the value before the write, or NULL. */
void kl__check_text(kl__check *check, const kl_value *schema,
                    const kl__node *value);
void kl__check_number(kl__check *check, const kl_value *schema,
                      const kl__node *value);
void kl__check_enum(kl__check *check, const kl_value *schema,
                    const kl__node *value);
void kl__check_logic(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old);
void kl__check_array(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old);
/* The keywords for the least and the most members of an object, or elements of
 * a list, and the word for these in messages. */
typedef struct kl__count_words {
    const char *least;
    const char *most;
    const char *what;
} kl__count_words;
void kl__check_count(kl__check *check, const kl_value *schema, size_t count,
                     const kl__count_words *words);
/* Checks a value by all keywords of a schema. */
void kl__check_value(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old);

#endif
