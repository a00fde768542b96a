/*
 * protobuf_wire.h - reads protobuf messages field by field. The messages of
 * errors are those of the decoders that are generated for Go.
 */
#ifndef KL_SCHEMA_PROTOBUF_WIRE_H
#define KL_SCHEMA_PROTOBUF_WIRE_H

#include "kubelua/error.h"
#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

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

/* Decodes a value that has no fields in its schema. In protobuf some of these
 * are messages: times, durations, quantities, raw JSON. */

/* The type of the schemas in a definition. A value whose type has one of the
 * flags below is such a schema, or something else: a list of schemas, a
 * boolean, or a list of names, by the flag. */
#define KL__PROTOBUF_SCHEMAS \
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
enum {
    KL__PROTOBUF_EITHER =
        KL__SCHEMA_OR_ARRAY | KL__SCHEMA_OR_BOOL | KL__SCHEMA_OR_NAMES
};

/* Go's zero time, in seconds since 1970. */
#define KL__PROTOBUF_FIRST_SECOND INT64_C(-62135596800)

/* Decodes a field whose schema is not an object, map or array. The result is a
 * node of type KL_NULL for a value that JSON would leave out. NULL: KL_EPARSE,
 * KL_ENOMEM. */
kl__node *kl__protobuf_scalar(kl__edit *edit, const kl__schema *schema,
                              const kl__wire_field *field, kl_error *err);

/* The wire type of values of such a schema. */
int kl__protobuf_scalar_wire(const kl__schema *schema);

/* Bytes as text: malformed UTF-8 becomes U+FFFD, as in Go's JSON. NULL: out of
 * memory. */
kl__node *kl__protobuf_text(kl__edit *edit, const kl__wire *bytes);

#endif
