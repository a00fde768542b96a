/*
 * protobuf_write.h - the bytes of protobuf messages, appended field by field:
 * the other side of protobuf_wire.h. Out of memory sticks in the buffer.
 */
#ifndef KL_SCHEMA_PROTOBUF_WRITE_H
#define KL_SCHEMA_PROTOBUF_WRITE_H

#include "base/buf.h"

#include <stdint.h>

/* Fields of the wire types varint, fixed64 and bytes. */
void kl__wire_put_number(kl__buf *out, int number, uint64_t value);
void kl__wire_put_real(kl__buf *out, int number, double value);
void kl__wire_put_bytes(kl__buf *out, int number, const void *bytes,
                        size_t length);
void kl__wire_put_text(kl__buf *out, int number, const char *text);
/* The head of a field of so many bytes, which are to follow. */
void kl__wire_put_head(kl__buf *out, int number, size_t length);

/* Begins a field that is a message; what is appended until its end is in it.
 * The result is what kl__wire_end needs. */
size_t kl__wire_begin(kl__buf *out, int number);
void kl__wire_end(kl__buf *out, size_t begin);

#endif
