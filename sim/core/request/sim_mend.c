/*
 * sim_mend.c - see sim_mend.h. The code does not look where strings begin:
 * outside of strings such bytes and escapes are errors, and U+FFFD is one too.
 */
#include "sim/core/request/sim_mend.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

enum { ESCAPE = 6 }; /* the length of "\u0000" */

static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at =
        memchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c, 16);

    return at != NULL ? (int)(at - digits) : -1;
}

/* The code unit of the \u escape at `at`; -1: there is none. */
static int unit_at(const char *at, const char *end)
{
    int unit = 0;

    if (end - at < ESCAPE || at[0] != '\\' || at[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < ESCAPE; i++) {
        const int digit = digit_of(at[i]);

        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high(int unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(int unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The length of the escape after a backslash; 0: it is half of a surrogate
 * pair. */
static size_t escape_at(const char *at, const char *end)
{
    const int unit = unit_at(at, end);

    if (is_high(unit)) {
        return is_low(unit_at(at + ESCAPE, end)) ? (size_t)ESCAPE * 2 : 0;
    }
    if (is_low(unit)) {
        return 0;
    }
    return end - at > 1 ? 2 : 1;
}

/* The length of the UTF-8 character; 0: it is malformed. */
static size_t character_at(const char *text, const char *end)
{
    const unsigned char *at = (const unsigned char *)text;
    const size_t length = *at < 0x80   ? 1
                          : *at < 0xc2 ? 0
                          : *at < 0xe0 ? 2
                          : *at < 0xf0 ? 3
                          : *at < 0xf5 ? 4
                                       : 0;

    if (length > (size_t)(end - text)) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* Overlong, a surrogate, or above U+10FFFF. */
    if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
        (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f)) {
        return 0;
    }
    return length;
}

bool kl__sim_mend(const char *json, size_t length, kl__buf *out)
{
    const char *const end = json + length;
    bool changed = false;

    for (const char *at = json; at < end && !out->failed;) {
        const size_t sound =
            *at == '\\' ? escape_at(at, end) : character_at(at, end);

        if (sound != 0) {
            kl__buf_append(out, at, sound);
            at += sound;
        } else {
            kl__buf_puts(out, replacement);
            at += *at == '\\' ? ESCAPE : 1;
            changed = true;
        }
    }
    return changed && !out->failed;
}
