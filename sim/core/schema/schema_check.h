/*
 * schema_check.h - finds in the tree of an object what kube-apiserver's decoder
 * finds: values of the wrong type and unknown fields.
 */
#ifndef KL_SCHEMA_SCHEMA_CHECK_H
#define KL_SCHEMA_SCHEMA_CHECK_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

/* The findings; a zeroed one is empty and valid. */
typedef struct kl__findings {
    /* the server's message about the first value of the wrong type, after which
     * the search ends; NULL: there is none */
    char *error;
    /* `unknown field "spec.foo"`: in the order of the object's text, at most a
     * hundred */
    char **fields;
    size_t field_count;
} kl__findings;

/* Checks an object by its schema. Returns KL_OK, with or without findings, or
 * KL_ENOMEM. The caller calls kl__findings_deinit in any case. */
kl_code kl__schema_check(const kl__node *object, const kl__schema *schema,
                         kl__findings *out, kl_error *err);

void kl__findings_deinit(kl__findings *findings);

#endif
