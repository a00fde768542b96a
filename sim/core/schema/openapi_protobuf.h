/*
 * openapi_protobuf.h - encodes an OpenAPI document of version 2 as protobuf
 * (gnostic's openapi.v2.Document). kubectl asks for it to validate objects
 * before it sends them.
 */
#ifndef KL_SCHEMA_OPENAPI_PROTOBUF_H
#define KL_SCHEMA_OPENAPI_PROTOBUF_H

#include "base/buf.h"
#include "kubelua/value.h"

/* Appends a document, without the members for which the messages have no field.
 * When memory runs out, `out` keeps the failure. */
void kl__openapi_protobuf(const kl_value *document, kl__buf *out);

#endif
