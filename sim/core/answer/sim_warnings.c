/*
 * sim_warnings.c - see sim_warnings.h. The limits are kube-apiserver's: if all
 * texts together have more than 4096 characters, each is cut to 256.
 */
#include "sim/core/answer/sim_warnings.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CHARACTERS = 4096, MAX_CHARACTERS_CUT = 256, FORMATTED_SIZE = 4096 };

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

static bool is_follower(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The length of the first `limit` characters in bytes; *characters: how many
 * these are. */
static size_t measure_text(const char *text, size_t limit, size_t *characters)
{
    size_t length = 0;

    *characters = 0;
    while (text[length] != '\0') {
        if (!is_follower(text[length])) {
            if (*characters == limit) {
                break;
            }
            ++*characters;
        }
        length++;
    }
    return length;
}

static bool are_too_long(const kl__sim_warnings *warnings)
{
    size_t total = 0, characters;

    for (size_t i = 0; i < warnings->count; i++) {
        measure_text(warnings->texts[i], SIZE_MAX, &characters);
        total += characters;
    }
    return total > MAX_CHARACTERS;
}

/* The next text, and how much of it is shown; NULL at the end. */
static const char *next_warning(const kl__sim_warnings *warnings,
                                kl__sim_warnings_iter *iter, size_t *length)
{
    bool cut = are_too_long(warnings);
    size_t characters;
    const char *text;

    if (iter->index == warnings->count || iter->written >= MAX_CHARACTERS) {
        return NULL;
    }
    text = warnings->texts[iter->index++];
    *length =
        measure_text(text, cut ? MAX_CHARACTERS_CUT : SIZE_MAX, &characters);
    iter->written += characters;
    return text;
}

/* Appends the next text. False: there are no more. */
static bool put_warning(const kl__sim_warnings *warnings,
                        kl__sim_warnings_iter *iter, kl__buf *out)
{
    size_t length;
    const char *text = next_warning(warnings, iter, &length);

    if (text != NULL) {
        kl__buf_append(out, text, length);
    }
    return text != NULL;
}

bool kl__sim_warnings_header(const kl__sim_warnings *warnings,
                             kl__sim_warnings_iter *iter, kl__buf *out)
{
    size_t length;
    const char *text = next_warning(warnings, iter, &length);

    if (text == NULL) {
        return false;
    }
    kl__buf_puts(out, "299 - \"");
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"' || text[i] == '\\') {
            kl__buf_putc(out, '\\');
        }
        kl__buf_putc(out, text[i]);
    }
    kl__buf_putc(out, '"');
    return true;
}

void kl__sim_warnings_lines(const kl__sim_warnings *warnings, kl__buf *out)
{
    kl__sim_warnings_iter iter = {0};

    while (iter.index < warnings->count) {
        if (iter.index != 0) {
            kl__buf_putc(out, '\n');
        }
        if (!put_warning(warnings, &iter, out)) {
            return;
        }
    }
}
