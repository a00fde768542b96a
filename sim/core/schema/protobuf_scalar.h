/*
 * protobuf_scalar.h - for schema_protobuf.c: decodes values that have no
 * fields in their schema. In protobuf some of these are messages:
 * times, durations, quantities, raw JSON.
 */
#ifndef KL_SCHEMA_PROTOBUF_SCALAR_H
#define KL_SCHEMA_PROTOBUF_SCALAR_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/protobuf_wire.h"
#include "sim/core/schema/schema.h"

/* The type of the schemas in a definition. A value whose type has one of the
 * flags below is such a schema, or something else: a list of schemas, a
 * boolean, or a list of names, by the flag. */
#define KL__PROTOBUF_SCHEMAS \
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
enum {
    KL__PROTOBUF_EITHER =
        KL__SCHEMA_OR_ARRAY | KL__SCHEMA_OR_BOOL | KL__SCHEMA_OR_NAMES
};

/* Go's zero time, in seconds since 1970. */
#define KL__PROTOBUF_FIRST_SECOND INT64_C(-62135596800)

/* Decodes a field whose schema is not an object, map or array. The result is a
 * node of type KL_NULL for a value that JSON would leave out. NULL: KL_EPARSE,
 * KL_ENOMEM. */
kl__node *kl__protobuf_scalar(kl__edit *edit, const kl__schema *schema,
                              const kl__wire_field *field, kl_error *err);

/* The wire type of values of such a schema. */
int kl__protobuf_scalar_wire(const kl__schema *schema);

/* Bytes as text: malformed UTF-8 becomes U+FFFD, as in Go's JSON. NULL: out of
 * memory. */
kl__node *kl__protobuf_text(kl__edit *edit, const kl__wire *bytes);

#endif
