/*
 * custom.h - what kube-apiserver does to the objects of a custom resource by
 * their structural schema: pruning, defaults, validation. Pure functions; none
 * of them keeps its arguments.
 */
#ifndef KL_SCHEMA_CUSTOM_H
#define KL_SCHEMA_CUSTOM_H

#include "sim/schema/field_errors.h"
#include "sim/schema/pattern.h"
#include "sim/schema/schema.h"

/* The field of that name of a custom object or embedded resource, or NULL. */
const kl__schema *kl__custom_field(const kl__schema *schema, const char *name,
                                   size_t length);

/* Drops what the schema does not know; `unknown` (may be NULL) gets a line
 * "spec.foo\n" for each field that was dropped, in no order. A resource
 * keeps apiVersion and kind as they are, and what metadata may have. KL_ENOMEM.
 */
kl_code kl__custom_prune(const kl__schema *schema, kl__node *value,
                         kl__buf *unknown, kl_error *err);

/* Drops all but the last of members of one name; `paths` (may be NULL) gets a
 * line for each that was there again. KL_ENOMEM. */
kl_code kl__custom_duplicates(kl__node *value, kl__buf *paths, kl_error *err);

/* Drops each null that the schema neither allows nor has a default for. */
void kl__custom_drop_nulls(const kl__schema *schema, kl__node *value);

/* Puts defaults in; nulls that are not allowed count as absent. Repeating it
 * changes nothing. KL_ENOMEM. */
kl_code kl__custom_default(const kl__schema *schema, kl__edit *edit,
                           kl__node *value, kl_error *err);

/* Whether a value is what the schema (openAPIV3Schema, or a part of it) asks
 * for. `prefix`: the path of the value; "" for the whole object. `old` (may be
 * NULL): what it was; what did not change since may stay wrong. */
void kl__custom_validate(const kl_value *source, const kl__node *value,
                         const kl__node *old, const char *prefix,
                         kl__field_errors *errors);

/* Whether the lists of type map and set hold no element twice. */
void kl__custom_validate_lists(const kl__schema *schema, const kl__node *value,
                               kl__field_errors *errors);

/* Whether embedded resources say what they are, in a form that is allowed;
 * `prefix` as above. The value itself is none. */
void kl__custom_validate_embedded(const kl__schema *schema,
                                  const kl__node *value, const char *prefix,
                                  kl__field_errors *errors);

/* --- Parts of the above. -------------------------------------------------- */

/* Whether a text has the format; an unknown one it has. */
bool kl__custom_format_fits(const char *format, const char *text,
                            size_t length);
/* Whether there is such a format for texts. */
bool kl__custom_format_is_known(const char *format);

/* Whether a schema's `required` has the name. */
bool kl__schema_requires(const kl_value *source, const char *name);

/* Whether a number of a schema is a whole one; the same for values. */
bool kl__number_is_whole(double number);

#endif
