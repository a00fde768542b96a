/*
 * custom_scalar.c - see custom_check.h: the keywords of texts and numbers, and
 * enum; and formats of texts ("format: date-time"), as kube-apiserver reads
 * them.
 */
#include "sim/core/schema/custom_check.h"

#include "base/mem.h"
#include "sim/core/schema/custom.h"

#include <arpa/inet.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *schema_text(const kl_value *schema, const char *name)
{
    const char *text = kl_value_string(kl_value_get(schema, name), NULL);

    return text != NULL ? text : "";
}

/* --- Texts. --------------------------------------------------------------- */

/* Counts characters, not bytes. */
static int64_t count_runes(const char *text, size_t length)
{
    int64_t count = 0;

    for (size_t i = 0; i < length; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}

/* Checks length and pattern; reports the first that fails. */
static void check_form(kl__check *check, const kl_value *schema,
                       const kl__node *value)
{
    const kl_value *most = kl_value_get(schema, "maxLength");
    const kl_value *least = kl_value_get(schema, "minLength");
    const char *pattern = schema_text(schema, "pattern");
    size_t length;
    const char *text = kl__node_string(value, &length);
    int64_t count = count_runes(text, length);
    kl__pattern_result result;

    if (most != NULL && count > kl_value_integer(most)) {
        kl__check_add(check, KL__FIELD_TOO_LONG, NULL,
                      "may not be more than %lld byte%s",
                      (long long)kl_value_integer(most),
                      kl_value_integer(most) == 1 ? "" : "s");
    } else if (least != NULL && count < kl_value_integer(least)) {
        kl__check_refuse(
            check, value, "%s in body should be at least %lld chars long",
            kl__check_name(check), (long long)kl_value_integer(least));
    } else if (*pattern != '\0') {
        result = kl__pattern_match(pattern, text);
        if (result == KL__PATTERN_FAILS) {
            kl__check_refuse(check, value, "%s in body should match '%s'",
                             kl__check_name(check), pattern);
        } else if (result == KL__PATTERN_TOO_MUCH) {
            kl__check_refuse(check, value,
                             "%s in body takes the simulator too many steps "
                             "to match with '%s'",
                             kl__check_name(check), pattern);
        }
        check->outcome->errors.failed |= result == KL__PATTERN_ENOMEM;
    }
}

void kl__check_text(kl__check *check, const kl_value *schema,
                    const kl__node *value)
{
    const char *format = schema_text(schema, "format");
    const char *type = schema_text(schema, "type");
    size_t length;
    const char *text = kl__node_string(value, &length);
    char *shown;

    check_form(check, schema, value);
    check->outcome->matches++;
    if ((*type != '\0' && strcmp(type, "string") != 0) ||
        !kl__custom_format_is_known(format)) {
        return;
    }
    check->outcome->matches++;
    if (kl__custom_format_fits(format, text, length)) {
        return;
    }
    shown = kl__field_value(value);
    check->outcome->errors.failed |= shown == NULL;
    kl__check_add(check, KL__FIELD_TYPE, shown,
                  "%s in body must be of type %s: %s", kl__check_name(check),
                  format, shown != NULL ? shown : "");
    kl__free(shown);
}

/* --- Numbers. ------------------------------------------------------------- */

bool kl__number_is_whole(double number)
{
    return isfinite(number) && number == floor(number) &&
           fabs(number) < 9007199254740992.0 * 1024;
}

/* The type that a schema requires of a number, and its format, if the format is
 * one of that type; else "". */
typedef struct number_kind {
    const char *type;
    const char *format;
} number_kind;

static number_kind kind_of(const kl_value *schema)
{
    const char *type = schema_text(schema, "type");
    const char *format = schema_text(schema, "format");
    number_kind self = {"", ""};

    if (kl_value_bool(kl_value_get(schema, "x-kubernetes-int-or-string"))) {
        return self;
    }
    if (strcmp(type, "integer") == 0) {
        self.type = type;
        self.format = strcmp(format, "int32") == 0   ? "int32"
                      : strcmp(format, "int64") == 0 ? "int64"
                                                     : "";
    } else if (strcmp(type, "number") == 0) {
        self.type = type;
        self.format = strcmp(format, "float") == 0    ? "float"
                      : strcmp(format, "double") == 0 ? "double"
                                                      : "";
    }
    return self;
}

/* True if the number is in the range of its type. Else adds an error; its text
 * begins with `whose`. */
static bool check_range(kl__check *check, number_kind kind, double number,
                        const char *whose)
{
    bool fits = true;

    if (strcmp(kind.type, "integer") == 0) {
        double limit = strcmp(kind.format, "int32") == 0
                           ? 2147483648.0
                           : 9223372036854775808.0;

        fits =
            kl__number_is_whole(number) && number < limit && number >= -limit;
        if (fabs(number) >= 9007199254740992.0) {
            fits = number < limit && number >= -limit;
        }
    } else if (strcmp(kind.format, "float") == 0) {
        fits = fabs(number) <= FLT_MAX;
    }
    if (!fits && *kind.format != '\0') {
        kl__check_complain(
            check, "%s value must be of type %s with format %s in %s", whose,
            kind.type, kind.format, kl__check_name(check));
    } else if (!fits) {
        kl__check_complain(check,
                           "%s value must be of type %s (default format) in "
                           "%s",
                           whose, kind.type, kl__check_name(check));
    }
    return fits;
}

/* A limit as messages show it, without its fraction if the value is an integer
 * and `may_be_whole`. Freed by the caller; NULL: out of memory. */
static char *show_bound(const kl__node *value, double bound, bool may_be_whole)
{
    kl__buf out = {0};

    if (kl__node_is(value, KL_INTEGER) && may_be_whole) {
        kl__buf_printf(&out, "%.0f", trunc(bound));
    } else {
        kl__go_number(&out, bound);
    }
    if (out.failed) {
        kl__buf_deinit(&out);
        return NULL;
    }
    return kl__buf_take(&out, NULL);
}

static void refuse_bound(kl__check *check, const kl__node *value,
                         const char *words, const char *bound)
{
    if (bound == NULL) {
        check->outcome->errors.failed = true;
        return;
    }
    kl__check_refuse(check, value, "%s in body should be %s %s",
                     kl__check_name(check), words, bound);
}

static void check_multiple(kl__check *check, const kl_value *schema,
                           number_kind kind, const kl__node *value)
{
    const kl_value *factor_value = kl_value_get(schema, "multipleOf");
    double factor = kl_value_real(factor_value);
    double number = kl__node_real(value);
    bool is_native, is_multiple;
    char *bound;

    if (factor_value == NULL) {
        return;
    }
    is_native = check_range(check, kind, factor, "MultipleOf");
    if (is_native && kl__node_is(value, KL_INTEGER)) {
        factor = trunc(factor);
        is_multiple = factor > 0 && fmod(number, factor) == 0;
    } else {
        is_multiple =
            factor > 0 && kl__number_is_whole(factor < 1 ? 1 / factor * number
                                                         : number / factor);
    }
    if (is_multiple) {
        return;
    }
    bound = show_bound(value, factor, is_native);
    if (factor > 0) {
        refuse_bound(check, value, "a multiple of", bound);
    } else if (bound != NULL) {
        kl__check_add(check, KL__FIELD_INVALID, bound,
                      "factor MultipleOf declared for %s must be positive: %s",
                      kl__check_name(check), bound);
    }
    check->outcome->errors.failed |= bound == NULL;
    kl__free(bound);
}

static void check_bound(kl__check *check, const kl_value *schema,
                        number_kind kind, const kl__node *value, bool is_upper)
{
    const kl_value *bound_value =
        kl_value_get(schema, is_upper ? "maximum" : "minimum");
    bool exclusive = kl_value_bool(kl_value_get(
        schema, is_upper ? "exclusiveMaximum" : "exclusiveMinimum"));
    double bound = kl_value_real(bound_value);
    double number = kl__node_real(value);
    bool is_native, fits;
    char *shown;

    if (bound_value == NULL) {
        return;
    }
    is_native = check_range(check, kind, bound,
                            is_upper ? "Maximum boundary" : "Minimum boundary");
    if (is_native && kl__node_is(value, KL_INTEGER)) {
        bound = trunc(bound);
    }
    fits = exclusive ? (is_upper ? number < bound : number > bound)
                     : (is_upper ? number <= bound : number >= bound);
    if (fits) {
        return;
    }
    shown = show_bound(value, bound, is_native);
    refuse_bound(
        check, value,
        is_upper ? (exclusive ? "less than" : "less than or equal to")
                 : (exclusive ? "greater than" : "greater than or equal to"),
        shown);
    kl__free(shown);
}

void kl__check_number(kl__check *check, const kl_value *schema,
                      const kl__node *value)
{
    number_kind kind = kind_of(schema);

    check_range(check, kind, kl__node_real(value), "Checked");
    check_multiple(check, schema, kind, value);
    check_bound(check, schema, kind, value, true);
    check_bound(check, schema, kind, value, false);
    check->outcome->matches += 2;
}

/* --- Enum. ---------------------------------------------------------------- */

/* True if a value is in the list. The numbers 1 and 1.0 are equal here. */
static bool is_listed(const kl__node *value, const kl__node *listed)
{
    kl__node_iter iter = {0};
    const kl__node *one;

    while ((one = kl__node_next(listed, &iter, NULL, NULL)) != NULL) {
        kl_type a = kl__node_type(value), b = kl__node_type(one);
        bool are_numbers =
            a >= KL_INTEGER && a <= KL_REAL && b >= KL_INTEGER && b <= KL_REAL;

        if (are_numbers ? kl__node_real(value) == kl__node_real(one)
                        : kl__node_equal(value, one)) {
            return true;
        }
    }
    return false;
}

/* The same for a text only, but without a tree of the list. */
static bool is_listed_text(const kl__node *value, const kl_value *listed)
{
    kl_value_iter iter = {0};
    const kl_value *one;
    size_t length, other;
    const char *text =
        kl__node_is(value, KL_STRING) ? kl__node_string(value, &length) : NULL;

    while (text != NULL && (one = kl_value_next(listed, &iter, NULL)) != NULL) {
        const char *listed_text = kl_value_type(one) == KL_STRING
                                      ? kl_value_string(one, &other)
                                      : NULL;

        if (listed_text != NULL && other == length &&
            memcmp(listed_text, text, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Appends `supported values: "a", "b"`; values that are no texts are shown as
 * JSON. */
static void put_listed(kl__buf *out, const kl__node *listed)
{
    kl__node_iter iter = {0};
    const kl__node *one;
    bool is_first = true;

    kl__buf_puts(out, "supported values: ");
    while ((one = kl__node_next(listed, &iter, NULL, NULL)) != NULL) {
        size_t length = 0;
        const char *text = kl__node_string(one, &length);
        char *json = text == NULL ? kl__field_value(one) : NULL;

        kl__buf_puts(out, is_first ? "" : ", ");
        is_first = false;
        if (text != NULL) {
            kl__go_quote(out, text, length);
        } else if (json != NULL) {
            kl__go_quote(out, json, strlen(json));
        }
        out->failed |= text == NULL && json == NULL;
        kl__free(json);
    }
}

void kl__check_enum(kl__check *check, const kl_value *schema,
                    const kl__node *value)
{
    const kl_value *source = kl_value_get(schema, "enum");
    kl__edit *edit;
    kl__buf words = {0};
    char *shown;

    if (kl_value_size(source) == 0 || is_listed_text(value, source)) {
        check->outcome->matches++;
        return;
    }
    edit = kl__edit_of(source, NULL);
    if (edit == NULL) {
        check->outcome->errors.failed = true;
        return;
    }
    /* null never fits an enum, even if it is listed there. */
    if (!kl__node_is(value, KL_NULL) && value != NULL &&
        is_listed(value, kl__edit_root(edit))) {
        check->outcome->matches++;
        kl__edit_free(edit);
        return;
    }
    put_listed(&words, kl__edit_root(edit));
    shown = kl__field_value(value);
    if (words.failed || shown == NULL) {
        check->outcome->errors.failed = true;
    } else {
        kl__check_add(check, KL__FIELD_UNSUPPORTED, shown, "%s", words.bytes);
    }
    kl__free(shown);
    kl__buf_deinit(&words);
    kl__edit_free(edit);
}

/* ---- formats ---- */

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
