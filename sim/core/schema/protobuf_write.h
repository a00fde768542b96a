/*
 * protobuf_write.h - appends fields of protobuf messages; protobuf_wire.h reads
 * them. When memory runs out, the buffer keeps the failure.
 */
#ifndef KL_SCHEMA_PROTOBUF_WRITE_H
#define KL_SCHEMA_PROTOBUF_WRITE_H

#include "base/buf.h"

#include <stdint.h>

/* Append fields of the wire types varint, fixed64 and bytes. */
void kl__wire_put_number(kl__buf *out, int number, uint64_t value);
void kl__wire_put_real(kl__buf *out, int number, double value);
void kl__wire_put_bytes(kl__buf *out, int number, const void *bytes,
                        size_t length);

/* Begins a field that is a message. All that is appended before kl__wire_end is
 * the message; pass the result to kl__wire_end. */
size_t kl__wire_begin(kl__buf *out, int number);
void kl__wire_end(kl__buf *out, size_t begin);

#endif
