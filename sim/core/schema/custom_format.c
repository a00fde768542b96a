/*
 * custom_format.c - see custom.h: formats of texts in custom resources
 * ("format: date-time"), as kube-apiserver reads them.
 */
#include "sim/core/schema/custom.h"

#include <arpa/inet.h>
#include <string.h>

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

static bool is_date_time(const char *text, size_t length)
{
    return is_date_part(text, length) &&
           kl__pattern_match("^.{10}[Tt]([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d"
                             "(\\.\\d+)?([Zz]|[-+]\\d\\d:\\d\\d)$",
                             text) == KL__PATTERN_FITS;
}

/* --- Addresses. ----------------------------------------------------------- */

static bool is_address(int family, const char *text)
{
    struct in6_addr address;

    return inet_pton(family, text, &address) == 1;
}

static bool is_ipv4(const char *text, size_t length)
{
    (void)length;
    return is_address(AF_INET, text);
}

static bool is_ipv6(const char *text, size_t length)
{
    (void)length;
    return is_address(AF_INET6, text);
}

static bool is_cidr(const char *text, size_t length)
{
    const char *slash = strchr(text, '/');
    char address[64];
    size_t digits;
    int bits;

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
    bits = number_of_digits(slash + 1, digits);
    return is_address(AF_INET, address)
               ? bits <= 32
               : is_address(AF_INET6, address) && bits <= 128;
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
    /* as in Go ("1h5m", "-1.5s", "0"), or in words ("3 days") */
    {"duration", NULL,
     "^[-+]?0$|(?i)\\d\\.?\\s*((n|u|\xc2\xb5|m)?s|m|hr?|d|wk?|"
     "(nano|micro|milli|sec|min|hour|day|week)[a-z]*)([^a-z]|$)"},
    {"email", NULL,
     "^([^<>@\\s,;]+@[^<>@\\s,;]+|[^<>@,;]*<[^<>@\\s,;]+@[^<>@\\s,;]+>)$"},
    {"hexcolor", is_anything, NULL},
    /* either one label; or several, of which the last has two letters or
     * more */
    {"hostname", NULL,
     "^([a-zA-Z0-9](-?[a-zA-Z0-9]{0,62})?|"
     "([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?\\.)+[a-zA-Z]{2,63})$"},
    {"ipv4", is_ipv4, NULL},
    {"ipv6", is_ipv6, NULL},
    {"isbn", is_anything, NULL},
    {"isbn10", is_anything, NULL},
    {"isbn13", is_anything, NULL},
    {"k8slongname", NULL,
     "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"},
    {"k8sshortname", NULL, "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
    {"mac", is_anything, NULL},
    {"password", is_anything, NULL},
    {"rgbcolor", is_anything, NULL},
    {"ssn", is_anything, NULL},
    {"uri", NULL, "^(/|[a-zA-Z][-+.a-zA-Z0-9]*:)[^\\x00-\\x1f\\x7f]*$"},
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
