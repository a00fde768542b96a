/*
 * sim_warnings.c - see sim_warnings.h.
 */
#include "sim/core/answer/sim_warnings.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FORMATTED_SIZE = 4096 };

static bool is_told(const kl__sim_warnings *warnings, const char *text)
{
    for (size_t i = 0; i < warnings->count; i++) {
        if (strcmp(warnings->texts[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* True if a text has control characters, which a header cannot contain: a real
 * server drops such a text. */
static bool has_control(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';
         at++) {
        if (*at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0)) {
            return true;
        }
    }
    return false;
}

kl_code kl__sim_warn(kl__sim_answer *answer, const char *text, kl_error *err)
{
    kl__sim_warnings *warnings = &answer->warnings;
    char *copy;
    char **texts;

    if (*text == '\0' || has_control(text) || is_told(warnings, text)) {
        return KL_OK;
    }
    texts =
        kl__realloc(warnings->texts, (warnings->count + 1) * sizeof(*texts));
    if (texts != NULL) {
        warnings->texts = texts;
    }
    copy = texts != NULL ? kl__strdup(text) : NULL;
    if (copy == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a warning");
    }
    texts[warnings->count++] = copy;
    return KL_OK;
}

kl_code kl__sim_warnf(kl__sim_answer *answer, kl_error *err, const char *format,
                      ...)
{
    char text[FORMATTED_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    kl__sim_make_utf8(text); /* the cut may be inside a character */
    return kl__sim_warn(answer, text, err);
}

void kl__sim_warnings_deinit(kl__sim_warnings *warnings)
{
    for (size_t i = 0; i < warnings->count; i++) {
        kl__free(warnings->texts[i]);
    }
    kl__free(warnings->texts);
    *warnings = (kl__sim_warnings){0};
}

bool kl__sim_warnings_header(const kl__sim_warnings *warnings, size_t *index,
                             kl__buf *out)
{
    if (*index == warnings->count) {
        return false;
    }
    kl__buf_puts(out, "299 - \"");
    for (const char *at = warnings->texts[(*index)++]; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            kl__buf_putc(out, '\\');
        }
        kl__buf_putc(out, *at);
    }
    kl__buf_putc(out, '"');
    return true;
}

void kl__sim_warnings_lines(const kl__sim_warnings *warnings, kl__buf *out)
{
    for (size_t i = 0; i < warnings->count; i++) {
        kl__buf_puts(out, i != 0 ? "\n" : "");
        kl__buf_puts(out, warnings->texts[i]);
    }
}
