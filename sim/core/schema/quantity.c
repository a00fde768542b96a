/*
 * quantity.c - see quantity.h. A quantity is kept as an integer of 128 bits, in
 * units of 10^-9. If it has at most 36 digits, and at most 9 of them after the
 * point, nothing is rounded.
 */
#include "sim/core/schema/quantity.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

typedef enum form { DECIMAL, BINARY, EXPONENT } form;

typedef struct number {
    bool negative;
    wide digits; /* in units of 10^-9 */
    int over;    /* a further power of ten, if `digits` would overflow */
    form form;
    bool kept; /* the server keeps the text as it came */
} number;

/* The largest amount with a binary suffix, 2^63-1, in units of 10^-9. Larger
 * amounts become this one. */
static const wide most_binary = (wide)INT64_MAX * 1000000000U;
static const wide most = ~(wide)0 / 2;

/* How many digits after the point are used, before the suffix is applied. */
enum { MOST_PLACES = 18 };

static const char wrong_format[] =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char wrong_suffix[] = "unable to parse quantity's suffix";

typedef struct suffix {
    const char *text;
    int ten; /* the power of ten, or 0 */
    int two; /* the power of two, or 0 */
} suffix;

static const suffix suffixes[] = {
    {"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},
    {"k", 3, 0},   {"M", 6, 0},   {"G", 9, 0},   {"T", 12, 0},
    {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60}};

#define SUFFIXES (sizeof(suffixes) / sizeof(suffixes[0]))

static wide multiply_wide(wide value, unsigned factor)
{
    return value > most / factor ? most : value * factor;
}

/* Multiplies by 10^*ten. *ten gets the power that is left because the result
 * would overflow. Sets *lost if digits were cut off; the caller rounds up
 * then. */
static wide shift_point(wide value, int *ten, bool *lost)
{
    for (; *ten > 0 && value != 0 && value <= most / 10; --*ten) {
        value *= 10;
    }
    for (; *ten < 0 && value != 0; ++*ten) {
        *lost = *lost || value % 10 != 0;
        value /= 10;
    }
    *ten = value != 0 ? *ten : 0;
    return value;
}

/* Reads the power of ten in a suffix such as "e3" or "E-2"; false: it is
 * malformed. */
static bool read_exponent(const char *text, size_t length, int *ten)
{
    bool negative = length > 1 && text[1] == '-';
    size_t at = length > 1 && (text[1] == '-' || text[1] == '+') ? 2 : 1;

    if (length < 2 || (text[0] != 'e' && text[0] != 'E') || at == length) {
        return false;
    }
    *ten = 0;
    for (; at < length; at++) {
        if (!isdigit((unsigned char)text[at])) {
            return false;
        }
        *ten = *ten > 100000000 ? *ten : *ten * 10 + (text[at] - '0');
    }
    *ten = negative ? -*ten : *ten;
    return true;
}

static const suffix *find_suffix(const char *text, size_t length)
{
    for (size_t i = 0; i < SUFFIXES; i++) {
        if (strlen(suffixes[i].text) == length &&
            memcmp(suffixes[i].text, text, length) == 0) {
            return &suffixes[i];
        }
    }
    return NULL;
}

/* Reads digits with or without a point; *places gets how many digits after the
 * point it used. Returns how many characters it read. */
static size_t read_digits(const char *text, size_t length, wide *digits,
                          int *places, bool *lost)
{
    size_t at = 0;
    int behind = -1;

    *digits = 0;
    for (; at < length; at++) {
        unsigned char byte = (unsigned char)text[at];

        if (byte == '.' && behind < 0) {
            behind = 0;
        } else if (!isdigit(byte)) {
            break;
        } else if (behind < MOST_PLACES) {
            *digits = *digits > (most - 9) / 10
                          ? most
                          : *digits * 10 + (unsigned)(byte - '0');
            behind += behind >= 0;
        } else {
            *lost = *lost || byte != '0';
        }
    }
    *places = behind > 0 ? behind : 0;
    return at;
}

/* The digits times a power of two, in units of 10^-9. Multiplies the parts
 * before and after the point separately: both together could overflow although
 * the result does not. */
static wide multiply_digits(wide digits, int places, int two, bool *lost)
{
    wide one = 1, whole;
    int up = 9, down = 9 - places;

    for (int i = 0; i < places; i++) {
        one *= 10;
    }
    whole = digits / one;
    for (int i = 0; i < two; i++) {
        whole = multiply_wide(whole, 2);
    }
    whole = shift_point(whole, &up, lost);
    return up > 0 ? most
                  : whole + shift_point((digits % one) << two, &down, lost);
}

/* True if kube-apiserver keeps a text as it came: it has few digits, and its
 * suffix is the canonical one (see ParseQuantity in apimachinery). */
static bool is_kept(const char *text, size_t length, const number *value,
                    int ten, int two)
{
    size_t zeros = strspn(text, "0");
    size_t whole, behind = 0;
    unsigned last = 0;
    char digits[24] = "";

    zeros = zeros < length ? zeros : length;
    text += zeros;
    length -= zeros;
    whole = strspn(text, "0123456789");
    whole = whole < length ? whole : length;
    if (whole < length && text[whole] == '.') {
        behind = length - whole - 1;
    }
    if (whole == 0 || whole + behind > 18) {
        return false;
    }
    memcpy(digits, text, whole);
    memcpy(digits + whole, text + whole + (behind > 0), behind);
    last = (unsigned)(digits[whole + behind - 1] - '0');
    if (value->form == BINARY) {
        for (size_t i = whole > 3 ? whole - 3 : 0, n = last = 0; i < whole;
             i++) {
            n = n * 10 + (size_t)(digits[i] - '0');
            last = (unsigned)n;
        }
        return behind == 0 && last % 8 != 0 &&
               15 - (int)whole - two * 3 / 10 - 1 >= 0;
    }
    ten -= (int)behind;
    return ten >= -9 && ten % 3 == 0 &&
           (whole + behind < 3 ||
            strcmp(digits + whole + behind - 3, "000") != 0);
}

static const char *read_quantity(const char *text, size_t length, number *out)
{
    size_t at = length > 0 && (*text == '-' || *text == '+');
    size_t count;
    bool lost = false;
    const char *first = text + at;
    const suffix *found;
    int ten = 0, places;

    out->negative = length > 0 && *text == '-';
    count = read_digits(text + at, length - at, &out->digits, &places, &lost);
    if (length == 0) {
        return wrong_format;
    }
    text += at + count;
    length -= at + count;
    if (strspn(text, "eEinumkKMGTP+-0123456789") < length) {
        return wrong_format;
    }
    found = find_suffix(text, length);
    if (found != NULL) {
        out->form = found->two != 0 ? BINARY : DECIMAL;
        ten = found->ten;
    } else if (read_exponent(text, length, &ten)) {
        out->form = EXPONENT;
    } else {
        return wrong_suffix;
    }
    out->over = out->form == BINARY ? 0 : 9 - places + ten;
    out->digits = out->form == BINARY
                      ? multiply_digits(out->digits, places, found->two, &lost)
                      : shift_point(out->digits, &out->over, &lost);
    out->digits += lost && out->over == 0;
    if (out->form == BINARY && out->digits > most_binary) {
        out->digits = most_binary;
    }
    out->kept = is_kept(first, count, out, ten, found != NULL ? found->two : 0);
    return NULL;
}

static void write_wide(wide value, char *out)
{
    char digits[48];
    size_t at = sizeof(digits) - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value != 0);
    memcpy(out, digits + at, sizeof(digits) - at);
}

