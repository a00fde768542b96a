/*
 * custom_check.h - one validation of a value by a schema, shared by its files:
 * custom_validate.c (types and members), custom_scalar.c, custom_elements.c and
 * custom_logic.c.
 */
#ifndef KL_SCHEMA_CUSTOM_CHECK_H
#define KL_SCHEMA_CUSTOM_CHECK_H

#include "sim/schema/custom.h"
#include "sim/schema/custom_lookup.h"

/* The errors of a value, and how many checks it passed: of several alternatives
 * the one with the most is taken as the intended one. */
typedef struct kl__outcome {
    kl__field_errors errors;
    long matches;
} kl__outcome;

typedef struct kl__check {
    kl__outcome *outcome; /* of the current value */
    const char *prefix;   /* of all paths: "" or "status" */
    kl__buf name;      /* the path of the current value, without the prefix */
    kl__lookup lookup; /* tables for schemas, and for values new and old */
} kl__check;

/* Adds an error of the current value; the message begins with its path. `value`
 * as for kl__field_add. */
void kl__check_add(kl__check *check, kl__field_fault fault, const char *value,
                   const char *format, ...) KL_PRINTF(4, 5);
/* The same, with a node as the value. */
void kl__check_refuse(kl__check *check, const kl__node *value,
                      const char *format, ...) KL_PRINTF(3, 4);
/* Adds an error that names no field. */
void kl__check_complain(kl__check *check, const char *format, ...)
    KL_PRINTF(2, 3);
/* The path of the current value. */
const char *kl__check_name(const kl__check *check);

/* Checks a member or element, to which the path leads. A value that was invalid
 * before and is unchanged may stay. */
void kl__check_child(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old);
/* Cuts the path to that length. */
void kl__check_leave(kl__check *check, size_t length);

/* The keywords for one type; `schema` and `value` are the current ones. */
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
/* Counts members or elements; keywords and messages are those of objects or of
 * lists. */
typedef struct kl__count_words {
    const char *least;
    const char *most;
    const char *what;
} kl__count_words;
void kl__check_count(kl__check *check, const kl_value *schema, size_t count,
                     const kl__count_words *words);
/* Checks a value by all keywords. */
void kl__check_value(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old);

#endif
