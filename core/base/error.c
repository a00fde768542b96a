/*
 * error.c - the names of error codes, and the functions that fill a kl_error of
 * the caller.
 */
#include "kubelua/error.h"

#include "base/utf8.h"
#include "kubelua/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *kl_code_name(kl_code code)
{
    static const char *const names[] = {
#define KL_CODE_NAME(constant, name, meaning) name,
        KL_CODE_LIST(KL_CODE_NAME)
#undef KL_CODE_NAME
    };
    size_t count = sizeof(names) / sizeof(names[0]);

    return (size_t)code < count ? names[code] : "internal";
}

/* Formats a message of at most `size` bytes that a terminal can show. */
static void write_message(char *to, size_t size, const char *format,
                          va_list args)
{
    char text[KL_ERROR_MESSAGE_SIZE];

    vsnprintf(text, sizeof(text), format, args);
    kl_text_escape(to, size, text, kl__utf8_whole(text, strlen(text)),
                   KL_INDENTED_LINES);
}

kl_code kl_error_set(kl_error *err, kl_code code, const char *format, ...)
{
    va_list args;

    if (err == NULL) {
        return code;
    }
    err->code = code;
    err->http_status = 0;
    err->retry_after_ms = -1;
    va_start(args, format);
    write_message(err->message, sizeof(err->message), format, args);
    va_end(args);
    return code;
}

void kl_error_prefix(kl_error *err, const char *format, ...)
{
    char message[KL_ERROR_MESSAGE_SIZE];
    va_list args;
    size_t used;

    if (err == NULL) {
        return;
    }
    memcpy(message, err->message, sizeof(message));
    va_start(args, format);
    write_message(err->message, sizeof(err->message), format, args);
    va_end(args);
    used = strlen(err->message);
    snprintf(err->message + used, sizeof(err->message) - used, ": %s", message);
    used = strlen(err->message);
    err->message[kl__utf8_whole(err->message, used)] = '\0';
}
