/*
 * custom.h - applies structural schemas to trees of custom objects, as
 * kube-apiserver does: pruning, defaults, validation. No function keeps its
 * arguments.
 */
#ifndef KL_SCHEMA_CUSTOM_H
#define KL_SCHEMA_CUSTOM_H

#include "sim/core/schema/field_errors.h"
#include "sim/core/schema/pattern.h"
#include "sim/core/schema/schema.h"

/* The schema of a field of an object or embedded resource; NULL: the schema
 * does not have the field. */
const kl__schema *kl__custom_field(const kl__schema *schema, const char *name,
                                   size_t length);

/* Removes fields that the schema does not have; `unknown` (may be NULL) gets a
 * line such as "spec.foo" for each, in no order. A resource keeps apiVersion,
 * kind, and what metadata may have. KL_ENOMEM. */
kl_code kl__custom_prune(const kl__schema *schema, kl__node *value,
                         kl__buf *unknown, kl_error *err);

/* Removes each null that the schema does not allow and has no default for. */
void kl__custom_drop_nulls(const kl__schema *schema, kl__node *value);

/* Sets defaults; a null that is not allowed counts as absent. A second call
 * changes nothing. KL_ENOMEM. */
kl_code kl__custom_default(const kl__schema *schema, kl__edit *edit,
                           kl__node *value, kl_error *err);

/* Validates a value by a schema (openAPIV3Schema or a part of it). `prefix`:
 * the path of the value, "" for the whole object. `old` (may be NULL): the
 * value before the write; parts that are equal there may be invalid. */
void kl__custom_validate(const kl_value *source, const kl__node *value,
                         const kl__node *old, const char *prefix,
                         kl__field_errors *errors);

/* Finds repeated elements in lists of type map and set. */
void kl__custom_validate_lists(const kl__schema *schema, const kl__node *value,
                               kl__field_errors *errors);

/* --- Parts of these functions. -------------------------------------------- */

/* True if a text has the format. Every text fits a format that is unknown. */
bool kl__custom_format_fits(const char *format, const char *text,
                            size_t length);
/* True if there is such a format for texts. */
bool kl__custom_format_is_known(const char *format);

/* True if a schema's `required` lists the name. */
bool kl__schema_requires(const kl_value *source, const char *name);

/* True if a number is whole. */
bool kl__number_is_whole(double number);

#endif
