/*
 * custom_check.h - one validation of a value against a schema, as its files
 * share it.
 */
#ifndef KL_SCHEMA_CUSTOM_CHECK_H
#define KL_SCHEMA_CUSTOM_CHECK_H

#include "sim/schema/custom.h"
#include "sim/schema/custom_lookup.h"

/* A value's errors, and how many checks it passed: among alternatives, the one
 * with the most is what was meant. */
typedef struct kl__outcome {
    kl__field_errors errors;
    long matches;
} kl__outcome;

typedef struct kl__check {
    kl__outcome *outcome; /* of the value at hand */
    const char *prefix;   /* of all paths: "" or "status" */
    kl__buf name;      /* the path of the value at hand, without the prefix */
    kl__lookup lookup; /* into schemas, and values new and old */
} kl__check;

/* Adds an error of the value at hand; the message begins with its path. `value`
 * as of kl__field_add. */
void kl__check_add(kl__check *check, kl__field_fault fault, const char *value,
                   const char *format, ...) KL_PRINTF(4, 5);
/* The same with the node as the value. */
void kl__check_refuse(kl__check *check, const kl__node *value,
                      const char *format, ...) KL_PRINTF(3, 4);
/* An error of no field. */
void kl__check_complain(kl__check *check, const char *format, ...)
    KL_PRINTF(2, 3);
/* The path of the value at hand. */
const char *kl__check_name(const kl__check *check);

/* A member or element, whose path is at hand. What was wrong already and is the
 * same now may stay. */
void kl__check_child(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old);
/* Goes back to a path of that length. */
void kl__check_leave(kl__check *check, size_t length);

/* What one keyword family has to say; `schema` and `value` are at hand. */
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
/* How many members or elements a value has; keywords and words are those of
 * objects, or of lists. */
typedef struct kl__count_words {
    const char *least;
    const char *most;
    const char *what;
} kl__count_words;
void kl__check_count(kl__check *check, const kl_value *schema, size_t count,
                     const kl__count_words *words);
/* All of them. */
void kl__check_value(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old);

#endif
