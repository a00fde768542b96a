/*
 * custom_embedded.c - see custom.h: embedded resources must have a valid kind,
 * apiVersion and metadata.
 */
#include "sim/core/schema/custom.h"

#include "sim/core/schema/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct embedded {
    kl__buf path;
    kl__field_errors *errors;
} embedded;

static size_t enter_embedded(embedded *self, const char *open, const char *name,
                             size_t length, const char *close)
{
    size_t before = self->path.length;

    kl__buf_puts(&self->path, before != 0 || *open != '.' ? open : "");
    kl__buf_append(&self->path, name, length);
    kl__buf_puts(&self->path, close);
    return before;
}

static void leave_embedded(embedded *self, size_t before)
{
    self->path.length = before;
    if (self->path.bytes != NULL) {
        self->path.bytes[before] = '\0';
    }
}

static const char *embedded_path(const embedded *self)
{
    return self->path.bytes != NULL ? self->path.bytes : "";
}

static void check_embedded_version(embedded *self, const kl__node *value)
{
    const char *text = kl__node_string(value, NULL), *slash;

    if (!kl__node_is(value, KL_STRING)) {
        kl__field_invalid_node(self->errors, embedded_path(self), value,
                               "must be a string");
    } else if (*text == '\0') {
        kl__field_invalid(self->errors, embedded_path(self), text,
                          "must not be empty");
    } else {
        slash = strchr(text, '/');
        if (slash != NULL && strchr(slash + 1, '/') != NULL) {
            kl__field_invalid(self->errors, embedded_path(self), text,
                              "unexpected GroupVersion string: %s", text);
        }
    }
}

static void check_kind(embedded *self, const kl__node *value)
{
    const char *text = kl__node_string(value, NULL);
    char lower[300];
    size_t length = 0;
    kl__buf why = {0};

    if (!kl__node_is(value, KL_STRING)) {
        kl__field_invalid_node(self->errors, embedded_path(self), value,
                               "must be a string");
        return;
    }
    if (*text == '\0') {
        kl__field_invalid(self->errors, embedded_path(self), text,
                          "must not be empty");
        return;
    }
    while (text[length] != '\0' && length < sizeof(lower) - 1) {
        lower[length] = (char)tolower((unsigned char)text[length]);
        length++;
    }
    lower[length] = '\0';
    if (!kl__name_is_dns1035(lower, &why)) {
        kl__field_invalid(self->errors, embedded_path(self), text,
                          "may have mixed case, but should otherwise match: %s",
                          why.bytes != NULL ? why.bytes : "");
    }
    self->errors->failed |= why.failed;
    kl__buf_deinit(&why);
}

static void check_one(embedded *self, const char *name, const kl__node *value,
                      void (*check)(embedded *, const kl__node *))
{
    const kl__node *member = kl__node_get(value, name);
    size_t before = enter_embedded(self, ".", name, strlen(name), "");

    if (member == NULL) {
        kl__field_add(self->errors, KL__FIELD_REQUIRED, embedded_path(self),
                      NULL, "");
    } else {
        check(self, member);
    }
    leave_embedded(self, before);
}

static void check_embedded(embedded *self, const kl__schema *schema,
                           const kl__node *value, bool is_root)
{
    bool is_map = schema->type == KL__SCHEMA_MAP;
    kl__node_iter iter = {0};
    const kl__node *member;
    const char *name;
    size_t length, before;
    char index[32];

    if (kl__node_is(value, KL_OBJECT)) {
        if (!is_root && (schema->flags & KL__SCHEMA_EMBEDDED) != 0) {
            check_one(self, "apiVersion", value, check_embedded_version);
            check_one(self, "kind", value, check_kind);
        }
        while ((member = kl__node_next(value, &iter, &name, &length)) != NULL) {
            const kl__schema *known =
                is_map ? schema->items : kl__custom_field(schema, name, length);

            if (known != NULL) {
                before = enter_embedded(self, is_map ? "[" : ".", name, length,
                                        is_map ? "]" : "");
                check_embedded(self, known, member, false);
                leave_embedded(self, before);
            }
        }
    } else if (kl__node_is(value, KL_ARRAY) && schema->items != NULL &&
               !is_map) {
        for (size_t i = 0;
             (member = kl__node_next(value, &iter, NULL, NULL)) != NULL; i++) {
            snprintf(index, sizeof(index), "%zu", i);
            before = enter_embedded(self, "[", index, strlen(index), "]");
            check_embedded(self, schema->items, member, false);
            leave_embedded(self, before);
        }
    }
}

void kl__custom_validate_embedded(const kl__schema *schema,
                                  const kl__node *value, const char *prefix,
                                  kl__field_errors *errors)
{
    embedded self = {{0}, errors};

    kl__buf_puts(&self.path, prefix);
    check_embedded(&self, schema, value, *prefix == '\0');
    errors->failed |= self.path.failed;
    kl__buf_deinit(&self.path);
}
