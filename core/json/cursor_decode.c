/*
 * cursor_decode.c - the part of cursor.h that resolves escapes in strings.
 */
#include "json/cursor.h"

#include "json/text.h"

#include <string.h>

static unsigned hex_digit(char digit)
{
    return digit <= '9' ? (unsigned)(digit - '0')
                        : (unsigned)((digit | 0x20) - 'a' + 10);
}

static unsigned read_unit(const char *digits)
{
    return hex_digit(digits[0]) << 12 | hex_digit(digits[1]) << 8 |
           hex_digit(digits[2]) << 4 | hex_digit(digits[3]);
}

static size_t put_utf8(char *out, unsigned point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

/* Reads the escape whose backslash is at *at, and moves *at behind it. Writes
 * its 1 to 4 bytes to `out`. */
static size_t read_escape(const char **at, char *out)
{
    static const char kinds[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    const char *kind = *at + 1;
    const char *known = strchr(kinds, *kind);
    unsigned point;

    *at += 2;
    if (*kind != 'u') {
        out[0] = known != NULL ? bytes[known - kinds] : *kind;
        return 1;
    }
    point = read_unit(kind + 1);
    *at += 4;
    if (point >= 0xd800 && point <= 0xdbff) { /* \ud83d\ude00: two units */
        point =
            0x10000 + ((point - 0xd800) << 10) + (read_unit(*at + 2) - 0xdc00);
        *at += 6;
    }
    return put_utf8(out, point);
}

size_t kl_cursor_decode(const char *string, const char *end, char *out)
{
    const char *at = string + 1;
    size_t used = 0;

    for (;;) {
        const char *stop = kl__string_stop(at, end);

        memcpy(out + used, at, (size_t)(stop - at));
        used += (size_t)(stop - at);
        if (stop >= end || *stop == '"') {
            return used;
        }
        at = stop;
        used += read_escape(&at, out + used);
    }
}

/* True if the escape at `at` ends at `end` or before. */
static bool is_whole(const char *at, const char *end)
{
    size_t left = (size_t)(end - at);
    unsigned unit;

    if (left < strlen("\\u0000") || at[1] != 'u') {
        return left >= strlen("\\n") && at[1] != 'u';
    }
    unit = read_unit(at + 2);
    return unit < 0xd800 || unit > 0xdbff || left >= strlen("\\ud83d\\ude00");
}

/* The rest of a string from its first escape on. */
static bool is_decoded(const char *at, const char *end, const char *bytes,
                       size_t length)
{
    char decoded[4];

    while (at < end && *at != '"') {
        size_t count = 1;

        if (*at != '\\') {
            decoded[0] = *at++;
        } else if (is_whole(at, end)) {
            count = read_escape(&at, decoded);
        } else {
            return false;
        }
        if (count > length || memcmp(decoded, bytes, count) != 0) {
            return false;
        }
        bytes += count;
        length -= count;
    }
    return length == 0;
}

bool kl__cursor_is(const char *string, const char *end, const char *bytes,
                   size_t length)
{
    const char *at = string + 1;
    const char *stop = kl__string_stop(at, end);
    size_t plain = (size_t)(stop - at);

    if (*stop == '"') {
        return plain == length && memcmp(at, bytes, length) == 0;
    }
    return plain <= length && memcmp(at, bytes, plain) == 0 &&
           is_decoded(stop, end, bytes + plain, length - plain);
}
