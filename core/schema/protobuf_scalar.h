/*
 * protobuf_scalar.h - values that are one word in JSON and something else in
 * protobuf: times, durations, quantities, raw JSON.
 */
#ifndef KL_SCHEMA_PROTOBUF_SCALAR_H
#define KL_SCHEMA_PROTOBUF_SCALAR_H

#include "json/edit.h"
#include "schema/protobuf_wire.h"
#include "schema/schema.h"

/* What a field of a schema that is no object, map or array says. KL_NULL stands
 * for what JSON would not have. NULL: KL_EPARSE, KL_ENOMEM. */
kl__node *kl__protobuf_scalar(kl__edit *edit, const kl__schema *schema,
                              const kl__wire_field *field, kl_error *err);

/* The wire type that such a value has. */
int kl__protobuf_scalar_wire(const kl__schema *schema);

/* Bytes as text: what is no UTF-8 becomes U+FFFD, as in Go's JSON. NULL: out of
 * memory. */
kl__node *kl__protobuf_text(kl__edit *edit, const kl__wire *bytes);

#endif
