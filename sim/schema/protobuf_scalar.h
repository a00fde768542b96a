/*
 * protobuf_scalar.h - values that are one word in JSON and a message or number
 * in protobuf: times, durations, quantities, raw JSON. Used by
 * schema_protobuf.c.
 */
#ifndef KL_SCHEMA_PROTOBUF_SCALAR_H
#define KL_SCHEMA_PROTOBUF_SCALAR_H

#include "base/buf.h"
#include "sim/json/edit.h"
#include "sim/schema/protobuf_wire.h"
#include "sim/schema/schema.h"

/* The type of a schema in a definition. A value of a type with one of the flags
 * below is such a schema or else, by the flag, a list of schemas, a boolean, or
 * a list of names. */
#define KL__PROTOBUF_SCHEMAS \
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
enum {
    KL__PROTOBUF_EITHER =
        KL__SCHEMA_OR_ARRAY | KL__SCHEMA_OR_BOOL | KL__SCHEMA_OR_NAMES
};

/* Go's zero time, in seconds since 1970. */
#define KL__PROTOBUF_FIRST_SECOND INT64_C(-62135596800)

/* Decodes a field whose schema is not an object, map or array. KL_NULL: a value
 * that JSON would leave out. NULL: KL_EPARSE, KL_ENOMEM. */
kl__node *kl__protobuf_scalar(kl__edit *edit, const kl__schema *schema,
                              const kl__wire_field *field, kl_error *err);

/* Appends the field for a value of such a schema. NULL, and a value of the
 * wrong type, is Go's zero. */
void kl__protobuf_put_scalar(const kl__schema *schema, int number,
                             const kl_value *value, kl__buf *out);

/* The wire type of such a value. */
int kl__protobuf_scalar_wire(const kl__schema *schema);

/* Bytes as text: malformed UTF-8 becomes U+FFFD, as in Go's JSON. NULL: out of
 * memory. */
kl__node *kl__protobuf_text(kl__edit *edit, const kl__wire *bytes);

#endif
