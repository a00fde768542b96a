/*
 * sim_labels.c - see sim_labels.h. Rules and messages are those that a
 * kube-apiserver 1.36 was seen to have.
 */
#include "sim/core/answer/sim_labels.h"

#include "sim/core/answer/sim_status.h"

#include <string.h>

enum { LONGEST_NAME = 63, LONGEST_PREFIX = 253, MOST_ANNOTATIONS = 256 * 1024 };

#define SUBDOMAIN                                                             \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric " \
    "characters, '-' or '.', and must start and end with an alphanumeric "    \
    "character (e.g. 'example.com', regex used for validation is "            \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define WORD                                                              \
    "must consist of alphanumeric characters, '-', '_' or '.', and must " \
    "start and end with an alphanumeric character (e.g. 'MyName',  or "   \
    "'my.name',  or '123-abc', regex used for validation is "             \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

static void add_fault(kl__sim_faults *faults, const char *text)
{
    faults->texts[faults->count++] = text;
}

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_outer(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* True for words in lower case with dots between them (RFC 1123). */
static bool is_subdomain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool starts = i == 0 || text[i - 1] == '.';
        bool ends = i + 1 == length || text[i + 1] == '.';

        if (!is_lower(text[i]) &&
            (starts || ends || (text[i] != '-' && text[i] != '.'))) {
            return false;
        }
    }
    return length > 0;
}

static bool is_label_word(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool inside = i > 0 && i + 1 < length;

        if (!is_outer(text[i]) &&
            (!inside || memchr("-_.", text[i], 3) == NULL)) {
            return false;
        }
    }
    return length > 0;
}

kl__sim_faults kl__sim_key_faults(const char *key)
{
    kl__sim_faults faults = {0};
    const char *slash = strchr(key, '/');
    const char *name = slash != NULL ? slash + 1 : key;
    size_t length = strlen(name);

    if (strchr(name, '/') != NULL) {
        add_fault(&faults,
                  "a valid label key " WORD
                  " with an optional DNS subdomain prefix and '/' (e.g. "
                  "'example.com/MyName')");
        return faults;
    }
    if (slash == key) {
        add_fault(&faults, "prefix part must be non-empty");
    } else if (slash != NULL && slash - key > LONGEST_PREFIX) {
        add_fault(&faults, "prefix part must be no more than 253 bytes");
    } else if (slash != NULL && !is_subdomain(key, (size_t)(slash - key))) {
        add_fault(&faults, "prefix part " SUBDOMAIN);
    }
    if (length == 0) {
        add_fault(&faults, "name part must be non-empty");
    } else if (length > LONGEST_NAME) {
        add_fault(&faults, "name part must be no more than 63 bytes");
    }
    if (!is_label_word(name, length)) {
        add_fault(&faults, "name part " WORD);
    }
    return faults;
}

kl__sim_faults kl__sim_value_faults(const char *value)
{
    kl__sim_faults faults = {0};
    size_t length = strlen(value);

    if (length > LONGEST_NAME) {
        add_fault(&faults, "must be no more than 63 bytes");
    }
    if (length > 0 && !is_label_word(value, length)) {
        add_fault(
            &faults,
            "a valid label must be an empty string or consist of alphanumeric "
            "characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
            "'12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
    }
    return faults;
}

static void add_causes(const kl__sim_faults *faults, const char *field,
                       const char *text, kl__sim_status *status)
{
    for (size_t i = 0; i < faults->count; i++) {
        kl__sim_cause_add(status, "FieldValueInvalid", field,
                          "Invalid value: \"%.100s\": %s", text,
                          faults->texts[i]);
    }
}

/* Checks the keys of annotations, which follow the rules for labels' keys, but
 * in any letter case. */
static void check_annotations(const kl__node *metadata, kl__sim_status *status)
{
    const kl__node *all = kl__node_get(metadata, "annotations"), *value;
    kl__node_iter iter = {0};
    size_t bytes = 0, length;
    const char *key;

    while ((value = kl__node_next(all, &iter, &key, &length)) != NULL) {
        char lower[512];
        kl__sim_faults faults;
        size_t size = 0;

        for (; key[size] != '\0' && size + 1 < sizeof(lower); size++) {
            bool is_upper = key[size] >= 'A' && key[size] <= 'Z';

            lower[size] =
                (char)(is_upper ? key[size] + ('a' - 'A') : key[size]);
        }
        lower[size] = '\0';
        faults = kl__sim_key_faults(lower);
        add_causes(&faults, "metadata.annotations", key, status);
        bytes += length;
        if (kl__node_string(value, &length) != NULL) {
            bytes += length;
        }
    }
    if (bytes > MOST_ANNOTATIONS) {
        kl__sim_cause_add(status, "FieldValueTooLong", "metadata.annotations",
                          "Too long: may not be more than %d bytes",
                          (int)MOST_ANNOTATIONS);
    }
}

void kl__sim_check_labels(const kl__node *metadata, kl__sim_status *status)
{
    const kl__node *labels = kl__node_get(metadata, "labels"), *value;
    kl__node_iter iter = {0};
    const char *key;

    while ((value = kl__node_next(labels, &iter, &key, NULL)) != NULL) {
        const char *text = kl__node_string(value, NULL);
        kl__sim_faults faults = kl__sim_key_faults(key);

        add_causes(&faults, "metadata.labels", key, status);
        if (text != NULL) {
            faults = kl__sim_value_faults(text);
            add_causes(&faults, "metadata.labels", text, status);
        }
    }
    check_annotations(metadata, status);
}
