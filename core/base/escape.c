/*
 * escape.c - kl_text_escape of kubelua/log.h: what others have written (names,
 * messages of servers, output of programs) cannot forge a line of a log, nor
 * control the terminal that shows it. kl_log and kl_error_set use it, and Lua's
 * core.escape.
 */
#include "base/utf8.h"
#include "kubelua/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The longest escape: "\u202e". */
enum { ESCAPE_SIZE = 7 };

/* The code point of a character of two or three bytes; 0: of four. */
static unsigned decode_short(const char *at, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)at;

    if (bytes == 2) {
        return (byte[0] & 0x1FU) << 6 | (byte[1] & 0x3FU);
    }
    return bytes == 3 ? (byte[0] & 0x0FU) << 12 | (byte[1] & 0x3FU) << 6 |
                            (byte[2] & 0x3FU)
                      : 0;
}

/* True for C1 controls, the controls of bidirectional text (UAX 9), and the
 * separators of lines and paragraphs. */
static bool is_obeyed(unsigned point)
{
    return (point >= 0x80 && point <= 0x9F) || point == 0x061C ||
           point == 0x200E || point == 0x200F ||
           (point >= 0x2028 && point <= 0x202E) ||
           (point >= 0x2066 && point <= 0x2069);
}

/* Writes the escape of the character at `at`, "" if it is shown as it is.
 * Returns how many bytes the character has. */
static size_t escape_one(char *escape, const char *at, size_t left)
{
    unsigned char byte = (unsigned char)*at;
    size_t bytes = byte < 0x80 ? 1 : kl__utf8_length(at, left);

    *escape = '\0';
    if (bytes == 0) {
        snprintf(escape, ESCAPE_SIZE, "\\x%02x", byte);
        return 1;
    }
    if (bytes > 1 && is_obeyed(decode_short(at, bytes))) {
        snprintf(escape, ESCAPE_SIZE, "\\u%04x", decode_short(at, bytes));
    } else if (byte == '\0' || byte == '\n' || byte == '\r') {
        snprintf(escape, ESCAPE_SIZE, "\\%c",
                 byte == '\0'   ? '0'
                 : byte == '\n' ? 'n'
                                : 'r');
    } else if ((byte < ' ' && byte != '\t') || byte == 0x7F) {
        snprintf(escape, ESCAPE_SIZE, "\\x%02x", byte);
    }
    return bytes;
}

/* A break that belongs to the form of the text: how many bytes of breaks and
 * blanks stand at `at`, and what they become. 0: any other break. */
static size_t find_layout(const char *at, size_t left, kl_text_breaks breaks,
                          const char **shown)
{
    static const char traceback[] = "stack traceback:";
    const size_t size = sizeof(traceback) - 1;
    size_t span = 1;

    if (breaks == KL_INDENTED_LINES && left > 2 && at[1] == ' ' &&
        at[2] == ' ') {
        *shown = "\n";
        return 1;
    }
    *shown = "; ";
    while (span < left && strchr("\n\t ", at[span]) != NULL &&
           at[span] != '\0') {
        span++;
    }
    if (at[span - 1] != '\n' ||
        (left - span >= size && memcmp(at + span, traceback, size) == 0)) {
        return span;
    }
    return 0;
}

/* Puts the bytes at the end of `to`, if they and a NUL fit. */
static bool put_bytes(char *to, size_t size, size_t *used, const char *bytes,
                      size_t length)
{
    if (size - *used <= length) {
        return false;
    }
    memcpy(to + *used, bytes, length);
    *used += length;
    return true;
}

size_t kl_text_escape(char *to, size_t size, const char *text, size_t length,
                      kl_text_breaks breaks)
{
    size_t at = 0, used = 0;
    bool fits = true;

    while (length > 0 && text[length - 1] == '\n') {
        length--;
    }
    while (fits && at < length) {
        char escape[ESCAPE_SIZE];
        const char *shown = NULL;
        size_t bytes = text[at] == '\n'
                           ? find_layout(text + at, length - at, breaks, &shown)
                           : 0;

        if (bytes == 0) {
            bytes = escape_one(escape, text + at, length - at);
            shown = *escape != '\0' ? escape : NULL;
        }
        fits = put_bytes(to, size, &used, shown != NULL ? shown : text + at,
                         shown != NULL ? strlen(shown) : bytes);
        at += bytes;
    }
    to[used] = '\0';
    return used;
}
