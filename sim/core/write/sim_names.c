/*
 * sim_names.c - the names that a kind allows for its objects, and the messages
 * for other names.
 */
#include "sim/core/write/sim_write.h"

#include <string.h>

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* RFC 1123: letters, digits and '-'; '-' is neither first nor last. */
static bool is_label(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool inside = i > 0 && i + 1 < length;

        if (!is_letter_or_digit(name[i]) && !(inside && name[i] == '-')) {
            return false;
        }
    }
    return length > 0;
}

static bool is_subdomain(const char *name)
{
    for (;;) {
        size_t length = strcspn(name, ".");

        if (!is_label(name, length)) {
            return false;
        }
        if (name[length] == '\0') {
            return true;
        }
        name += length + 1;
    }
}

/* Why a name cannot be a segment of a path; NULL: it can. */
static const char *segment_fault(const char *name)
{
    return strcmp(name, ".") == 0      ? "may not be '.'"
           : strcmp(name, "..") == 0   ? "may not be '..'"
           : strchr(name, '/') != NULL ? "may not contain '/'"
           : strchr(name, '%') != NULL ? "may not contain '%'"
                                       : NULL;
}

static const char SUBDOMAIN[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
static const char LABEL[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric "
    "characters or '-', and must start and end with an alphanumeric character "
    "(e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
/* Why a kind does not allow a name; NULL: it does. */
static const char *name_fault(const kl__sim_kind *kind, const char *name)
{
    size_t length = strlen(name);

    if (strcmp(kind->group, "rbac.authorization.k8s.io") == 0) {
        return segment_fault(name);
    }
    if (kl__sim_is_namespace(kind) ||
        (*kind->group == '\0' && strcmp(kind->plural, "services") == 0)) {
        return length > 63 ? "must be no more than 63 characters"
               : strchr(name, '.') != NULL ? "must not contain dots"
               : is_label(name, length)    ? NULL
                                           : LABEL;
    }
    return length > 253         ? "must be no more than 253 characters"
           : is_subdomain(name) ? NULL
                                : SUBDOMAIN;
}

/* --- Names. --------------------------------------------------------------- */

void kl__sim_check_name(const kl__sim_kind *kind, const char *name,
                        kl__sim_status *status)
{
    const char *fault;

    if (name == NULL || *name == '\0') {
        kl__sim_cause_add(status, "FieldValueRequired", "metadata.name",
                          "Required value: name or generateName is required");
        return;
    }
    fault = name_fault(kind, name);
    if (fault != NULL) {
        kl__sim_cause_add(status, "FieldValueInvalid", "metadata.name",
                          "Invalid value: \"%s\": %s", name, fault);
    }
}
