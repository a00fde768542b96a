/*
 * base64.c - see base64.h.
 */
#include "base/base64.h"

#include "kubelua/text.h"

#include <stdint.h>

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Appends the bytes of one group of four, of which `padding` are '='. */
static void append_group(kl__buf *out, uint32_t group, int padding)
{
    char bytes[3] = {(char)(group >> 16 & 0xff), (char)(group >> 8 & 0xff),
                     (char)(group & 0xff)};

    kl__buf_append(out, bytes, (size_t)(3 - padding));
}

bool kl__base64_decode(kl__buf *out, const char *text, size_t length)
{
    uint32_t group = 0;
    int filled = 0, padding = 0;

    kl__buf_reserve(out, length / 4 * 3 + 3);
    for (size_t i = 0; i < length; i++) {
        int digit = digit_of(text[i]);

        if (text[i] == '\n' || text[i] == '\r') {
            continue;
        }
        if (padding > 0 && (text[i] != '=' || filled == 0)) {
            return false; /* something after the end */
        }
        if (text[i] == '=' && filled >= 2) {
            padding++;
            digit = 0;
        }
        if (digit < 0) {
            return false;
        }
        group = group << 6 | (uint32_t)digit;
        if (++filled == 4) {
            append_group(out, group, padding);
            group = 0;
            filled = 0;
        }
    }
    return filled == 0 && !out->failed;
}

long kl__base64_wrong(const char *text, size_t length)
{
    size_t in_group = 0, begun = 0, padding = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n' || text[i] == '\r') {
            continue;
        }
        if (in_group == 0 && padding == 0) {
            begun = i;
        }
        if (padding > 0 && (text[i] != '=' || in_group + padding == 4)) {
            return (long)i;
        }
        if (text[i] == '=' && in_group >= 2) {
            padding++;
        } else if (digit_of(text[i]) >= 0) {
            in_group = (in_group + 1) % 4;
        } else {
            return (long)i;
        }
    }
    if (in_group == 0 || in_group + padding == 4) {
        return -1;
    }
    return padding > 0 ? (long)length : (long)begun;
}

void kl__base64_encode(kl__buf *out, const void *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t group = (uint32_t)byte[i] << 16;

        group |= left > 1 ? (uint32_t)byte[i + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)byte[i + 2] : 0;
        kl__buf_putc(out, digits[group >> 18]);
        kl__buf_putc(out, digits[group >> 12 & 63]);
        kl__buf_putc(out, left > 1 ? digits[group >> 6 & 63] : '=');
        kl__buf_putc(out, left > 2 ? digits[group & 63] : '=');
    }
}

void kl__base64url_encode(kl__buf *out, const void *bytes, size_t length)
{
    size_t from = out->length;

    kl__base64_encode(out, bytes, length);
    while (out->length > from && out->bytes[out->length - 1] == '=') {
        out->bytes[--out->length] = '\0';
    }
    for (size_t i = from; i < out->length; i++) {
        out->bytes[i] = out->bytes[i] == '+'   ? '-'
                        : out->bytes[i] == '/' ? '_'
                                               : out->bytes[i];
    }
}

char *kl_base64_encode(const void *bytes, size_t length, size_t *written,
                       kl_error *err)
{
    kl__buf out = {0};
    char *text;

    kl__base64_encode(&out, bytes, length);
    text = kl__buf_take(&out, written);
    if (text == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for base64");
    }
    return text;
}

char *kl_base64_decode(const char *text, size_t length, size_t *decoded,
                       kl_error *err)
{
    kl__buf out = {0};
    long wrong = kl__base64_wrong(text, length);
    char *bytes;

    if (wrong >= 0) {
        kl_error_set(err, KL_EPARSE, "illegal base64 data at input byte %ld",
                     wrong);
        return NULL;
    }
    kl__base64_decode(&out, text, length);
    bytes = kl__buf_take(&out, decoded);
    if (bytes == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for base64");
    }
    return bytes;
}
