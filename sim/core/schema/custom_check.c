/*
 * custom_check.c - see custom_check.h: the path of the value that is checked,
 * and the errors about it.
 */
#include "sim/core/schema/custom_check.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

const char *kl__check_name(const kl__check *check)
{
    return check->name.bytes != NULL ? check->name.bytes : "";
}

/* The path of the current value, or of a member of it (not NULL), as causes
 * name it. Freed by the caller; NULL: out of memory. */
static char *field_of(const kl__check *check, const char *member)
{
    const char *name = kl__check_name(check);
    kl__buf field = {0};

    kl__buf_puts(&field, check->prefix);
    if (*name != '\0') {
        kl__buf_puts(&field, *check->prefix != '\0' ? "." : "");
        kl__buf_puts(&field, name);
    }
    if (member != NULL) {
        kl__buf_puts(&field, field.length != 0 ? "." : "");
        kl__buf_puts(&field, member);
    }
    if (field.length == 0) {
        kl__buf_puts(&field, "<nil>");
    }
    if (field.failed) {
        kl__buf_deinit(&field);
        return NULL;
    }
    return kl__buf_take(&field, NULL);
}

static void add_check_error(kl__check *check, kl__field_fault fault,
                            const char *value, const char *text)
{
    char *field = field_of(check, NULL);

    if (field == NULL) {
        check->outcome->errors.failed = true;
        return;
    }
    kl__field_add(&check->outcome->errors, fault, field, value, text);
    kl__free(field);
}

void kl__check_add(kl__check *check, kl__field_fault fault, const char *value,
                   const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    add_check_error(check, fault, value, text);
}

void kl__check_refuse(kl__check *check, const kl__node *value,
                      const char *format, ...)
{
    char *shown = kl__field_value(value), text[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    check->outcome->errors.failed |= shown == NULL;
    add_check_error(check, KL__FIELD_INVALID, shown, text);
    kl__free(shown);
}

void kl__check_complain(kl__check *check, const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    kl__field_add(&check->outcome->errors, KL__FIELD_INVALID,
                  *check->prefix != '\0' ? check->prefix : "<nil>", "\"\"",
                  text);
}

void kl__check_miss(kl__check *check, const char *member)
{
    char *field = field_of(check, member);

    if (field == NULL) {
        check->outcome->errors.failed = true;
        return;
    }
    kl__field_add(&check->outcome->errors, KL__FIELD_REQUIRED, field, NULL, "");
    kl__free(field);
}
