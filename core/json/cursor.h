/*
 * cursor.h - kubelua/cursor.h reads values where they stand in a JSON text;
 * this is what only the core calls of it. The text, `end` and a value are as
 * there. All functions are thread-safe.
 */
#ifndef KL_JSON_CURSOR_H
#define KL_JSON_CURSOR_H

#include "json/skip.h"
#include "kubelua/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns the end of the array or object that `at` is in. `at` is in none of
 * its strings, and in no array or object within it. */
const char *kl__cursor_leave(const char *at, const char *end);
/* The same with these instructions, which the machine has: for specs. */
const char *kl__cursor_leave_by(kl__skip_way way, const char *at,
                                const char *end);

/* Makes a KL_STRING of `length` bytes in `room`; it borrows them. */
const kl_value *kl__cursor_string(const char *bytes, size_t length,
                                  kl_scalar *room);

/* True if these are the bytes of a string, such as a member's name. The string
 * ends before `end`; its escapes may be no JSON. */
bool kl__cursor_is(const char *string, const char *end, const char *bytes,
                   size_t length);

/* True if the bytes may have a member of that name: they have the name between
 * quotes, or an escape. False for most bytes that have none; far faster than to
 * look at each member. */
bool kl__cursor_may_have(const char *at, const char *end, const char *name,
                         size_t length);

/* True if the current part is a member of that name. Inline, as most names have
 * another length: the bytes between the quotes are never fewer than those of
 * the name, and as many if they have no escapes. */
static inline bool kl__cursor_has_name(const kl_cursor *self, const char *name,
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
