/*
 * buf.c - see buf.h.
 */
#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

void kl__buf_deinit(kl__buf *buf)
{
    kl__free(buf->bytes);
    *buf = (kl__buf){0};
}

void kl__buf_reset(kl__buf *buf)
{
    buf->length = 0;
    buf->failed = false;
    if (buf->bytes != NULL) {
        buf->bytes[0] = '\0';
    }
}

char *kl__buf_reserve(kl__buf *buf, size_t extra)
{
    size_t capacity = buf->capacity != 0 ? buf->capacity : FIRST_CAPACITY;
    char *bytes;

    if (buf->failed || extra > SIZE_MAX / 4 - buf->length) {
        buf->failed = true;
        return NULL;
    }
    while (capacity < buf->length + extra + 1) {
        capacity *= 2;
    }
    if (capacity > buf->capacity) {
        bytes = kl__realloc(buf->bytes, capacity);
        if (bytes == NULL) {
            buf->failed = true;
            return NULL;
        }
        buf->bytes = bytes;
        buf->capacity = capacity;
    }
    return buf->bytes + buf->length;
}

void kl__buf_append(kl__buf *buf, const void *bytes, size_t length)
{
    char *end = kl__buf_reserve(buf, length);

    if (end == NULL) {
        return;
    }
    if (length != 0) {
        memcpy(end, bytes, length);
    }
    buf->length += length;
    buf->bytes[buf->length] = '\0';
}

void kl__buf_puts(kl__buf *buf, const char *text)
{
    kl__buf_append(buf, text, strlen(text));
}

void kl__buf_putc(kl__buf *buf, char byte)
{
    kl__buf_append(buf, &byte, 1);
}

void kl__buf_printf(kl__buf *buf, const char *format, ...)
{
    va_list args;
    char *end;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    end = length < 0 ? NULL : kl__buf_reserve(buf, (size_t)length);
    if (end == NULL) {
        buf->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(end, (size_t)length + 1, format, args);
    va_end(args);
    buf->length += (size_t)length;
}

void kl__buf_consume(kl__buf *buf, size_t length)
{
    if (length == 0) {
        return;
    }
    buf->length -= length;
    memmove(buf->bytes, buf->bytes + length, buf->length + 1);
}

char *kl__buf_take(kl__buf *buf, size_t *length)
{
    char *bytes;

    kl__buf_append(buf, "", 0);
    if (buf->failed) {
        kl__buf_deinit(buf);
        return NULL;
    }
    bytes = buf->bytes;
    if (length != NULL) {
        *length = buf->length;
    }
    *buf = (kl__buf){0};
    return bytes;
}
