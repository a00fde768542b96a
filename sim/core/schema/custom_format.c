/*
 * custom_format.c - see custom.h: formats of texts in custom resources
 * ("format: date-time"), as kube-apiserver reads them.
 */
#include "sim/core/schema/custom.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_digits(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
    }
    return true;
}

static int number_of_digits(const char *text, size_t count)
{
    int value = 0;

    for (size_t i = 0; i < count; i++) {
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/* --- Dates and times. ----------------------------------------------------- */

static bool is_date_part(const char *text, size_t length)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    bool leaps;

    if (length < 10 || !is_digits(text, 4) || text[4] != '-' ||
        !is_digits(text + 5, 2) || text[7] != '-' || !is_digits(text + 8, 2)) {
        return false;
    }
    year = number_of_digits(text, 4);
    month = number_of_digits(text + 5, 2);
    day = number_of_digits(text + 8, 2);
    leaps = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (month == 2 && leaps);
}

static bool is_date(const char *text, size_t length)
{
    return length == 10 && is_date_part(text, length);
}

/* True for RFC 3339: a date, "T", "15:04:05", perhaps a fraction, then "Z" or
 * an offset. */
static bool is_date_time(const char *text, size_t length)
{
    const char *end = text + length, *at;

    if (length < 20 || !is_date_part(text, length) ||
        (text[10] != 'T' && text[10] != 't') || !is_digits(text + 11, 2) ||
        text[13] != ':' || !is_digits(text + 14, 2) || text[16] != ':' ||
        !is_digits(text + 17, 2) || number_of_digits(text + 11, 2) > 23 ||
        number_of_digits(text + 14, 2) > 59 ||
        number_of_digits(text + 17, 2) > 59) {
        return false;
    }
    at = text + 19;
    if (*at == '.') {
        at++;
        if (at == end || !isdigit((unsigned char)*at)) {
            return false;
        }
        while (at < end && isdigit((unsigned char)*at)) {
            at++;
        }
    }
    if (at < end && (*at == 'Z' || *at == 'z')) {
        return at + 1 == end;
    }
    return end - at == 6 && (*at == '+' || *at == '-') &&
           is_digits(at + 1, 2) && at[3] == ':' && is_digits(at + 4, 2);
}

/* True for a unit of a long duration, which may be spelled out. */
static bool is_unit(const char *text, size_t length)
{
    static const char *const exact[] = {"ns", "us", "\xc2\xb5s", "ms", "s", "m",
                                        "h",  "hr", "d",         "w",  "wk"};
    static const char *const begins[] = {"nano", "micro", "milli", "sec",
                                         "min",  "hour",  "day",   "week"};

    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
        if (strlen(exact[i]) == length &&
            strncasecmp(exact[i], text, length) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        if (length >= strlen(begins[i]) &&
            strncasecmp(begins[i], text, strlen(begins[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_letter(char byte)
{
    return isalpha((unsigned char)byte) || byte == '\xc2' || byte == '\xb5';
}

/* True for a duration as in Go ("1h5m", "-1.5s", "0"), or in words ("3
 * days"). */
static bool is_duration(const char *text, size_t length)
{
    const char *end = text + length;

    if (strcmp(text, "0") == 0 || strcmp(text, "-0") == 0 ||
        strcmp(text, "+0") == 0) {
        return true;
    }
    for (const char *at = text; at < end; at++) {
        const char *unit;

        if (!isdigit((unsigned char)*at)) {
            continue;
        }
        while (at < end && isdigit((unsigned char)*at)) {
            at++;
        }
        if (at < end && *at == '.') {
            at++;
            while (at < end && isdigit((unsigned char)*at)) {
                at++;
            }
        }
        while (at < end && isspace((unsigned char)*at)) {
            at++;
        }
        unit = at;
        while (at < end && is_letter(*at)) {
            at++;
        }
        if (at > unit && is_unit(unit, (size_t)(at - unit))) {
            return true;
        }
        if (at == end) {
            break;
        }
    }
    return false;
}

/* --- Addresses. ----------------------------------------------------------- */

static bool is_ipv4(const char *text, size_t length)
{
    int parts = 0;

    for (const char *at = text; parts < 4; parts++) {
        size_t digits = strspn(at, "0123456789");

        if (digits == 0 || digits > 9 || number_of_digits(at, digits) > 255) {
            return false;
        }
        at += digits;
        if (parts == 3) {
            return *at == '\0' && at == text + length;
        }
        if (*at++ != '.') {
            return false;
        }
    }
    return false;
}

static bool is_ipv6(const char *text, size_t length)
{
    struct in6_addr address;

    (void)length;
    return strchr(text, ':') != NULL &&
           inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_cidr(const char *text, size_t length)
{
    const char *slash = strchr(text, '/');
    char address[64];
    size_t digits;

    (void)length;
    if (slash == NULL || (size_t)(slash - text) >= sizeof(address)) {
        return false;
    }
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = '\0';
    digits = strspn(slash + 1, "0123456789");
    if (digits == 0 || digits > 3 || slash[1 + digits] != '\0') {
        return false;
    }
    return is_ipv4(address, strlen(address))
               ? number_of_digits(slash + 1, digits) <= 32
               : is_ipv6(address, strlen(address)) &&
                     number_of_digits(slash + 1, digits) <= 128;
}

static bool is_mac(const char *text, size_t length)
{
    char separator = length > 2 ? text[2] : '\0';
    size_t parts = 0;

    if (separator != ':' && separator != '-') {
        return kl__pattern_match("^([0-9a-fA-F]{4}\\.){2,9}[0-9a-fA-F]{4}$",
                                 text) == KL__PATTERN_FITS &&
               (length == 14 || length == 19 || length == 49);
    }
    for (const char *at = text;; at += 3) {
        if (!isxdigit((unsigned char)at[0]) ||
            !isxdigit((unsigned char)at[1])) {
            return false;
        }
        parts++;
        if (at[2] == '\0') {
            return parts == 6 || parts == 8 || parts == 20;
        }
        if (at[2] != separator) {
            return false;
        }
    }
}

static bool is_hostname(const char *text, size_t length)
{
    /* Either one label; or several, of which the last has two letters or
     * more. */
    return length != 0 && length <= 255 &&
           kl__pattern_match("^([a-zA-Z0-9](-?[a-zA-Z0-9]{0,62})?|([a-zA-Z0-9]"
                             "([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?\\.)+"
                             "[a-zA-Z]{2,63})$",
                             text) == KL__PATTERN_FITS;
}

static bool is_email(const char *text, size_t length)
{
    (void)length;
    return kl__pattern_match("^([^<>@\\s,;]+@[^<>@\\s,;]+|[^<>@,;]*"
                             "<[^<>@\\s,;]+@[^<>@\\s,;]+>)$",
                             text) == KL__PATTERN_FITS;
}

static bool is_uri(const char *text, size_t length)
{
    (void)length;
    return kl__pattern_match("^(/|[a-zA-Z][-+.a-zA-Z0-9]*:.)[^\\x00-\\x1f\\x7f]"
                             "*$",
                             text) == KL__PATTERN_FITS ||
           kl__pattern_match("^[a-zA-Z][-+.a-zA-Z0-9]*:$", text) ==
               KL__PATTERN_FITS;
}

/* Passwords, and formats that no custom resource needs: colours, ISBN. */
static bool is_anything(const char *text, size_t length)
{
    (void)text;
    (void)length;
    return true;
}

/* --- The table. ----------------------------------------------------------- */

#define HEX "[0-9a-fA-F]"
#define UUID(version, variant)                                              \
    "^" HEX "{8}-?" HEX "{4}-?" version HEX "{3}-?" variant HEX "{3}-?" HEX \
    "{12}$"

typedef struct text_format {
    const char *name; /* the name of the format, without its dashes */
    bool (*fits)(const char *text, size_t length);
    const char *pattern; /* used if there is no function */
} text_format;

static const text_format formats[] = {
    {"bsonobjectid", is_anything, NULL},
    {"byte", NULL,
     "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|"
     "[A-Za-z0-9+/]{4})$"},
    {"cidr", is_cidr, NULL},
    {"creditcard", is_anything, NULL},
    {"date", is_date, NULL},
    {"datetime", is_date_time, NULL},
    {"duration", is_duration, NULL},
    {"email", is_email, NULL},
    {"hexcolor", is_anything, NULL},
    {"hostname", is_hostname, NULL},
    {"ipv4", is_ipv4, NULL},
    {"ipv6", is_ipv6, NULL},
    {"isbn", is_anything, NULL},
    {"isbn10", is_anything, NULL},
    {"isbn13", is_anything, NULL},
    {"k8slongname", NULL,
     "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"},
    {"k8sshortname", NULL, "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
    {"mac", is_mac, NULL},
    {"password", is_anything, NULL},
    {"rgbcolor", is_anything, NULL},
    {"ssn", is_anything, NULL},
    {"uri", is_uri, NULL},
    {"uuid", NULL, UUID(HEX, HEX)},
    {"uuid3", NULL, UUID("3", HEX)},
    {"uuid4", NULL, UUID("4", "[89abAB]")},
    {"uuid5", NULL, UUID("5", "[89abAB]")}};

static const text_format *find_format(const char *name)
{
    char plain[32];
    size_t length = 0;

    for (; *name != '\0'; name++) {
        if (length + 1 >= sizeof(plain)) {
            return NULL;
        }
        if (*name != '-') {
            plain[length++] = *name;
        }
    }
    plain[length] = '\0';
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(formats[i].name, plain) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

bool kl__custom_format_is_known(const char *format)
{
    return find_format(format) != NULL;
}

bool kl__custom_format_fits(const char *format, const char *text, size_t length)
{
    const text_format *found = find_format(format);

    if (found == NULL) {
        return true;
    }
    if (strlen(text) != length) {
        /* only a format that allows any text allows a NUL */
        return found->fits == is_anything;
    }
    return found->fits != NULL
               ? found->fits(text, length)
               : kl__pattern_match(found->pattern, text) == KL__PATTERN_FITS &&
                     (strcmp(found->name, "k8slongname") != 0 || length <= 253);
}
