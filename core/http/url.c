/*
 * url.c - see url.h.
 */
#include "http/url.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Without isalnum(), which depends on the host's locale. */
static bool is_unreserved(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
           byte == '_' || byte == '~';
}

void kl__url_encode(kl__buf *out, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";

    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (is_unreserved(byte)) {
            kl__buf_putc(out, *text);
        } else {
            char encoded[3] = {'%', digits[byte >> 4], digits[byte & 15]};

            kl__buf_append(out, encoded, sizeof(encoded));
        }
    }
}

void kl__url_query(kl__buf *out, const char *name, const char *value)
{
    bool has_query;

    if (value == NULL) {
        return;
    }
    has_query =
        out->length != 0 && memchr(out->bytes, '?', out->length) != NULL;
    kl__buf_putc(out, has_query ? '&' : '?');
    kl__url_encode(out, name);
    kl__buf_putc(out, '=');
    kl__url_encode(out, value);
}

/* The value of a hexadecimal digit; -1: not a digit. */
static int digit_of(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    if (byte >= 'a' && byte <= 'f') {
        return byte - 'a' + 10;
    }
    if (byte >= 'A' && byte <= 'F') {
        return byte - 'A' + 10;
    }
    return -1;
}

size_t kl__url_decode(char *text)
{
    char *out = text;

    for (const char *in = text; *in != '\0'; in++) {
        int high = *in == '%' ? digit_of(in[1]) : -1;
        int low = high >= 0 ? digit_of(in[2]) : -1;

        if (low >= 0) {
            *out++ = (char)(high * 16 + low);
            in += 2;
        } else {
            *out++ = *in;
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

void kl__url_show(char *out, size_t size, const char *url)
{
    const char *slashes = strstr(url, "://");
    const char *host = slashes != NULL ? slashes + 3 : url;
    const char *at = strrchr(host, '@'); /* a password may have an "@" too */

    if (at == NULL) {
        snprintf(out, size, "%s", url);
    } else {
        snprintf(out, size, "%.*s***%s", (int)(host - url), url, at);
    }
}
