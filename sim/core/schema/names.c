/*
 * names.c - see names.h.
 */
#include "sim/core/schema/names.h"

#include <string.h>

enum { MAX_LABEL = 63, MAX_SUBDOMAIN = 253 };

static bool is_lower(char byte)
{
    return byte >= 'a' && byte <= 'z';
}

static bool is_word_byte(char byte)
{
    return is_lower(byte) || (byte >= '0' && byte <= '9');
}

/* True if `length` bytes are a label. `is_1035`: it must begin with a letter,
 * as RFC 1035 says. */
static bool is_label(const char *text, size_t length, bool is_1035)
{
    if (length == 0 || !(is_1035 ? is_lower(*text) : is_word_byte(*text)) ||
        !is_word_byte(text[length - 1])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_word_byte(text[i]) && text[i] != '-') {
            return false;
        }
    }
    return true;
}

static void put_too_long(kl__buf *why, int limit)
{
    kl__buf_printf(why, "must be no more than %d bytes", limit);
}

bool kl__name_is_label(const char *text, kl__buf *why)
{
    size_t length = strlen(text);
    bool fits = length <= MAX_LABEL;

    if (!fits) {
        put_too_long(why, MAX_LABEL);
    }
    if (!is_label(text, length, false)) {
        kl__buf_puts(why, fits ? "" : ",");
        kl__buf_puts(why,
                     "a lowercase RFC 1123 label must consist of lower case "
                     "alphanumeric characters or '-', and must start and end "
                     "with an alphanumeric character (e.g. 'my-name',  or "
                     "'123-abc', regex used for validation is "
                     "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
        return false;
    }
    return fits;
}

bool kl__name_is_dns1035(const char *text, kl__buf *why)
{
    size_t length = strlen(text);
    bool fits = length <= MAX_LABEL;

    if (!fits) {
        put_too_long(why, MAX_LABEL);
    }
    if (!is_label(text, length, true)) {
        kl__buf_puts(why, fits ? "" : ",");
        kl__buf_puts(why,
                     "a DNS-1035 label must consist of lower case alphanumeric "
                     "characters or '-', start with an alphabetic character, "
                     "and end with an alphanumeric character (e.g. 'my-name',  "
                     "or 'abc-123', regex used for validation is "
                     "'[a-z]([-a-z0-9]*[a-z0-9])?')");
        return false;
    }
    return fits;
}

/* True if the text consists of labels, separated by dots. */
static bool has_labels(const char *text)
{
    for (;;) {
        size_t length = strcspn(text, ".");

        if (!is_label(text, length, false)) {
            return false;
        }
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
}

/* Adds the reasons why a text is invalid: it is too long, or malformed (not
 * `is_one`; then `words` is the reason). */
static bool judge_name(const char *text, bool is_one, const char *words,
                       kl__buf *why)
{
    bool fits = strlen(text) <= MAX_SUBDOMAIN;

    if (!fits) {
        put_too_long(why, MAX_SUBDOMAIN);
    }
    if (!is_one) {
        kl__buf_puts(why, fits ? "" : ",");
        kl__buf_puts(why, words);
    }
    return fits && is_one;
}

bool kl__name_is_subdomain(const char *text, kl__buf *why)
{
    return judge_name(
        text, has_labels(text),
        "a lowercase RFC 1123 subdomain must consist of lower case "
        "alphanumeric characters, '-' or '.', and must start and end "
        "with an alphanumeric character (e.g. 'example.com', regex "
        "used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*"
        "[a-z0-9])?)*')",
        why);
}

bool kl__name_is_wildcard(const char *text, kl__buf *why)
{
    return judge_name(
        text, strncmp(text, "*.", 2) == 0 && has_labels(text + 2),
        "a wildcard DNS-1123 subdomain must start with '*.', followed "
        "by a valid DNS subdomain, which must consist of lower case "
        "alphanumeric characters, '-' or '.' and end with an "
        "alphanumeric character (e.g. '*.example.com', regex used for "
        "validation is "
        "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*"
        "[a-z0-9])?)*')",
        why);
}
