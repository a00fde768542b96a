/*
 * schema_check.h - what kube-apiserver's decoder finds in an object: a value of
 * a wrong type, unknown fields, fields that are there twice. Pure functions.
 */
#ifndef KL_SCHEMA_SCHEMA_CHECK_H
#define KL_SCHEMA_SCHEMA_CHECK_H

#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* What was found; zeroed is empty and valid. */
typedef struct kl__findings {
    char *error; /* the first value that does not fit, in the server's words; it
                  * ends the search. NULL: all fit */
    char **fields; /* `unknown field "spec.foo"`, `duplicate field "spec.bar"`:
                    * each once, in the order of the text, a hundred at most */
    size_t field_count;
} kl__findings;

/* Goes through an object with its schema. KL_OK whatever was found, or
 * KL_ENOMEM; `out` is to be freed either way: kl__findings_deinit. */
kl_code kl__schema_check(const kl__node *object, const kl__schema *schema,
                         kl__findings *out, kl_error *err);

/* The same of an object that a strategic merge patch made: Go converts a map to
 * it, with other words and its fields sorted. */
kl_code kl__schema_check_restored(const kl__node *object,
                                  const kl__schema *schema, kl__findings *out,
                                  kl_error *err);

void kl__findings_deinit(kl__findings *findings);

#endif
