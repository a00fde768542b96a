/*
 * str.c - see str.h.
 */
#include "base/str.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *kl__strndup(const char *text, size_t length)
{
    char *copy;

    if (text == NULL) {
        return NULL;
    }
    copy = kl__malloc(length + 1);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *kl__strdup(const char *text)
{
    return text != NULL ? kl__strndup(text, strlen(text)) : NULL;
}

char *kl__strprintf(const char *format, ...)
{
    va_list args;
    char *text;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = length < 0 ? NULL : kl__malloc((size_t)length + 1);
    if (text == NULL) {
        return NULL;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

bool kl__strjoin(char *to, size_t size, const char *const parts[3])
{
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(parts[i]);

        if (length >= size) {
            return false;
        }
        memcpy(to, parts[i], length + 1);
        to += length;
        size -= length;
    }
    return true;
}

bool kl__streq(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return strcmp(a, b) == 0;
}

void kl__wipe(void *bytes, size_t length)
{
    volatile unsigned char *byte = bytes;

    while (length-- > 0) {
        *byte++ = 0;
    }
}

bool kl__stramong(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}
