/*
 * schema_check.h - what kube-apiserver's decoder finds in an object: values of
 * the wrong type, unknown and repeated fields. Functions of trees.
 */
#ifndef KL_SCHEMA_SCHEMA_CHECK_H
#define KL_SCHEMA_SCHEMA_CHECK_H

#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* The findings; zeroed it is empty and valid. */
typedef struct kl__findings {
    /* the first value of the wrong type, in the server's words; it ends the
     * search. NULL: none */
    char *error;
    /* `unknown field "spec.foo"`, `duplicate field "spec.bar"`: each once, in
     * the text's order, at most a hundred */
    char **fields;
    size_t field_count;
} kl__findings;

/* Checks an object by its schema. KL_OK whatever was found, or KL_ENOMEM; free
 * `out` in any case: kl__findings_deinit. */
kl_code kl__schema_check(const kl__node *object, const kl__schema *schema,
                         kl__findings *out, kl_error *err);

/* The same for an object that a strategic merge patch has made: Go converts it
 * from a map, with other messages and its fields sorted. */
kl_code kl__schema_check_restored(const kl__node *object,
                                  const kl__schema *schema, kl__findings *out,
                                  kl_error *err);

void kl__findings_deinit(kl__findings *findings);

#endif