/* Writes an amount with a binary suffix, if it came with one, is whole, and is
 * 1024 or more. False: it is not. */
static bool write_binary(const number *from, char *out)
{
    const wide one = 1000000000U;
    wide whole = from->digits / one;
    int two = 0;

    if (from->form != BINARY || from->digits % one != 0 || whole < 1024) {
        return false;
    }
    while (whole % 1024 == 0 && two < 60) {
        whole /= 1024;
        two += 10;
    }
    write_wide(whole, out);
    for (size_t i = 0; i < SUFFIXES; i++) {
        if (suffixes[i].two == two && (two != 0 || suffixes[i].ten == 0)) {
            strcat(out, suffixes[i].text);
            break;
        }
    }
    return true;
}

/* Writes an amount with a decimal suffix or an exponent. For powers above "E"
 * Go writes no suffix, so 1000E becomes 1. */
static void write_decimal(const number *from, char *out)
{
    wide digits = from->digits;
    int ten = from->over - 9;

    for (; ten % 3 != 0 && digits % 10 == 0; ten++) {
        digits /= 10;
    }
    for (; digits % 1000 == 0; ten += 3) {
        digits /= 1000;
    }
    write_wide(digits, out);
    if (from->form == EXPONENT) {
        if (ten != 0) {
            sprintf(out + strlen(out), "e%d", ten);
        }
        return;
    }
    for (size_t i = 0; i < SUFFIXES; i++) {
        if (suffixes[i].two == 0 && suffixes[i].ten == ten) {
            strcat(out, suffixes[i].text);
        }
    }
}

static void round_up(number *value, int scale)
{
    wide step = 1;

    for (; scale > -9; scale--) {
        step *= 10;
    }
    if (value->over == 0 && value->digits % step != 0) {
        value->digits += step - value->digits % step;
        value->kept = false;
    }
}

static void write_number(const number *value, char out[KL__QUANTITY_SIZE])
{
    if (value->digits == 0) {
        strcpy(out, "0");
        return;
    }
    *out = '-';
    if (!write_binary(value, out + value->negative)) {
        write_decimal(value, out + value->negative);
    }
}

const char *kl__quantity_canonical(const char *text, size_t length, int scale,
                                   char out[KL__QUANTITY_SIZE])
{
    number value = {0};
    const char *why;

    while (length > 0 && *text == ' ') {
        text++;
        length--;
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    why = memchr(text, '\0', length) != NULL
              ? wrong_format
              : read_quantity(text, length, &value);
    if (why != NULL) {
        return why;
    }
    round_up(&value, scale);
    if (value.digits != 0 && value.kept && length < KL__QUANTITY_SIZE) {
        memcpy(out, text, length);
        out[length] = '\0';
        return NULL;
    }
    write_number(&value, out);
    return NULL;
}

/* --- Arithmetic. ---------------------------------------------------------- */

/* Reads a valid quantity. An amount that is too large becomes the largest. */
static number number_of(const char *text)
{
    number value = {0};

    read_quantity(text, strlen(text), &value);
    if (value.over > 0) {
        value.digits = most;
        value.over = 0;
    }
    return value;
}

static number add_numbers(const number *a, const number *b)
{
    number result = *a;

    if (a->digits == 0) {
        result.form = b->form;
    }
    if (a->negative == b->negative) {
        result.digits =
            a->digits > most - b->digits ? most : a->digits + b->digits;
    } else if (a->digits >= b->digits) {
        result.digits = a->digits - b->digits;
    } else {
        result.digits = b->digits - a->digits;
        result.negative = b->negative;
    }
    return result;
}

int kl__quantity_compare(const char *a, const char *b)
{
    number first = number_of(a), second = number_of(b);
    number rest;

    second.negative = !second.negative;
    rest = add_numbers(&first, &second);
    return rest.digits == 0 ? 0 : rest.negative ? -1 : 1;
}
