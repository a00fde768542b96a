/*
 * openapi_protobuf.h - an OpenAPI document of version 2 as protobuf: what
 * kubectl asks for to check objects itself. The messages are those of
 * gnostic's openapi.v2.Document.
 */
#ifndef KL_SCHEMA_OPENAPI_PROTOBUF_H
#define KL_SCHEMA_OPENAPI_PROTOBUF_H

#include "base/buf.h"
#include "kubelua/value.h"

/* Appends a document; of that what has no place in the messages is left out.
 * Out of memory sticks in `out`. */
void kl__openapi_protobuf(const kl_value *document, kl__buf *out);

#endif
