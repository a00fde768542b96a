/*
 * cursor.c - see kubelua/cursor.h. What is passed by is skipped as bytes:
 * strings eight at a time (text.h), arrays and objects 64 at a time
 * (cursor_leave.c). Escapes are rare: cursor_decode.c.
 */
#include "json/cursor.h"

#include "json/text.h"

#include <assert.h>
#include <string.h>
#include <yyjson.h>

static_assert(sizeof(kl_scalar) == sizeof(yyjson_val),
              "a scalar has room for one value");

/* `string` is at its opening quote. Returns its end. */
static const char *skip_string(const char *string, const char *end)
{
    const char *at = string + 1;

    while ((at = kl__string_stop(at, end)) < end && *at == '\\') {
        at += 2;
    }
    return at + 1;
}

const char *kl_cursor_skip(const char *value, const char *end)
{
    if (*value == '"') {
        return skip_string(value, end);
    }
    if (*value == '{' || *value == '[') {
        return kl__cursor_leave(value + 1, end);
    }
    while (value < end && *value != ',' && *value != '}' && *value != ']') {
        value++;
    }
    return value;
}

void kl_cursor_begin(kl_cursor *self, const char *value, const char *end)
{
    bool has_parts = value != NULL && (*value == '{' || *value == '[');

    *self = (kl_cursor){.end = end, .at = has_parts ? value : end};
}

bool kl_cursor_next(kl_cursor *self)
{
    const char *at =
        self->at != NULL ? self->at : kl_cursor_skip(self->value, self->end);
    bool named = self->name != NULL || *at == '{';

    /* At an opening bracket, a comma, a closing bracket, or the end. */
    if (at < self->end && (*at == ',' || self->value == NULL)) {
        at++;
    }
    if (at >= self->end || *at == '}' || *at == ']') {
        /* The walk ends here: another call finds nothing either. */
        self->end = self->at = at < self->end ? at + 1 : at;
        self->value = self->name = NULL;
        return false;
    }
    self->name = named ? at : NULL;
    self->value = named ? skip_string(at, self->end) + 1 : at;
    self->at = NULL;
    return true;
}

/* The last member of that name from the current one on, which has it. */
static const char *last_member(kl_cursor *self, const char *name, size_t length)
{
    const char *last = self->value;
    const char *behind = kl_cursor_skip(last, self->end);
    const char *close = kl__cursor_leave(behind, self->end);

    if (kl__cursor_may_have(behind, close, name, length)) {
        self->at = behind;
        while (kl_cursor_next(self)) {
            if (kl__cursor_has_name(self, name, length)) {
                last = self->value;
            }
        }
    }
    return last;
}

const char *kl_cursor_member(const char *value, const char *end,
                             const char *name, size_t length)
{
    kl_cursor self;

    if (value == NULL || *value != '{') {
        return NULL;
    }
    kl_cursor_begin(&self, value, end);
    while (kl_cursor_next(&self)) {
        if (kl__cursor_has_name(&self, name, length)) {
            return last_member(&self, name, length);
        }
    }
    return NULL;
}

const char *kl_cursor_element(const char *value, const char *end, size_t index)
{
    kl_cursor self;

    if (value == NULL || *value != '[') {
        return NULL;
    }
    kl_cursor_begin(&self, value, end);
    while (kl_cursor_next(&self)) {
        if (index-- == 0) {
            return self.value;
        }
    }
    return NULL;
}

/* The values of a tree are in memory in the order of the text, names of members
 * included. */
const kl_value *kl_cursor_in_tree(const kl_value *value, const char *at,
                                  const char *wanted)
{
    const yyjson_val *found = (const yyjson_val *)value;

    while (at < wanted) {
        switch (*at) {
        case '{':
        case '[':
            found++;
            at++;
            break;
        case '}':
        case ']':
        case ',':
        case ':':
            at++;
            break;
        default:
            found++;
            at = kl_cursor_skip(at, wanted);
            break;
        }
    }
    return (const kl_value *)found;
}

const kl_value *kl__cursor_string(const char *bytes, size_t length,
                                  kl_scalar *room)
{
    yyjson_val *made = (yyjson_val *)(void *)room;

    made->tag = (uint64_t)length << YYJSON_TAG_BIT | YYJSON_TYPE_STR;
    made->uni.str = bytes;
    return (const kl_value *)made;
}

static const kl_value *make_word(yyjson_type type, yyjson_subtype subtype,
                                 kl_scalar *room)
{
    yyjson_val *made = (yyjson_val *)(void *)room;

    *made = (yyjson_val){.tag = type | subtype};
    return (const kl_value *)made;
}

/* The same flag as in doc.c. A byte that is no part of a number, or a NUL,
 * stands behind it. */
static const kl_value *read_number(const char *value, kl_scalar *room)
{
    yyjson_val *made = (yyjson_val *)(void *)room;

    return yyjson_read_number(value, made, YYJSON_READ_BIGNUM_AS_RAW, NULL,
                              NULL) != NULL
               ? (const kl_value *)made
               : NULL;
}

const kl_value *kl_cursor_scalar(const char *value, const char *end,
                                 kl_scalar *room)
{
    const char *stop;

    switch (value != NULL ? *value : 'n') {
    case '"':
        stop = kl__string_stop(value + 1, end);
        return *stop == '"' ? kl__cursor_string(
                                  value + 1, (size_t)(stop - value - 1), room)
                            : NULL;
    case '{':
    case '[':
        return NULL;
    case 't':
        return make_word(YYJSON_TYPE_BOOL, YYJSON_SUBTYPE_TRUE, room);
    case 'f':
        return make_word(YYJSON_TYPE_BOOL, YYJSON_SUBTYPE_FALSE, room);
    case 'n':
        return make_word(YYJSON_TYPE_NULL, YYJSON_SUBTYPE_NONE, room);
    default:
        return read_number(value, room);
    }
}
