/*
 * protobuf_write.c - see protobuf_write.h.
 */
#include "sim/core/schema/protobuf_write.h"

#include "sim/core/schema/protobuf_wire.h"

#include <string.h>

enum { MAX_VARINT = 10 };

static size_t encode_varint(uint64_t value, char *bytes)
{
    size_t length = 0;

    while (value >= 0x80) {
        bytes[length++] = (char)(value | 0x80);
        value >>= 7;
    }
    bytes[length++] = (char)value;
    return length;
}

static void put_varint(kl__buf *out, uint64_t value)
{
    char bytes[MAX_VARINT];

    kl__buf_append(out, bytes, encode_varint(value, bytes));
}

static void put_tag(kl__buf *out, int number, int type)
{
    put_varint(out, (uint64_t)number << 3 | (unsigned)type);
}

void kl__wire_put_number(kl__buf *out, int number, uint64_t value)
{
    put_tag(out, number, KL__WIRE_VARINT);
    put_varint(out, value);
}

void kl__wire_put_real(kl__buf *out, int number, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_tag(out, number, KL__WIRE_FIXED64);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        kl__buf_putc(out, (char)(bits >> shift));
    }
}

/* Appends the head of a field of `length` bytes, which the caller appends
 * then. */
static void put_head(kl__buf *out, int number, size_t length)
{
    put_tag(out, number, KL__WIRE_BYTES);
    put_varint(out, length);
}

void kl__wire_put_bytes(kl__buf *out, int number, const void *bytes,
                        size_t length)
{
    put_head(out, number, length);
    kl__buf_append(out, bytes, length);
}

size_t kl__wire_begin(kl__buf *out, int number)
{
    put_tag(out, number, KL__WIRE_BYTES);
    return out->length;
}

/* Inserts the length before the message, now that it is known. */
void kl__wire_end(kl__buf *out, size_t begin)
{
    char length[MAX_VARINT];
    size_t inner = out->length - begin;
    size_t size = encode_varint(inner, length);

    if (kl__buf_reserve(out, size) == NULL) {
        return;
    }
    memmove(out->bytes + begin + size, out->bytes + begin, inner);
    memcpy(out->bytes + begin, length, size);
    out->length += size;
    out->bytes[out->length] = '\0';
}
