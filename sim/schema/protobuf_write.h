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
void kl__wire_put_text(kl__buf *out, int number, const char *text);
/* Appends the head of a field; the caller appends so many bytes. */
void kl__wire_put_head(kl__buf *out, int number, size_t length);

/* Begins a field that is a message; what is appended until kl__wire_end is in
 * it. Returns what kl__wire_end needs. */
size_t kl__wire_begin(kl__buf *out, int number);
void kl__wire_end(kl__buf *out, size_t begin);

#endif
