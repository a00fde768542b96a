/*
 * quote.c - see quote.h.
 */
#include "json/quote.h"

/* The number of bytes that follow the first byte of a character; -1: no
 * character begins with it. The bounds of the second byte exclude overlong
 * forms, surrogates and characters above U+10FFFF. */
static int count_following(unsigned char first, unsigned char *low,
                           unsigned char *high)
{
    *low = 0x80;
    *high = 0xBF;
    if (first < 0x80) {
        return 0;
    }
    if (first >= 0xC2 && first <= 0xDF) {
        return 1;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        *low = first == 0xE0 ? 0xA0 : 0x80;
        *high = first == 0xED ? 0x9F : 0xBF;
        return 2;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        *low = first == 0xF0 ? 0x90 : 0x80;
        *high = first == 0xF4 ? 0x8F : 0xBF;
        return 3;
    }
    return -1;
}

bool kl__utf8_is_valid(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;

    while (at < end) {
        unsigned char low, high;
        int more = count_following(*at++, &low, &high);

        if (more < 0 || end - at < more) {
            return false;
        }
        for (; more > 0; more--, at++) {
            if (*at < low || *at > high) {
                return false;
            }
            low = 0x80;
            high = 0xBF;
        }
    }
    return true;
}

static void put_escaped(kl__buf *out, char byte)
{
    switch (byte) {
    case '"':
    case '\\':
        kl__buf_putc(out, '\\');
        kl__buf_putc(out, byte);
        break;
    case '\n':
        kl__buf_puts(out, "\\n");
        break;
    case '\r':
        kl__buf_puts(out, "\\r");
        break;
    case '\t':
        kl__buf_puts(out, "\\t");
        break;
    default:
        kl__buf_printf(out, "\\u%04x", (unsigned)byte);
        break;
    }
}

void kl__quote(kl__buf *out, const char *text, size_t length)
{
    const char *end = text + length;

    kl__buf_putc(out, '"');
    for (const char *at = text; at < end;) {
        const char *from = at;

        while (at < end && *at != '"' && *at != '\\' &&
               (unsigned char)*at >= ' ') {
            at++;
        }
        kl__buf_append(out, from, (size_t)(at - from));
        if (at < end) {
            put_escaped(out, *at++);
        }
    }
    kl__buf_putc(out, '"');
}
