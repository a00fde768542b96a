/*
 * quote.c - see quote.h.
 */
#include "json/quote.h"

#include "base/utf8.h"

bool kl__utf8_is_valid(const char *text, size_t length)
{
    const char *end = text + length;

    while (text < end) {
        size_t bytes = (unsigned char)*text < 0x80
                           ? 1
                           : kl__utf8_length(text, (size_t)(end - text));

        if (bytes == 0) {
            return false;
        }
        text += bytes;
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
