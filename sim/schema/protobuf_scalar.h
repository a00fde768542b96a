/*
 * protobuf_scalar.h - values that are one word in JSON and something else in
 * protobuf: times, durations, quantities, raw JSON.
 */
#ifndef KL_SCHEMA_PROTOBUF_SCALAR_H
#define KL_SCHEMA_PROTOBUF_SCALAR_H

#include "base/buf.h"
#include "sim/json/edit.h"
#include "sim/schema/protobuf_wire.h"
#include "sim/schema/schema.h"

/* Of types that are one thing or another: one of them is such a schema. */
#define KL__PROTOBUF_SCHEMAS \
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
enum {
    KL__PROTOBUF_EITHER =
        KL__SCHEMA_OR_ARRAY | KL__SCHEMA_OR_BOOL | KL__SCHEMA_OR_NAMES
};

/* Go's zero time, in seconds since 1970. */
#define KL__PROTOBUF_FIRST_SECOND INT64_C(-62135596800)

/* What a field of a schema that is no object, map or array says. KL_NULL stands
 * for what JSON would not have. NULL: KL_EPARSE, KL_ENOMEM. */
kl__node *kl__protobuf_scalar(kl__edit *edit, const kl__schema *schema,
                              const kl__wire_field *field, kl_error *err);

/* Appends the field that a value of such a schema is; NULL, and what does not
 * fit the schema, is Go's zero. */
void kl__protobuf_put_scalar(const kl__schema *schema, int number,
                             const kl_value *value, kl__buf *out);

/* The wire type that such a value has. */
int kl__protobuf_scalar_wire(const kl__schema *schema);

/* Bytes as text: what is no UTF-8 becomes U+FFFD, as in Go's JSON. NULL: out of
 * memory. */
kl__node *kl__protobuf_text(kl__edit *edit, const kl__wire *bytes);

#endif
