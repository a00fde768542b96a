/*
 * names.c - see names.h.
 */
#include "schema/names.h"

#include <string.h>

enum { MAX_LABEL = 63, MAX_SUBDOMAIN = 253 };

static bool is_lower(char byte)
{
    return byte >= 'a' && byte <= 'z';
}

static bool is_word(char byte)
{
    return is_lower(byte) || (byte >= '0' && byte <= '9');
}

/* Whether `length` bytes are a label; one of RFC 1035 begins with a letter. */
static bool is_label(const char *text, size_t length, bool is_1035)
{
    if (length == 0 || !(is_1035 ? is_lower(*text) : is_word(*text)) ||
        !is_word(text[length - 1])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_word(text[i]) && text[i] != '-') {
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

bool kl__name_is_subdomain(const char *text, kl__buf *why)
{
    bool fits = strlen(text) <= MAX_SUBDOMAIN, is_one = true;

    for (const char *at = text; is_one;) {
        size_t length = strcspn(at, ".");

        is_one = is_label(at, length, false);
        if (at[length] == '\0') {
            break;
        }
        at += length + 1;
    }
    if (!fits) {
        put_too_long(why, MAX_SUBDOMAIN);
    }
    if (!is_one) {
        kl__buf_puts(why, fits ? "" : ",");
        kl__buf_puts(why,
                     "a lowercase RFC 1123 subdomain must consist of lower "
                     "case alphanumeric characters, '-' or '.', and must start "
                     "and end with an alphanumeric character (e.g. "
                     "'example.com', regex used for validation is "
                     "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*"
                     "[a-z0-9])?)*')");
    }
    return fits && is_one;
}
