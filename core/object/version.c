/*
 * version.c - compares resourceVersions: decimal integers of any length
 * (docs/KUBERNETES.md#comparable-versions).
 */
#include "kubelua/object.h"

#include <limits.h>
#include <string.h>

/* The digits without leading zeros; NULL: not a number. */
static const char *digits_of(const char *version, size_t *length)
{
    size_t digits = strspn(version, "0123456789");
    size_t zeros = strspn(version, "0");

    if (digits == 0 || version[digits] != '\0') {
        return NULL;
    }
    *length = digits - zeros;
    return version + zeros;
}

int kl_version_compare(const char *a, const char *b)
{
    size_t a_length, b_length;
    const char *a_digits = digits_of(a, &a_length);
    const char *b_digits = digits_of(b, &b_length);
    int order;

    if (a_digits == NULL || b_digits == NULL) {
        return strcmp(a, b) == 0 ? 0 : INT_MIN;
    }
    if (a_length != b_length) {
        return a_length < b_length ? -1 : 1;
    }
    order = memcmp(a_digits, b_digits, a_length);
    return (order > 0) - (order < 0);
}
