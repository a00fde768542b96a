/*
 * pattern_class.c - see pattern_class.h.
 */
#include "sim/core/schema/pattern_class.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNE = 0x10ffff };

void kl__pattern_refuse(kl__pattern_source *self, const char *what,
                        const char *text, size_t length)
{
    if (self->result != KL__PATTERN_FITS) {
        return;
    }
    self->result = KL__PATTERN_INVALID;
    if (self->why != NULL) {
        kl__buf_printf(self->why, "error parsing regexp: %s: `%.*s`", what,
                       (int)length, text);
    }
}

static void add_range(kl__pattern_source *self, uint32_t low, uint32_t high)
{
    kl__pattern *to = self->to;

    if (to->range_count == to->range_capacity) {
        size_t capacity = to->range_capacity * 2 + 16;
        kl__pattern_range *ranges =
            kl__realloc(to->ranges, capacity * sizeof(*ranges));

        if (ranges == NULL) {
            self->result = KL__PATTERN_ENOMEM;
            return;
        }
        to->ranges = ranges;
        to->range_capacity = capacity;
    }
    to->ranges[to->range_count++] = (kl__pattern_range){low, high};
}

static uint32_t larger_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t smaller_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void kl__pattern_add(kl__pattern_source *self, uint32_t low, uint32_t high)
{
    add_range(self, low, high);
    if ((self->flags & KL__PATTERN_FOLD) == 0) {
        return;
    }
    if (low <= 'Z' && high >= 'A') {
        add_range(self, larger_of(low, 'A') + 32, smaller_of(high, 'Z') + 32);
    }
    if (low <= 'z' && high >= 'a') {
        add_range(self, larger_of(low, 'a') - 32, smaller_of(high, 'z') - 32);
    }
}

/* --- Classes. ------------------------------------------------------------- */

/* Adds ranges; `pairs` has the first and the last character of each. */
static void add_pairs(kl__pattern_source *self, const char *pairs)
{
    for (; *pairs != '\0'; pairs += 2) {
        kl__pattern_add(self, (unsigned char)pairs[0], (unsigned char)pairs[1]);
    }
}

/* Adds all characters outside of these ranges, which are sorted. */
static void add_others(kl__pattern_source *self, const char *pairs)
{
    uint32_t low = 0;

    for (; *pairs != '\0'; pairs += 2) {
        add_range(self, low, (uint32_t)(unsigned char)pairs[0] - 1);
        low = (uint32_t)(unsigned char)pairs[1] + 1;
    }
    add_range(self, low, MAX_RUNE);
}

static const char *pairs_of(char letter)
{
    switch (tolower((unsigned char)letter)) {
    case 'd':
        return "09";
    case 's':
        return "\t\n\f\r  ";
    case 'w':
        return "09AZ__az";
    default:
        return NULL;
    }
}

bool kl__pattern_class(kl__pattern_source *self, bool *negated)
{
    char letter = self->at[1];
    const char *pairs = letter != '\0' ? pairs_of(letter) : NULL;

    if (letter == 'p' || letter == 'P') {
        if (self->result == KL__PATTERN_FITS) {
            self->result = KL__PATTERN_UNKNOWN;
        }
        return true;
    }
    if (pairs == NULL) {
        return false;
    }
    *negated = isupper((unsigned char)letter);
    add_pairs(self, pairs);
    self->at += 2;
    return true;
}

/* Reads a class such as "[:alpha:]" inside brackets; false: there is none
 * here. */
static bool read_posix(kl__pattern_source *self)
{
    static const char *const names[][2] = {{"alnum", "09AZaz"},
                                           {"alpha", "AZaz"},
                                           {"ascii", "\x01\x7f"},
                                           {"blank", "\t\t  "},
                                           {"cntrl", "\x01\x1f\x7f\x7f"},
                                           {"digit", "09"},
                                           {"graph", "!~"},
                                           {"lower", "az"},
                                           {"print", " ~"},
                                           {"punct", "!/:@[`{~"},
                                           {"space", "\t\r  "},
                                           {"upper", "AZ"},
                                           {"word", "09AZ__az"},
                                           {"xdigit", "09AFaf"}};
    const char *end = strstr(self->at, ":]");
    const char *name = self->at + 2;
    bool negated;

    if (self->at[0] != '[' || self->at[1] != ':' || end == NULL) {
        return false;
    }
    negated = *name == '^';
    name += negated;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i][0]) == (size_t)(end - name) &&
            strncmp(names[i][0], name, (size_t)(end - name)) == 0) {
            if (negated) {
                add_others(self, names[i][1]);
            } else {
                add_pairs(self, names[i][1]);
            }
            self->at = end + 2;
            return true;
        }
    }
    kl__pattern_refuse(self, "invalid character class range", self->at,
                       (size_t)(end + 2 - self->at));
    return true;
}

