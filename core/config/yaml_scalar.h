/*
 * yaml_scalar.h - finds the type and value of a YAML scalar (null, boolean,
 * number or text), by the rules of kubectl (go-yaml v2).
 */
#ifndef KL_CONFIG_YAML_SCALAR_H
#define KL_CONFIG_YAML_SCALAR_H

#include "base/buf.h"
#include "config/yaml_tree.h"

#include <stdint.h>

typedef enum kl__scalar_type {
    KL__SCALAR_NULL,
    KL__SCALAR_BOOL,
    KL__SCALAR_INTEGER,  /* fits int64_t */
    KL__SCALAR_UNSIGNED, /* fits uint64_t only */
    KL__SCALAR_DIGITS,   /* a larger integer, as JSON in `text` */
    KL__SCALAR_REAL,
    KL__SCALAR_INFINITE, /* .inf, .nan: JSON has no such numbers */
    KL__SCALAR_STRING    /* `text` */
} kl__scalar_type;

typedef struct kl__scalar {
    kl__scalar_type type;
    bool boolean;
    int64_t integer;
    uint64_t magnitude;
    double real;
    const char *text; /* points into the node or into `scratch` */
    size_t length;
    kl__buf scratch; /* memory for decoded !!binary and for digits */
} kl__scalar;

/* Resolves a scalar node; free the result with kl__scalar_deinit, also after a
 * failure. KL_EPARSE: the tag does not fit the text; KL_ENOMEM. */
kl_code kl__scalar_resolve(const kl__yaml_node *node, kl__scalar *scalar,
                           kl_error *err);
void kl__scalar_deinit(kl__scalar *scalar);

/* Appends the scalar as the name of an object's member: numbers and booleans
 * become text. KL_EPARSE: null, which kubectl refuses as a name. */
kl_code kl__scalar_name(const kl__yaml_node *node, const kl__scalar *scalar,
                        kl__buf *name, kl_error *err);

#endif
