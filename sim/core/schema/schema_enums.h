/*
 * schema_enums.h - the values that fields of built-in kinds may have. Only the
 * OpenAPI documents use this table; validation does not.
 */
#ifndef KL_SCHEMA_SCHEMA_ENUMS_H
#define KL_SCHEMA_SCHEMA_ENUMS_H

#include <stddef.h>

typedef struct kl__schema_enum {
    const char *type; /* "io.k8s.api.core.v1.PodSpec" */
    const char *field;
    const char *values; /* of the field, or of its elements: "Always,Never" */
} kl__schema_enum;

extern const kl__schema_enum kl__schema_enums[]; /* sorted by both names */
extern const size_t kl__schema_enum_count;

#endif
