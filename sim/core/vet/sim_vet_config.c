/*
 * sim_vet_config.c - see sim_vet.h: validates ConfigMaps and Secrets.
 */
#include "sim/core/vet/sim_vet.h"

#include "base/base64.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1024 * 1024, LONGEST_KEY = 253 };

/* --- Keys. ---------------------------------------------------------------- */

static bool is_key(const char *key, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = key[i];

        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
            (c < '0' || c > '9') && c != '-' && c != '_' && c != '.') {
            return false;
        }
    }
    return length > 0;
}

static void refuse_key(kl__vet *vet, const char *key, const char *why)
{
    size_t mark = kl__vet_key(vet, key);

    kl__vet_fault(vet, KL__FIELD_INVALID, NULL, key, why);
    kl__vet_back(vet, mark);
}

static void check_key(kl__vet *vet, const char *key, size_t length)
{
    if (length > LONGEST_KEY) {
        refuse_key(vet, key, "must be no more than 253 characters");
    }
    if (!is_key(key, length)) {
        refuse_key(vet, key,
                   "a valid config key must consist of alphanumeric "
                   "characters, '-', '_' or '.' (e.g. 'key.name',  or "
                   "'KEY_NAME',  or 'key-name', regex used for validation is "
                   "'[-._a-zA-Z0-9]+')");
    }
    if (strcmp(key, ".") == 0) {
        refuse_key(vet, key, "must not be '.'");
    } else if (strcmp(key, "..") == 0) {
        refuse_key(vet, key, "must not be '..'");
    } else if (strncmp(key, "..", 2) == 0) {
        refuse_key(vet, key, "must not start with '..'");
    }
}

/* Checks the keys of a member, which must not be in `others` (may be NULL) too.
 * Returns how many bytes the values have. */
static size_t check_data_keys(kl__vet *vet, const kl__node *object,
                              const char *member, const kl__node *others)
{
    const kl__node *list = kl__node_get(object, member), *value;
    size_t mark = kl__vet_into(vet, member), bytes = 0;
    kl__node_iter iter = {0};
    const char *key;
    size_t length;

    while ((value = kl__node_next(list, &iter, &key, &length)) != NULL) {
        size_t size = 0;

        kl__node_string(value, &size);
        check_key(vet, key, length);
        bytes += size;
        if (others != NULL && kl__node_get_n(others, key, length) != NULL) {
            refuse_key(vet, key, "duplicate of key present in binaryData");
        }
    }
    kl__vet_back(vet, mark);
    return bytes;
}

static void refuse_size(kl__vet *vet, const char *member)
{
    kl__vet_fault(vet, KL__FIELD_TOO_LONG, member, NULL,
                  "may not be more than 1048576 bytes");
}

void kl__vet_config_map(kl__vet *vet, const kl__node *object)
{
    const kl__node *binary = kl__node_get(object, "binaryData");
    size_t bytes = check_data_keys(vet, object, "data", binary);

    bytes += check_data_keys(vet, object, "binaryData", NULL) / 4 * 3;
    if (bytes > MOST_BYTES) {
        refuse_size(vet, "[]");
    }
}

/* --- Secrets. ------------------------------------------------------------- */

/* The keys that each type of Secret requires. */
static const struct {
    const char *type;
    const char *keys[2];
} types[] = {{"kubernetes.io/dockercfg", {".dockercfg", NULL}},
             {"kubernetes.io/dockerconfigjson", {".dockerconfigjson", NULL}},
             {"kubernetes.io/ssh-auth", {"ssh-privatekey", NULL}},
             {"kubernetes.io/tls", {"tls.crt", "tls.key"}}};

static void need_key(kl__vet *vet, const char *member, const char *key)
{
    size_t outer = kl__vet_into(vet, member);
    size_t mark = kl__vet_key(vet, key);

    kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL, "");
    kl__vet_back(vet, mark);
    kl__vet_back(vet, outer);
}

static void check_secret_type(kl__vet *vet, const kl__node *object,
                              const char *type)
{
    const kl__node *data = kl__node_get(object, "data");

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].type, type) != 0) {
            continue;
        }
        for (size_t at = 0; at < 2 && types[i].keys[at] != NULL; at++) {
            const char *key = types[i].keys[at];

            if (kl__node_get(data, key) == NULL) {
                need_key(vet, "data", key);
            }
        }
    }
}

void kl__vet_secret(kl__vet *vet, const kl__node *object)
{
    const char *type = kl__vet_text(object, "type");
    const kl__node *data = kl__node_get(object, "data");
    const kl__node *metadata = kl__node_get(object, "metadata");

    if (check_data_keys(vet, object, "data", NULL) / 4 * 3 > MOST_BYTES) {
        refuse_size(vet, "data");
    }
    if (strcmp(type, "kubernetes.io/service-account-token") == 0 &&
        *kl__vet_text(kl__node_get(metadata, "annotations"),
                      "kubernetes.io/service-account.name") == '\0') {
        need_key(vet, "metadata.annotations",
                 "kubernetes.io/service-account.name");
    } else if (strcmp(type, "kubernetes.io/basic-auth") == 0 &&
               kl__node_get(data, "username") == NULL &&
               kl__node_get(data, "password") == NULL) {
        need_key(vet, "data", "username");
        need_key(vet, "data", "password");
    } else {
        check_secret_type(vet, object, type);
    }
}
