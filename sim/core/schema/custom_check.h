/*
 * custom_check.h - the validation of a value by a structural schema:
 * custom_validate.c (types, members, lists, logic) and custom_scalar.c (texts
 * and numbers); custom_lists.c has the tables that find members and elements.
 */
#ifndef KL_SCHEMA_CUSTOM_CHECK_H
#define KL_SCHEMA_CUSTOM_CHECK_H

#include "base/map.h"
#include "sim/core/json/edit.h"
#include "sim/core/schema/custom.h"

/* Finds members of large objects with a hash table for each object: a linear
 * search for each of thousands of members would take quadratic time. A zeroed
 * lookup is empty and valid. After the first call for an object, the object
 * must not change until kl__lookup_deinit. If memory runs out, the search is
 * linear. */
typedef struct kl__lookup {
    kl__map tables; /* tables by the object's address */
} kl__lookup;

void kl__lookup_deinit(kl__lookup *lookup);

/* The results are those of kl_value_get_n and kl__node_get_n. */
const kl_value *kl__lookup_value(kl__lookup *lookup, const kl_value *object,
                                 const char *name, size_t length);
const kl__node *kl__lookup_node(kl__lookup *lookup, const kl__node *object,
                                const char *name, size_t length);

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
/* The path of the current value. */
const char *kl__check_name(const kl__check *check);

/* Check the current value by the keywords for its type, by enum, and by allOf,
 * anyOf, oneOf and not. `old`: the value before the write, or NULL. */
void kl__check_text(kl__check *check, const kl_value *schema,
                    const kl__node *value);
void kl__check_number(kl__check *check, const kl_value *schema,
                      const kl__node *value);
void kl__check_enum(kl__check *check, const kl_value *schema,
                    const kl__node *value);
/* The keywords for the least and the most members of an object, or elements of
 * a list, and the word for these in messages. */
typedef struct kl__count_words {
    const char *least;
    const char *most;
    const char *what;
} kl__count_words;

#endif
