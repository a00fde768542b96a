/*
 * yaml_scalar.c - see yaml_scalar.h. The rules were measured on
 * sigs.k8s.io/yaml 1.6, which kubectl 1.36 uses: YAML 1.1 booleans; integers in
 * four bases, with underscores, not in base 60; dates stay text.
 */
#include "config/yaml_scalar.h"

#include "base/base64.h"
#include "json/quote.h"
#include "kubelua/value.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer scalar is text, even if it is all digits. */
enum { MAX_NUMBER = 512 };

#define TAG(name) "tag:yaml.org,2002:" name

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(text, *words) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_word(const char *text, kl__scalar *scalar)
{
    static const char *const yes[] = {"y",   "Y",    "yes",  "Yes",
                                      "YES", "true", "True", "TRUE",
                                      "on",  "On",   "ON",   NULL};
    static const char *const no[] = {"n",   "N",     "no",    "No",
                                     "NO",  "false", "False", "FALSE",
                                     "off", "Off",   "OFF",   NULL};
    static const char *const null[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const infinite[] = {
        ".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF", "+.inf",
        "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", NULL};

    scalar->boolean = is_one_of(text, yes);
    if (scalar->boolean || is_one_of(text, no)) {
        scalar->type = KL__SCALAR_BOOL;
    } else if (is_one_of(text, null)) {
        scalar->type = KL__SCALAR_NULL;
    } else if (is_one_of(text, infinite)) {
        scalar->type = KL__SCALAR_INFINITE;
    } else {
        return false;
    }
    return true;
}

/* The base of an integer; moves `digits` behind the prefix (0x, 0b, 0o, 0). A
 * single 0 is decimal. */
static unsigned base_of(const char **digits)
{
    char mark = (*digits)[0] == '0' ? (char)tolower((*digits)[1]) : '\0';

    if (mark == 'x' || mark == 'b' || mark == 'o') {
        *digits += 2;
        return mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    }
    if (mark != '\0') {
        *digits += 1;
        return 8;
    }
    return 10;
}

/* Reads an integer of base 2, 8, 10 or 16. False: not an integer, or more than
 * 64 bits. */
static bool read_integer(const char *number, kl__scalar *scalar)
{
    bool negative = number[0] == '-';
    const char *digits = number + (number[0] == '-' || number[0] == '+');
    unsigned base = base_of(&digits);
    uint64_t value = 0;

    if (*digits == '\0') {
        return false;
    }
    for (; *digits != '\0'; digits++) {
        unsigned digit = isdigit((unsigned char)*digits)
                             ? (unsigned)(*digits - '0')
                             : (unsigned)(tolower(*digits) - 'a') + 10;

        if (!isxdigit((unsigned char)*digits) || digit >= base ||
            value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    if (value <= INT64_MAX) {
        scalar->type = KL__SCALAR_INTEGER;
        scalar->integer = negative ? -(int64_t)value : (int64_t)value;
    } else if (negative) {
        scalar->type = KL__SCALAR_INTEGER;
        scalar->integer = INT64_MIN;
        return value == (uint64_t)INT64_MAX + 1;
    } else {
        scalar->type = KL__SCALAR_UNSIGNED;
        scalar->magnitude = value;
    }
    return true;
}

static const char *skip_digits(const char *text)
{
    while (isdigit((unsigned char)*text)) {
        text++;
    }
    return text;
}

/*
 * Writes a decimal number as JSON: "+1." as 1, "007.5" as 7.5, ".5" as 0.5.
 * False: not a number. `*fraction` is true if it has a point or an exponent.
 */
static bool write_decimal(const char *number, kl__buf *json, bool *fraction)
{
    const char *whole = number + (number[0] == '-' || number[0] == '+');
    const char *point = skip_digits(whole);
    const char *after = *point == '.' ? skip_digits(point + 1) : point;
    const char *exponent = after;

    if (point == whole && after <= point + 1) {
        return false;
    }
    if (*exponent == 'e' || *exponent == 'E') {
        exponent++;
        exponent += *exponent == '-' || *exponent == '+';
        if (*exponent == '\0') {
            return false;
        }
        exponent = skip_digits(exponent);
    }
    if (*exponent != '\0') {
        return false;
    }
    *fraction = *point != '\0';
    while (*whole == '0' && whole + 1 < point) {
        whole++;
    }
    kl__buf_puts(json, number[0] == '-' ? "-" : "");
    if (whole == point) {
        kl__buf_putc(json, '0');
    }
    kl__buf_append(json, whole, (size_t)(point - whole));
    if (after > point + 1) {
        kl__buf_append(json, point, (size_t)(after - point));
    }
    kl__buf_puts(json, after);
    return true;
}

/* Reads a decimal number with the JSON parser, because strtod depends on the
 * host's locale. A number that does not fit a double is text. */
static kl_code read_real(const char *number, kl__scalar *scalar, kl_error *err)
{
    bool fraction = false;
    kl_error why;
    kl_doc *doc;

    scalar->type = KL__SCALAR_STRING;
    if (!write_decimal(number, &scalar->scratch, &fraction)) {
        return KL_OK;
    }
    if (scalar->scratch.failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory reading YAML");
    }
    if (!fraction) {
        scalar->type = KL__SCALAR_DIGITS;
        scalar->text = scalar->scratch.bytes;
        scalar->length = scalar->scratch.length;
        return KL_OK;
    }
    doc = kl_doc_parse(scalar->scratch.bytes, scalar->scratch.length, &why);
    if (doc == NULL) {
        return why.code == KL_ENOMEM
                   ? kl_error_set(err, KL_ENOMEM, "out of memory reading YAML")
                   : KL_OK;
    }
    scalar->real = kl_value_real(kl_doc_root(doc));
    if (isfinite(scalar->real)) {
        scalar->type = KL__SCALAR_REAL;
    }
    kl_doc_unref(doc);
    return KL_OK;
}

/* Copies a number without its underscores. False: it begins with a point and
 * has an underscore that is not between digits. */
static bool strip_underscores(const kl__yaml_node *node, char *number)
{
    size_t length = 0;

    for (size_t i = 0; i < node->length; i++) {
        if (node->text[i] != '_') {
            number[length++] = node->text[i];
        } else if (node->text[0] == '.' &&
                   (!isdigit((unsigned char)node->text[i - 1]) ||
                    !isdigit((unsigned char)node->text[i + 1]))) {
            return false;
        }
    }
    number[length] = '\0';
    return true;
}

/* Resolves a scalar by its text, for one without a tag and quotes. */
static kl_code read_plain(const kl__yaml_node *node, kl__scalar *scalar,
                          kl_error *err)
{
    char number[MAX_NUMBER + 1];
    bool starts_number =
        node->length > 0 && strchr("+-.0123456789", node->text[0]) != NULL;

    scalar->type = KL__SCALAR_STRING;
    if (memchr(node->text, '\0', node->length) != NULL ||
        read_word(node->text, scalar) || !starts_number ||
        node->length > MAX_NUMBER || !strip_underscores(node, number)) {
        return KL_OK;
    }
    if (number[0] != '.' && read_integer(number, scalar)) {
        return KL_OK;
    }
    return read_real(number, scalar, err);
}

static kl_code read_binary(const kl__yaml_node *node, kl__scalar *scalar,
                           kl_error *err)
{
    scalar->type = KL__SCALAR_STRING;
    if (!kl__base64_decode(&scalar->scratch, node->text, node->length)) {
        return scalar->scratch.failed
                   ? kl_error_set(err, KL_ENOMEM, "out of memory reading YAML")
                   : kl__yaml_error(err, KL_EPARSE, node,
                                    "!!binary is not base64");
    }
    if (scalar->scratch.bytes != NULL) {
        scalar->text = scalar->scratch.bytes;
        scalar->length = scalar->scratch.length;
    }
    if (!kl__utf8_is_valid(scalar->text, scalar->length)) {
        return kl__yaml_error(err, KL_EPARSE, node,
                              "!!binary holds what is no UTF-8; JSON has text "
                              "only");
    }
    return KL_OK;
}

/* True if the type found from the text fits the tag. */
static bool fits_tag(kl__scalar *scalar, const char *tag)
{
    bool is_integer = scalar->type == KL__SCALAR_INTEGER ||
                      scalar->type == KL__SCALAR_UNSIGNED;

    if (strcmp(tag, TAG("int")) == 0) {
        return is_integer;
    }
    if (strcmp(tag, TAG("float")) == 0) {
        return is_integer || scalar->type == KL__SCALAR_REAL ||
               scalar->type == KL__SCALAR_DIGITS ||
               scalar->type == KL__SCALAR_INFINITE;
    }
    if (strcmp(tag, TAG("bool")) == 0) {
        return scalar->type == KL__SCALAR_BOOL;
    }
    return scalar->type == KL__SCALAR_NULL;
}

kl_code kl__scalar_resolve(const kl__yaml_node *node, kl__scalar *scalar,
                           kl_error *err)
{
    static const char *const typed[] = {TAG("int"), TAG("float"), TAG("bool"),
                                        TAG("null"), NULL};
    kl_code code;

    *scalar = (kl__scalar){
        .type = KL__SCALAR_STRING, .text = node->text, .length = node->length};
    if (node->tag == NULL) {
        return node->plain ? read_plain(node, scalar, err) : KL_OK;
    }
    if (strcmp(node->tag, TAG("binary")) == 0) {
        return read_binary(node, scalar, err);
    }
    if (!is_one_of(node->tag, typed)) {
        return KL_OK; /* !!str, !!timestamp and unknown tags: text */
    }
    code = read_plain(node, scalar, err);
    if (code == KL_OK && !fits_tag(scalar, node->tag)) {
        return kl__yaml_error(err, KL_EPARSE, node, "\"%.40s\" is no !!%s",
                              node->text, node->tag + strlen(TAG("")));
    }
    return code;
}

void kl__scalar_deinit(kl__scalar *scalar)
{
    kl__buf_deinit(&scalar->scratch);
}

/* Appends the shortest digits that read back as the same float, in the notation
 * of Go's format 'g': "1.5", "1e+06". */
static void append_float(kl__buf *name, double value)
{
    char text[40];
    char *exponent_text, *digit = text;
    int precision = 0, exponent;

    if (isinf((float)value)) { /* too large for a float; as kubectl does */
        kl__buf_puts(name, value < 0 ? "-.inf" : ".inf");
        return;
    }
    do {
        snprintf(text, sizeof(text), "%.*e", precision, (double)(float)value);
    } while (strtof(text, NULL) != (float)value && ++precision < 9);
    exponent_text = strchr(text, 'e');
    exponent = atoi(exponent_text + 1);
    if (exponent >= -4 && exponent < 6) {
        int decimals = precision > exponent ? precision - exponent : 0;

        snprintf(text, sizeof(text), "%.*f", decimals, (double)(float)value);
    }
    for (; *digit != '\0'; digit++) {
        /* replaces the locale's decimal point */
        if (strchr("+-0123456789e", *digit) == NULL) {
            *digit = '.';
        }
    }
    kl__buf_puts(name, text);
}

kl_code kl__scalar_name(const kl__yaml_node *node, const kl__scalar *scalar,
                        kl__buf *name, kl_error *err)
{
    switch (scalar->type) {
    case KL__SCALAR_NULL:
        return kl__yaml_error(err, KL_EPARSE, node,
                              "a key is null; quote it if it is text");
    case KL__SCALAR_BOOL:
        kl__buf_puts(name, scalar->boolean ? "true" : "false");
        break;
    case KL__SCALAR_INTEGER:
        kl__buf_printf(name, "%lld", (long long)scalar->integer);
        break;
    case KL__SCALAR_UNSIGNED:
        kl__buf_printf(name, "%llu", (unsigned long long)scalar->magnitude);
        break;
    case KL__SCALAR_REAL:
        append_float(name, scalar->real);
        break;
    default:
        kl__buf_append(name, scalar->text, scalar->length);
        break;
    }
    return name->failed
               ? kl_error_set(err, KL_ENOMEM, "out of memory reading YAML")
               : KL_OK;
}
