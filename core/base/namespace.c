/*
 * namespace.c - see namespace.h.
 */
#include "base/namespace.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST_NAMESPACE = 63 };

/* A DNS label, as of RFC 1123. */
static bool is_label(const char *text)
{
    size_t length = strlen(text);

    return length > 0 && length <= LONGEST_NAMESPACE && text[0] != '-' &&
           text[length - 1] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

kl_code kl__namespace_check(const char *text, kl_error *err)
{
    const char *remedy = "lower-case letters, digits and \"-\", at most 63";

    if (is_label(text)) {
        return KL_OK;
    }
    if (strchr(text, ',') != NULL || strchr(text, ' ') != NULL) {
        remedy = "one namespace at a time, or \"*\" for all";
    } else if (strchr(text, '/') != NULL) {
        remedy = "a namespace alone, without a slash";
    }
    return kl_error_set(err, KL_EINVAL, "\"%.100s\" cannot be a namespace: %s",
                        text, remedy);
}
