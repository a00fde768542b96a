/*
 * definition_parts.c - see definition_parts.h.
 */
#include "sim/core/schema/definition_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t kl__definition_enter(kl__definition *self, const char *format, ...)
{
    size_t before = self->path.length;
    va_list arguments, again;
    char *room;
    int length;

    va_start(arguments, format);
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    room = kl__buf_reserve(&self->path, (size_t)length + 1);
    if (room != NULL) {
        vsnprintf(room, (size_t)length + 1, format, arguments);
        self->path.length += (size_t)length;
    }
    va_end(arguments);
    return before;
}

void kl__definition_leave(kl__definition *self, size_t before)
{
    self->path.length = before;
    if (self->path.bytes != NULL) {
        self->path.bytes[before] = '\0';
    }
}

/* Appends a member to the path and returns the path. The caller goes back with
 * kl__definition_leave(self, *before). */
static const char *append_member_path(kl__definition *self, const char *member,
                                      size_t *before)
{
    *before = kl__definition_enter(self, "%s", member);
    self->errors->failed |= self->path.failed;
    return self->path.bytes != NULL ? self->path.bytes : "";
}

void kl__definition_add(kl__definition *self, kl__field_fault fault,
                        const char *member, const char *detail)
{
    size_t before;

    kl__field_add(self->errors, fault,
                  append_member_path(self, member, &before), NULL, detail);
    kl__definition_leave(self, before);
}

void kl__definition_refuse(kl__definition *self, const char *member,
                           const char *text, const char *detail)
{
    size_t before;

    kl__field_invalid(self->errors, append_member_path(self, member, &before),
                      text, "%s", detail);
    kl__definition_leave(self, before);
}

void kl__definition_refuse_value(kl__definition *self, const char *member,
                                 const kl_value *value, const char *detail)
{
    size_t before;

    kl__field_invalid_value(self->errors,
                            append_member_path(self, member, &before), value,
                            "%s", detail);
    kl__definition_leave(self, before);
}

void kl__definition_unsupported(kl__definition *self, const char *member,
                                const char *text, const char *supported)
{
    kl__buf quoted = {0}, detail = {0};
    size_t before;

    kl__go_quote(&quoted, text, strlen(text));
    kl__buf_printf(&detail, "supported values: %s", supported);
    if (quoted.failed || detail.failed) {
        self->errors->failed = true;
    } else {
        kl__field_add(self->errors, KL__FIELD_UNSUPPORTED,
                      append_member_path(self, member, &before), quoted.bytes,
                      detail.bytes);
        kl__definition_leave(self, before);
    }
    kl__buf_deinit(&quoted);
    kl__buf_deinit(&detail);
}

const kl_value *kl__definition_object(const kl_value *object, const char *name)
{
    const kl_value *member = kl_value_get(object, name);

    return kl_value_type(member) == KL_OBJECT ? member : NULL;
}

const char *kl__definition_text(const kl_value *object, const char *name)
{
    const char *text = kl_value_string(kl_value_get(object, name), NULL);

    return text != NULL ? text : "";
}

bool kl__definition_has(const kl_value *object, const char *name)
{
    return *kl__definition_text(object, name) != '\0';
}
