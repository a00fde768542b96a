/*
 * der.c - see der.h.
 */
#include "http/der.h"

#include <stdint.h>

enum {
    BOOLEAN = 0x01,
    INTEGER = 0x02,
    BIT_STRING = 0x03,
    NULL_VALUE = 0x05,
    OBJECT_ID = 0x06,
    UTC_TIME = 0x17,
    GENERALIZED_TIME = 0x18,
    SEQUENCE = 0x30,
    SET = 0x31,
    CONSTRUCTED = 0x20,
    HIGH_TAG = 0x1f, /* a tag of several bytes: no certificate has one */
    FIELD_0 = 0xa0,  /* [0], [1], ... of a SEQUENCE */
    FIELD_1 = 0x81,
    FIELD_2 = 0x82,
    FIELD_3 = 0xa3,
    MAX_DEPTH = 32
};

/* What is left to be read. */
typedef struct span {
    const uint8_t *at;
    size_t left;
} span;

/* Reads a length; definite, in the shortest form. */
static bool take_length(span *from, size_t *length)
{
    size_t count;

    if (from->left == 0) {
        return false;
    }
    *length = *from->at++;
    from->left--;
    if (*length < 0x80) {
        return true;
    }
    count = *length - 0x80;
    *length = 0;
    if (count == 0 || count > 4 || count > from->left || *from->at == 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        *length = *length << 8 | *from->at++;
    }
    from->left -= count;
    return *length >= 0x80;
}

/* Reads the next element. */
static bool take_any(span *from, int *tag, span *content)
{
    size_t length;

    if (from->left == 0 || (*from->at & HIGH_TAG) == HIGH_TAG) {
        return false;
    }
    *tag = *from->at++;
    from->left--;
    if (!take_length(from, &length) || length > from->left) {
        return false;
    }
    *content = (span){from->at, length};
    from->at += length;
    from->left -= length;
    return true;
}

static bool is_next(const span *from, int tag)
{
    return from->left > 0 && *from->at == tag;
}

static bool take(span *from, int tag, span *content)
{
    int found;

    return is_next(from, tag) && take_any(from, &found, content);
}

/* Reads an element that may be absent. */
static bool skip(span *from, int tag)
{
    span content;

    return !is_next(from, tag) || take(from, tag, &content);
}

/* ---- every element ---- */

static bool is_integer(span value)
{
    bool has_padding =
        value.left > 1 && ((value.at[0] == 0x00 && value.at[1] < 0x80) ||
                           (value.at[0] == 0xff && value.at[1] >= 0x80));

    return value.left > 0 && !has_padding;
}

static bool is_object_id(span value)
{
    bool is_first = true; /* of the bytes of a number */

    for (size_t i = 0; i < value.left; i++) {
        if (is_first && value.at[i] == 0x80) {
            return false;
        }
        is_first = value.at[i] < 0x80;
    }
    return value.left > 0 && is_first;
}

static bool is_value(int tag, span value)
{
    switch (tag) {
    case BOOLEAN:
        return value.left == 1;
    case INTEGER:
        return is_integer(value);
    case BIT_STRING:
        return value.left > 0 &&
               (value.left > 1 ? value.at[0] < 8 : value.at[0] == 0);
    case NULL_VALUE:
        return value.left == 0;
    case OBJECT_ID:
        return is_object_id(value);
    default:
        return true;
    }
}

/* True if the span is a row of whole elements up to its end, and the content of
 * each that has elements is such a row too, at most `depth` levels down. */
static bool is_well_formed(span from, int depth)
{
    while (from.left > 0) {
        span content;
        int tag;

        if (!take_any(&from, &tag, &content) ||
            ((tag & CONSTRUCTED) != 0 &&
             (depth == 0 || !is_well_formed(content, depth - 1))) ||
            !is_value(tag, content)) {
            return false;
        }
    }
    return true;
}

/* ---- the parts of a certificate ---- */

/* An algorithm: an object identifier, then anything. */
static bool take_algorithm(span *from)
{
    span algorithm, id;

    return take(from, SEQUENCE, &algorithm) && take(&algorithm, OBJECT_ID, &id);
}

/* A name: a SEQUENCE of SETs of pairs. */
static bool take_name(span *from)
{
    span name, set, pair, part;
    int tag;

    if (!take(from, SEQUENCE, &name)) {
        return false;
    }
    while (name.left > 0) {
        if (!take(&name, SET, &set)) {
            return false;
        }
        do {
            if (!take(&set, SEQUENCE, &pair) ||
                !take(&pair, OBJECT_ID, &part) ||
                !take_any(&pair, &tag, &part) || pair.left > 0) {
                return false;
            }
        } while (set.left > 0);
    }
    return true;
}

static bool take_time(span *from)
{
    span text;

    return take(from, is_next(from, UTC_TIME) ? UTC_TIME : GENERALIZED_TIME,
                &text);
}

static bool take_validity(span *from)
{
    span validity;

    return take(from, SEQUENCE, &validity) && take_time(&validity) &&
           take_time(&validity) && validity.left == 0;
}

static bool take_key(span *from)
{
    span key, bits;

    return take(from, SEQUENCE, &key) && take_algorithm(&key) &&
           take(&key, BIT_STRING, &bits) && key.left == 0;
}

/* [3]: a SEQUENCE of extensions. */
static bool take_extensions(span *from)
{
    span field, list, extension, part;

    if (!is_next(from, FIELD_3)) {
        return true;
    }
    if (!take(from, FIELD_3, &field) || !take(&field, SEQUENCE, &list) ||
        field.left > 0) {
        return false;
    }
    while (list.left > 0) {
        if (!take(&list, SEQUENCE, &extension) ||
            !take(&extension, OBJECT_ID, &part) || !skip(&extension, BOOLEAN) ||
            !take(&extension, 0x04 /* OCTET STRING */, &part) ||
            extension.left > 0) {
            return false;
        }
    }
    return true;
}

static bool is_signed_part(span part)
{
    span number;

    return skip(&part, FIELD_0) && take(&part, INTEGER, &number) &&
           take_algorithm(&part) && take_name(&part) && take_validity(&part) &&
           take_name(&part) && take_key(&part) && skip(&part, FIELD_1) &&
           skip(&part, FIELD_2) && take_extensions(&part) && part.left == 0;
}

bool kl__der_is_certificate(const void *bytes, size_t length)
{
    span all = {bytes, length}, certificate, part, signature;

    return is_well_formed(all, MAX_DEPTH) &&
           take(&all, SEQUENCE, &certificate) && all.left == 0 &&
           take(&certificate, SEQUENCE, &part) && is_signed_part(part) &&
           take_algorithm(&certificate) &&
           take(&certificate, BIT_STRING, &signature) && certificate.left == 0;
}
