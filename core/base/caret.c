/*
 * caret.c - see caret.h.
 */
#include "base/caret.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_SHOWN = 200 };

/* The caret stands at the right place only if each byte before it takes one
 * column. */
static bool can_be_shown(const char *text)
{
    size_t length = 0;

    for (; text[length] != '\0'; length++) {
        if (text[length] < ' ' || text[length] > '~') {
            return false;
        }
    }
    return length <= LONGEST_SHOWN;
}

kl_code kl__caret_error(kl_error *err, const kl__caret *at, const char *format,
                        ...)
{
    char message[512];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (!can_be_shown(at->text)) {
        return kl_error_set(err, KL_EINVAL, "%s, character %zu: %s", at->what,
                            at->position + 1, message);
    }
    return kl_error_set(
        err, KL_EINVAL, "%s, character %zu: %s\n    %s\n    %*s^", at->what,
        at->position + 1, message, at->text, (int)at->position, "");
}
