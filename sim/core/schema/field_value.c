/*
 * field_value.c - see field_errors.h: writes values as messages of
 * kube-apiserver show them. There, Go's fmt and encoding/json write them.
 */
#include "sim/core/schema/field_errors.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kl__go_quote(kl__buf *out, const char *text, size_t length)
{
    static const char letters[] = "abtnvfr"; /* escapes of bytes 7 to 13 */

    static_assert(sizeof(letters) == 8, "one letter for each");
    kl__buf_putc(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte == '"' || byte == '\\') {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, (char)byte);
        } else if (byte >= 7 && byte <= 13) {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, letters[byte - 7]);
        } else if (byte < 0x20 || byte == 0x7f) {
            kl__buf_printf(out, "\\x%02x", byte);
        } else {
            kl__buf_putc(out, (char)byte);
        }
    }
    kl__buf_putc(out, '"');
}

/* Writes the fewest digits, without a point, that still mean the same double.
 * Returns the decimal exponent. */
static int shortest_digits(double number, char digits[32])
{
    char text[40];
    size_t count = 0;

    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    for (const char *at = text; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') {
            digits[count++] = *at;
        }
    }
    digits[count] = '\0';
    return atoi(strchr(text, 'e') + 1);
}

/* Appends the number, with an exponent if it is below 10^low or at least
 * 10^high. The exponent has at least two digits, or one if `is_json`. */
static void put_number(kl__buf *out, double number, int low, int high,
                       bool is_json)
{
    char digits[32];
    int exponent = shortest_digits(fabs(number), digits);
    int count = (int)strlen(digits);

    if (signbit(number)) {
        kl__buf_putc(out, '-');
    }
    if (number != 0 && (exponent < low || exponent >= high)) {
        kl__buf_printf(out, "%c%s%s", digits[0], count > 1 ? "." : "",
                       digits + 1);
        if (is_json && exponent < 0 && exponent > -10) {
            kl__buf_printf(out, "e-%d", -exponent);
        } else {
            kl__buf_printf(out, "e%c%02d", exponent < 0 ? '-' : '+',
                           abs(exponent));
        }
    } else if (exponent < 0) {
        kl__buf_printf(out, "0.%.*s%s", -exponent - 1,
                       "00000000000000000000000", digits);
    } else if (count <= exponent + 1) {
        kl__buf_printf(out, "%s%.*s", digits, exponent + 1 - count,
                       "00000000000000000000000");
    } else {
        kl__buf_printf(out, "%.*s.%s", exponent + 1, digits,
                       digits + exponent + 1);
    }
}

void kl__go_number(kl__buf *out, double number)
{
    put_number(out, number, -4, 21, false);
}

/* Quotes a text as encoding/json does, which also escapes '<', '>' and '&'. */
static void put_json_text(kl__buf *out, const char *text, size_t length)
{
    kl__buf_putc(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte == '"' || byte == '\\') {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, (char)byte);
        } else if (byte == '\n' || byte == '\r' || byte == '\t') {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, byte == '\n' ? 'n' : byte == '\r' ? 'r' : 't');
        } else if (byte == '\b' || byte == '\f') {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, byte == '\b' ? 'b' : 'f');
        } else if (byte < 0x20 || byte == '<' || byte == '>' || byte == '&') {
            kl__buf_printf(out, "\\u%04x", byte);
        } else {
            kl__buf_putc(out, (char)byte);
        }
    }
    kl__buf_putc(out, '"');
}

typedef struct member {
    const char *name;
    size_t length;
    const kl__node *value;
} member;

static int compare_member_names(const void *left, const void *right)
{
    return strcmp(((const member *)left)->name, ((const member *)right)->name);
}

static void put_value(kl__buf *out, const kl__node *value, bool is_json);

static void put_shown_object(kl__buf *out, const kl__node *value)
{
    size_t count = 0;
    member *members = kl__calloc(kl__node_size(value) + 1, sizeof(*members));
    kl__node_iter iter = {0};
    const kl__node *element;

    if (members == NULL) {
        out->failed = true;
        return;
    }
    while ((element = kl__node_next(value, &iter, &members[count].name,
                                    &members[count].length)) != NULL) {
        members[count++].value = element;
    }
    qsort(members, count, sizeof(*members), compare_member_names);
    kl__buf_putc(out, '{');
    for (size_t i = 0; i < count; i++) {
        if (i != 0) {
            kl__buf_putc(out, ',');
        }
        put_json_text(out, members[i].name, members[i].length);
        kl__buf_putc(out, ':');
        put_value(out, members[i].value, true);
    }
    kl__buf_putc(out, '}');
    kl__free(members);
}

static void put_array(kl__buf *out, const kl__node *value)
{
    kl__node_iter iter = {0};
    const kl__node *element;
    bool is_first = true;

    kl__buf_putc(out, '[');
    while ((element = kl__node_next(value, &iter, NULL, NULL)) != NULL) {
        if (!is_first) {
            kl__buf_putc(out, ',');
        }
        is_first = false;
        put_value(out, element, true);
    }
    kl__buf_putc(out, ']');
}

static void put_value(kl__buf *out, const kl__node *value, bool is_json)
{
    size_t length = 0;
    const char *text = kl__node_string(value, &length);

    switch (kl__node_type(value)) {
    case KL_OBJECT:
        put_shown_object(out, value);
        break;
    case KL_ARRAY:
        put_array(out, value);
        break;
    case KL_STRING:
        if (is_json) {
            put_json_text(out, text, length);
        } else {
            kl__go_quote(out, text, length);
        }
        break;
    case KL_BOOL:
        kl__buf_puts(out, kl__node_bool(value) ? "true" : "false");
        break;
    case KL_INTEGER:
        kl__buf_printf(out, "%lld", (long long)kl__node_integer(value));
        break;
    case KL_UNSIGNED:
    case KL_REAL:
        put_number(out, kl__node_real(value), is_json ? -6 : -4, 21, is_json);
        break;
    case KL_NUMBER:
        kl__buf_append(out, text, length);
        break;
    default:
        kl__buf_puts(out, "null");
        break;
    }
}

char *kl__field_value(const kl__node *value)
{
    kl__buf out = {0};

    put_value(&out, value, false);
    if (out.failed) {
        kl__buf_deinit(&out);
        return NULL;
    }
    return kl__buf_take(&out, NULL);
}
