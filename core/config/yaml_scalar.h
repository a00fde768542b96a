/*
 * yaml_scalar.h - what a YAML scalar means, as kubectl (go-yaml v2) reads it.
 */
#ifndef KL_CONFIG_YAML_SCALAR_H
#define KL_CONFIG_YAML_SCALAR_H

#include "base/for_sim.h"
#include "base/buf.h"
#include "config/yaml_tree.h"

#include <stdint.h>

typedef enum kl__scalar_type {
    KL__SCALAR_NULL,
    KL__SCALAR_BOOL,
    KL__SCALAR_INTEGER,  /* fits int64_t */
    KL__SCALAR_UNSIGNED, /* fits uint64_t only */
    KL__SCALAR_DIGITS,   /* an integer that fits neither, as JSON: `text` */
    KL__SCALAR_REAL,
    KL__SCALAR_INFINITE, /* .inf, .nan: no JSON for them */
    KL__SCALAR_STRING    /* `text` */
} kl__scalar_type;

typedef struct kl__scalar {
    kl__scalar_type type;
    bool boolean;
    int64_t integer;
    uint64_t magnitude;
    double real;
    const char *text; /* in the node or in `scratch` */
    size_t length;
    kl__buf scratch; /* decoded !!binary, normalised digits */
} kl__scalar;

/* Resolves a scalar node; release it with kl__scalar_deinit, also after a
 * failure. KL_EPARSE where its tag does not fit it, KL_ENOMEM. */
KL__FOR_SIM kl_code kl__scalar_resolve(const kl__yaml_node *node,
                                       kl__scalar *scalar, kl_error *err);
KL__FOR_SIM void kl__scalar_deinit(kl__scalar *scalar);

/* Appends the scalar as the name of an object's member: numbers and booleans
 * become text. KL_EPARSE where kubectl refuses it (null). */
kl_code kl__scalar_name(const kl__yaml_node *node, const kl__scalar *scalar,
                        kl__buf *name, kl_error *err);

#endif
