/*
 * protobuf_wire.h - reads protobuf messages field by field. The messages of
 * errors are those of the decoders that are generated for Go.
 */
#ifndef KL_SCHEMA_PROTOBUF_WIRE_H
#define KL_SCHEMA_PROTOBUF_WIRE_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KL__WIRE_VARINT = 0,
    KL__WIRE_FIXED64 = 1,
    KL__WIRE_BYTES = 2,
    KL__WIRE_GROUP = 3,
    KL__WIRE_GROUP_END = 4,
    KL__WIRE_FIXED32 = 5
};

/* The bytes of a message that are not read yet; borrowed. */
typedef struct kl__wire {
    const unsigned char *at;
    const unsigned char *end;
} kl__wire;

typedef struct kl__wire_field {
    int number;
    int type;
    uint64_t value; /* of all types but KL__WIRE_BYTES */
    kl__wire bytes; /* of KL__WIRE_BYTES; borrowed from the message */
} kl__wire_field;

static inline kl__wire kl__wire_of(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    return (kl__wire){at, length != 0 ? at + length : at};
}

static inline bool kl__wire_is_empty(const kl__wire *wire)
{
    return wire->at == wire->end;
}

/* Reads number and type of the next field; errors name the message `message`.
 * KL_EPARSE: malformed. */
kl_code kl__wire_tag(kl__wire *wire, const char *message, kl__wire_field *field,
                     kl_error *err);
/* Reads the field's value. KL_EPARSE. */
kl_code kl__wire_value(kl__wire *wire, kl__wire_field *field, kl_error *err);
/* Reads the next number of a packed list. KL_EPARSE. */
kl_code kl__wire_number(kl__wire *wire, int type, uint64_t *value,
                        kl_error *err);
/* Skips the field's value, of any type. KL_EPARSE. */
kl_code kl__wire_skip(kl__wire *wire, kl__wire_field *field, kl_error *err);

/* Reads the next field, tag and value. KL_EPARSE. */
static inline kl_code kl__wire_next(kl__wire *wire, const char *message,
                                    kl__wire_field *field, kl_error *err)
{
    kl_code code = kl__wire_tag(wire, message, field, err);

    return code == KL_OK ? kl__wire_value(wire, field, err) : code;
}

#endif
