/*
 * sim_names.c - which names and labels a kind allows, and in which words others
 * are refused.
 */
#include "sim/sim_write.h"

#include "sim/sim_status.h"

#include <stdio.h>
#include <string.h>

/* The kind in messages about its objects: "ConfigMap", "Foo.example.com". */
static void qualify(const kl__sim_kind *kind, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", kind->kind, *kind->group != '\0' ? "." : "",
             kind->group);
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* RFC 1123: letters, digits and '-', which neither begins nor ends it. */
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

/* What only has to fit into a path. */
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
static const char WORD[] =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'MyName',  or "
    "'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
static const char VALUE[] =
    "a valid label must be an empty string or consist of alphanumeric "
    "characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
static const char LABEL[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric "
    "characters or '-', and must start and end with an alphanumeric character "
    "(e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
/* Why a kind does not allow a name; NULL: it does. */
static const char *name_fault(const kl__sim_kind *kind, const char *name)
{
    size_t length = strlen(name);

    if (strcmp(kind->group, "rbac.authorization.k8s.io") == 0 ||
        strcmp(kind->plural, "ipaddresses") == 0) {
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

/* --- Labels. -------------------------------------------------------------- */

static bool is_outer(char c)
{
    return is_letter_or_digit(c) || (c >= 'A' && c <= 'Z');
}

/* Letters, digits, '-', '_' and '.', beginning and ending with one of the
 * former; at most 63. */
static bool is_word(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool inside = i > 0 && i + 1 < length;

        if (!is_outer(text[i]) &&
            !(inside && (text[i] == '-' || text[i] == '_' || text[i] == '.'))) {
            return false;
        }
    }
    return length > 0 && length <= 63;
}

static const char *key_fault(const char *key)
{
    const char *slash = strchr(key, '/');
    char prefix[256];

    if (slash != NULL) {
        size_t length = (size_t)(slash - key);

        if (length == 0 || length > 253) {
            return "prefix part must be non-empty and no more than 253 "
                   "characters";
        }
        memcpy(prefix, key, length);
        prefix[length] = '\0';
        if (!is_subdomain(prefix)) {
            return SUBDOMAIN;
        }
        key = slash + 1;
    }
    return is_word(key, strlen(key)) ? NULL : WORD;
}

static const char *label_fault(const char *value, size_t length)
{
    if (length > 63) {
        return "must be no more than 63 characters";
    }
    return length == 0 || is_word(value, length) ? NULL : VALUE;
}

bool kl__sim_check_labels(kl__sim_answer *answer, const kl__sim_kind *kind,
                          const kl_value *root, kl_code *code, kl_error *err)
{
    const kl_value *metadata = kl_value_get(root, "metadata");
    const kl_value *labels = kl_value_get(metadata, "labels");
    kl__sim_status status = {.name = kl__sim_text(metadata, "name"),
                             .group = kind->group,
                             .kind = kind->kind};
    const kl_value *name, *value;
    kl_value_iter iter = {0};
    char qualified[512];

    while ((value = kl_value_next(labels, &iter, &name)) != NULL) {
        size_t length = 0;
        const char *key = kl_value_string(name, NULL);
        const char *text = kl_value_string(value, &length);
        const char *fault = key_fault(key);

        if (fault != NULL) {
            kl__sim_cause_add(&status, "FieldValueInvalid", "metadata.labels",
                              "Invalid value: \"%.100s\": %s", key, fault);
        } else if ((fault = label_fault(text, length)) != NULL) {
            kl__sim_cause_add(&status, "FieldValueInvalid", "metadata.labels",
                              "Invalid value: \"%.100s\": %s", text, fault);
        }
    }
    if (status.cause_count == 0) {
        return true;
    }
    qualify(kind, qualified, sizeof(qualified));
    *code = kl__sim_refuse_invalid(answer, &status, qualified, err);
    return false;
}

/* --- Names. --------------------------------------------------------------- */

bool kl__sim_check_name(kl__sim_answer *answer, const kl__sim_kind *kind,
                        const char *name, kl_code *code, kl_error *err)
{
    kl__sim_status status = {
        .name = name, .group = kind->group, .kind = kind->kind};
    const char *fault = name != NULL ? name_fault(kind, name) : NULL;
    char qualified[512];

    if (name != NULL && fault == NULL) {
        return true;
    }
    if (name == NULL) {
        kl__sim_cause_add(&status, "FieldValueRequired", "metadata.name",
                          "Required value: name or generateName is required");
    } else {
        kl__sim_cause_add(&status, "FieldValueInvalid", "metadata.name",
                          "Invalid value: \"%s\": %s", name, fault);
    }
    qualify(kind, qualified, sizeof(qualified));
    *code = kl__sim_refuse_invalid(answer, &status, qualified, err);
    return false;
}
