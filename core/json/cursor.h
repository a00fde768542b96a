/*
 * cursor.h - reads values where they stand in a JSON text, without parsing the
 * rest of it: for readers of a few fields of an object, to which a tree would
 * cost more than all else.
 *
 * The text must be valid JSON without whitespace outside of strings, and a NUL
 * must stand behind it: the text of a kl_object is so. `end` is always the end
 * of the whole text, where that NUL is. A value is given by its first byte; for
 * NULL, which means that there is no such value, every function does as for a
 * JSON null. All functions are thread-safe.
 */
#ifndef KL_JSON_CURSOR_H
#define KL_JSON_CURSOR_H

#include "json/skip.h"
#include "kubelua/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the end of a value: the byte behind it. */
const char *kl__cursor_skip(const char *value, const char *end);

/* Returns the end of the array or object that `at` is in. `at` is in none of
 * its strings, and in no array or object within it. */
const char *kl__cursor_leave(const char *at, const char *end);
/* The same with these instructions, which the machine has: for specs. */
const char *kl__cursor_leave_by(kl__skip_way way, const char *at,
                                const char *end);

/* The member of that name, `length` bytes long (the first, if there are
 * several), or NULL: as kl_value_get_n. */
const char *kl__cursor_member(const char *value, const char *end,
                              const char *name, size_t length);

/* The element at `index`, from 0, or NULL: as kl_value_at. */
const char *kl__cursor_element(const char *value, const char *end,
                               size_t index);

/* A walk: kubelua/cursor.h. */
typedef kl_cursor kl__cursor;

/* Begins a walk. Of a value that is neither array nor object, it has no
 * steps. */
void kl__cursor_begin(kl__cursor *self, const char *value, const char *end);

/* Goes to the next member or element. False: there is none; then self->at is
 * the end of the array or object. A caller that knows the end of the current
 * value may set self->at to it before: then it is not looked for. */
bool kl__cursor_next(kl__cursor *self);

typedef kl_scalar kl__scalar;

/*
 * Makes a value of kubelua/value.h in `room`, the same as in the tree of the
 * text; it borrows from the text. NULL: an array or object, or a string with
 * escapes (kl__cursor_decode). Unlike in a tree, no NUL stands behind the bytes
 * of a KL_STRING or KL_NUMBER.
 */
const kl_value *kl__cursor_scalar(const char *value, const char *end,
                                  kl__scalar *room);

/* Makes a KL_STRING of `length` bytes in `room`; it borrows them. */
const kl_value *kl__cursor_string(const char *bytes, size_t length,
                                  kl__scalar *room);

/* The type of a value, as kl_value_type. */
kl_type kl__cursor_type(const char *value, const char *end);

/* Writes the bytes of a string, with its escapes resolved, to `out`; returns
 * their number: at most that of the bytes between the quotes. */
size_t kl__cursor_decode(const char *string, const char *end, char *out);

/* True if these are the bytes of a string, such as a member's name. */
bool kl__cursor_is(const char *string, const char *end, const char *bytes,
                   size_t length);

/* True if the current part is a member of that name. Inline, as most names have
 * another length: the bytes between the quotes are never fewer than those of
 * the name, and as many if they have no escapes. */
static inline bool kl__cursor_has_name(const kl__cursor *self, const char *name,
                                       size_t length)
{
    const char *raw;
    size_t raw_length;

    if (self->name == NULL) {
        return false;
    }
    raw = self->name + 1;
    raw_length = (size_t)(self->value - strlen("\":") - raw);
    if (raw_length == length) {
        return memcmp(raw, name, length) == 0 &&
               memchr(name, '\\', length) == NULL;
    }
    return raw_length > length && memchr(raw, '\\', raw_length) != NULL &&
           kl__cursor_is(self->name, self->end, name, length);
}

#endif
