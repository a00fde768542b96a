/*
 * utf8.c - see utf8.h.
 */
#include "base/utf8.h"

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

size_t kl__utf8_length(const char *at, size_t left)
{
    const unsigned char *bytes = (const unsigned char *)at;
    unsigned char low, high;
    int more = left > 0 ? count_following(bytes[0], &low, &high) : -1;

    if (more < 0 || left - 1 < (size_t)more) {
        return 0;
    }
    for (int i = 1; i <= more; i++) {
        if (bytes[i] < low || bytes[i] > high) {
            return 0;
        }
        low = 0x80;
        high = 0xBF;
    }
    return (size_t)more + 1;
}

size_t kl__utf8_whole(const char *text, size_t length)
{
    size_t last = length;
    unsigned char low, high;

    /* Back to the first byte of the last character. */
    while (last > 0 && length - last < 4) {
        int more = count_following((unsigned char)text[--last], &low, &high);

        if (more >= 0) {
            return length - last <= (size_t)more ? last : length;
        }
    }
    return length;
}
