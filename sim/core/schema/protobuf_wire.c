/*
 * protobuf_wire.c - see protobuf_wire.h. Every length is checked against the
 * bytes that are left.
 */
#include "sim/core/schema/protobuf_wire.h"

enum { MAX_GROUPS = 100 }; /* nested */

static kl_code fail_end(kl_error *err)
{
    return kl_error_set(err, KL_EPARSE, "unexpected EOF");
}

static kl_code read_varint(kl__wire *wire, uint64_t *value, kl_error *err)
{
    *value = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte;

        if (shift >= 64) {
            return kl_error_set(err, KL_EPARSE, "proto: integer overflow");
        }
        if (wire->at == wire->end) {
            return fail_end(err);
        }
        byte = *wire->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return KL_OK;
        }
    }
}

static kl_code read_fixed(kl__wire *wire, size_t size, uint64_t *value,
                          kl_error *err)
{
    if ((size_t)(wire->end - wire->at) < size) {
        return fail_end(err);
    }
    *value = 0;
    for (size_t i = 0; i < size; i++) {
        *value |= (uint64_t)*wire->at++ << (8 * i);
    }
    return KL_OK;
}

static kl_code read_bytes(kl__wire *wire, kl__wire *bytes, kl_error *err)
{
    uint64_t length;
    kl_code code = read_varint(wire, &length, err);

    if (code != KL_OK) {
        return code;
    }
    if (length > INT64_MAX) {
        return kl_error_set(err, KL_EPARSE,
                            "proto: negative length found during "
                            "unmarshaling");
    }
    if (length > (uint64_t)(wire->end - wire->at)) {
        return fail_end(err);
    }
    *bytes = (kl__wire){wire->at, wire->at + length};
    wire->at += length;
    return KL_OK;
}

kl_code kl__wire_tag(kl__wire *wire, const char *message, kl__wire_field *field,
                     kl_error *err)
{
    uint64_t tag;
    kl_code code = read_varint(wire, &tag, err);

    if (code != KL_OK) {
        return code;
    }
    *field = (kl__wire_field){.number = (int)(int32_t)(tag >> 3),
                              .type = (int)(tag & 7)};
    if (field->type == KL__WIRE_GROUP_END) {
        return kl_error_set(err, KL_EPARSE,
                            "proto: %s: wiretype end group for non-group",
                            message);
    }
    if (field->number <= 0) {
        return kl_error_set(err, KL_EPARSE,
                            "proto: %s: illegal tag %d (wire type %d)", message,
                            field->number, field->type);
    }
    return KL_OK;
}

kl_code kl__wire_number(kl__wire *wire, int type, uint64_t *value,
                        kl_error *err)
{
    return type == KL__WIRE_FIXED64   ? read_fixed(wire, 8, value, err)
           : type == KL__WIRE_FIXED32 ? read_fixed(wire, 4, value, err)
                                      : read_varint(wire, value, err);
}

kl_code kl__wire_value(kl__wire *wire, kl__wire_field *field, kl_error *err)
{
    switch (field->type) {
    case KL__WIRE_VARINT:
    case KL__WIRE_FIXED64:
    case KL__WIRE_FIXED32:
        return kl__wire_number(wire, field->type, &field->value, err);
    case KL__WIRE_BYTES:
        return read_bytes(wire, &field->bytes, err);
    default:
        return kl_error_set(err, KL_EPARSE, "proto: illegal wireType %d",
                            field->type);
    }
}

kl_code kl__wire_skip(kl__wire *wire, kl__wire_field *field, kl_error *err)
{
    int depth = field->type == KL__WIRE_GROUP;
    kl_code code = depth == 0 ? kl__wire_value(wire, field, err) : KL_OK;

    while (code == KL_OK && depth != 0) {
        kl__wire_field inner;
        uint64_t tag;

        code = read_varint(wire, &tag, err);
        inner = (kl__wire_field){.type = (int)(tag & 7)};
        if (code != KL_OK) {
            return code;
        }
        if (inner.type == KL__WIRE_GROUP) {
            depth++;
        } else if (inner.type == KL__WIRE_GROUP_END) {
            depth--;
        } else {
            code = kl__wire_value(wire, &inner, err);
        }
        if (depth > MAX_GROUPS) {
            return kl_error_set(err, KL_EPARSE, "proto: nested too deep");
        }
    }
    return code;
}