/* --- One character. ------------------------------------------------------- */

/* Reads "\x41" or "\x{41}"; false: an error. */
static bool read_hex(kl__pattern_source *self, uint32_t *rune)
{
    const char *at = self->at + 2;
    bool braced = *at == '{';
    char digits[9];
    size_t count = 0;

    at += braced;
    while (count < (braced ? 8 : 2) && isxdigit((unsigned char)at[count])) {
        digits[count] = at[count];
        count++;
    }
    digits[count] = '\0';
    if (count == 0 || (!braced && count != 2) || (braced && at[count] != '}') ||
        strtoul(digits, NULL, 16) > MAX_RUNE) {
        kl__pattern_refuse(self, "invalid escape sequence", self->at,
                           (size_t)(at + count - self->at));
        return false;
    }
    *rune = (uint32_t)strtoul(digits, NULL, 16);
    self->at = at + count + braced;
    return true;
}

/* Reads "\0" or "\123". "\1" alone would be a back reference, which RE2 does
 * not have. */
static bool read_octal(kl__pattern_source *self, uint32_t *rune)
{
    const char *at = self->at + 1;
    uint32_t value = 0;

    if (*at != '0' && (at[1] < '0' || at[1] > '7')) {
        kl__pattern_refuse(self, "invalid escape sequence", self->at, 2);
        return false;
    }
    for (int i = 0; i < 3 && *at >= '0' && *at <= '7'; i++) {
        value = value * 8 + (uint32_t)(*at++ - '0');
    }
    *rune = value;
    self->at = at;
    return true;
}

bool kl__pattern_escape(kl__pattern_source *self, uint32_t *rune)
{
    static const char letters[] = "afnrtv", meant[] = "\a\f\n\r\t\v";
    unsigned char letter = (unsigned char)self->at[1];
    const char *found;

    if (letter == '\0') {
        kl__pattern_refuse(self, "trailing backslash at end of expression", "",
                           0);
        return false;
    }
    if (letter == 'x') {
        return read_hex(self, rune);
    }
    if (letter >= '0' && letter <= '7') {
        return read_octal(self, rune);
    }
    found = strchr(letters, letter);
    if (found != NULL || (letter < 0x80 && ispunct(letter))) {
        *rune = found != NULL ? (unsigned char)meant[found - letters] : letter;
        self->at += 2;
        return true;
    }
    kl__pattern_refuse(self, "invalid escape sequence", self->at, 2);
    return false;
}

/* --- Brackets. ------------------------------------------------------------ */

/* Reads the first or last character of a range; false: an error. */
static bool read_end(kl__pattern_source *self, const char *begin,
                     uint32_t *rune)
{
    size_t length;

    if (*self->at == '\0') {
        kl__pattern_refuse(self, "missing closing ]", begin, strlen(begin));
        return false;
    }
    if (*self->at == '\\') {
        return kl__pattern_escape(self, rune);
    }
    *rune = kl__pattern_rune(self->at, &length);
    self->at += length;
    return true;
}

static bool read_range(kl__pattern_source *self, const char *begin)
{
    const char *from = self->at;
    uint32_t low, high;

    if (!read_end(self, begin, &low)) {
        return false;
    }
    high = low;
    if (self->at[0] == '-' && self->at[1] != ']' && self->at[1] != '\0') {
        self->at++;
        if (!read_end(self, begin, &high)) {
            return false;
        }
    }
    if (low > high) {
        kl__pattern_refuse(self, "invalid character class range", from,
                           (size_t)(self->at - from));
        return false;
    }
    kl__pattern_add(self, low, high);
    return true;
}

/* Reads a class such as "\d" inside brackets, and adds its characters. False:
 * there is none here. */
static bool read_class(kl__pattern_source *self)
{
    const char *pairs = self->at[1] != '\0' ? pairs_of(self->at[1]) : NULL;
    bool negated = false;

    if (pairs != NULL && isupper((unsigned char)self->at[1])) {
        add_others(self, pairs);
        self->at += 2;
        return true;
    }
    return kl__pattern_class(self, &negated);
}

bool kl__pattern_bracket(kl__pattern_source *self, bool *negated)
{
    const char *begin = self->at;
    bool is_first = true;

    self->at++;
    *negated = *self->at == '^';
    self->at += *negated;
    while (self->result == KL__PATTERN_FITS && (*self->at != ']' || is_first)) {
        is_first = false;
        if (*self->at == '[' && self->at[1] == ':' && read_posix(self)) {
            continue;
        }
        if (*self->at == '\\' && read_class(self)) {
            continue;
        }
        if (!read_range(self, begin)) {
            return false;
        }
    }
    if (self->result != KL__PATTERN_FITS) {
        return false;
    }
    self->at++;
    return true;
}
