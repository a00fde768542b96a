/*
 * typed_check.c - see typed.h: checks a configuration, with messages in the
 * words of structured-merge-diff.
 */
#include "sim/core/patch/typed.h"

#include "base/mem.h"
#include "sim/core/patch/field_name.h"
#include "sim/core/patch/go_text.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ERRORS = 20 };

/* One check: the current path, and the errors so far. */
typedef struct checking {
    kl__typed typed;
    kl__buf path;
    kl__buf errors; /* a line each: "path: what" */
    size_t count;
    bool failed; /* out of memory */
} checking;

static void check_typed(checking *self, const kl__schema *schema,
                        const kl__node *value);

static void add_error(checking *self, const char *text)
{
    if (self->count++ >= MOST_ERRORS) {
        return;
    }
    if (self->count > 1) {
        kl__buf_puts(&self->errors, "\n  ");
    }
    if (self->path.length > 0) {
        kl__buf_append(&self->errors, self->path.bytes, self->path.length);
        kl__buf_puts(&self->errors, ": ");
    }
    kl__buf_puts(&self->errors, text);
}

static void leave_typed(checking *self, size_t length)
{
    self->path.length = length;
}

static void check_typed_members(checking *self, const kl__schema *schema,
                                const kl__node *object)
{
    kl__node_iter iter = {0};
    size_t before = self->path.length, length;
    const kl__node *value;
    const char *name;

    while ((value = kl__node_next(object, &iter, &name, &length)) != NULL) {
        bool is_field;
        const kl__schema *below =
            kl__schema_below(schema, name, length, &is_field);

        kl__buf_putc(&self->path, '.');
        kl__buf_append(&self->path, name, length);
        if (schema->type == KL__SCHEMA_OBJECT && !is_field &&
            (schema->flags & KL__SCHEMA_PRESERVE) == 0) {
            add_error(self, "field not declared in schema");
        } else {
            check_typed(self, below, value);
        }
        leave_typed(self, before);
    }
}

/* Checks the name of an element of a set or map, which must be unique. False:
 * the element has no name. */
static bool check_element_name(checking *self, const kl__schema *schema,
                               const kl__node *value, kl__map *seen,
                               size_t index)
{
    char why[512], text[640];
    kl__buf *name = &self->typed.name;
    kl__node *kept;
    kl__buf words = {0};

    kl__buf_reset(name);
    if (!kl__field_of_element(name, schema, value, why, sizeof(why))) {
        snprintf(text, sizeof(text), "element %zu: %s", index, why);
        add_error(self, text);
        return false;
    }
    kl__fields_text(&words, name->bytes, name->length);
    kept = kl__edit_text_n(self->typed.edit, name->bytes, name->length);
    if (kept == NULL || words.failed || name->failed) {
        self->failed = true;
    } else if (kl__map_get_n(seen, name->bytes, name->length) != NULL) {
        snprintf(text, sizeof(text), "duplicate entries for key %.500s",
                 words.bytes);
        add_error(self, text);
    } else {
        size_t length;
        const char *bytes = kl__node_string(kept, &length);

        self->failed = !kl__map_put_n(seen, bytes, length, kept, NULL);
    }
    if (!self->failed) {
        kl__buf_append(&self->path, words.bytes, words.length);
    }
    kl__buf_deinit(&words);
    return !self->failed;
}

static void check_elements(checking *self, const kl__schema *schema,
                           const kl__node *list)
{
    size_t before = self->path.length, index = 0;
    bool is_named =
        schema->list == KL__LIST_SET || schema->list == KL__LIST_MAP;
    kl__node_iter iter = {0};
    const kl__node *value;
    kl__map seen = {0};

    while (!self->failed &&
           (value = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        if (!is_named) {
            kl__buf_printf(&self->path, "[%zu]", index);
        } else if (!check_element_name(self, schema, value, &seen, index)) {
            break;
        }
        check_typed(self, schema->items, value);
        leave_typed(self, before);
        index++;
    }
    kl__map_deinit(&seen);
}

static bool is_number(const kl__node *value)
{
    kl_type type = kl__node_type(value);

    return type == KL_INTEGER || type == KL_UNSIGNED || type == KL_REAL ||
           type == KL_NUMBER;
}

static void refuse_value(checking *self, const char *wanted,
                         const kl__node *value)
{
    char text[512];
    char *got = kl__go_text(value);
    const char *shown = got != NULL ? got : "";

    if (strcmp(wanted, "string") == 0) {
        snprintf(text, sizeof(text),
                 "expected string, got &value.valueUnstructured{Value:%.400s}",
                 shown);
    } else if (strncmp(wanted, "numeric", 7) == 0) {
        snprintf(text, sizeof(text), "expected %s, got %s", wanted,
                 kl__go_type(value));
    } else {
        snprintf(text, sizeof(text), "expected %s, got &{%.400s}", wanted,
                 shown);
    }
    add_error(self, text);
    kl__free(got);
}

static void check_scalar(checking *self, const kl__schema *schema,
                         const kl__node *value)
{
    bool is_text = kl__node_is(value, KL_STRING);

    switch (schema->type) {
    case KL__SCHEMA_STRING:
        /* A quantity may be any scalar. */
        if (!is_text && (schema->format != KL__FORMAT_QUANTITY ||
                         kl__node_size(value) > 0)) {
            refuse_value(self, "string", value);
        }
        break;
    case KL__SCHEMA_INTEGER:
    case KL__SCHEMA_NUMBER:
        if (!is_number(value)) {
            refuse_value(self, "numeric (int or float)", value);
        }
        break;
    case KL__SCHEMA_BOOLEAN:
        if (!kl__node_is(value, KL_BOOL)) {
            refuse_value(self, "boolean", value);
        }
        break;
    default:
        if (kl__node_is(value, KL_OBJECT) || kl__node_is(value, KL_ARRAY)) {
            refuse_value(self, "any scalar", value);
        }
    }
}

static void check_typed(checking *self, const kl__schema *schema,
                        const kl__node *value)
{
    if (schema == NULL || schema->type == KL__SCHEMA_ANY ||
        kl__node_type(value) == KL_NULL) {
        return;
    }
    switch (schema->type) {
    case KL__SCHEMA_OBJECT:
    case KL__SCHEMA_MAP:
        if (kl__node_is(value, KL_OBJECT)) {
            check_typed_members(self, schema, value);
        } else {
            refuse_value(self, "map", value);
        }
        break;
    case KL__SCHEMA_ARRAY:
        if (kl__node_is(value, KL_ARRAY)) {
            check_elements(self, schema, value);
        } else {
            refuse_value(self, "list", value);
        }
        break;
    default:
        check_scalar(self, schema, value);
    }
}

kl_code kl__typed_check(kl__edit *edit, const kl__schema *schema,
                        const kl__node *config, kl_error *err)
{
    checking self = {.typed = {.edit = edit}};
    kl_code code = KL_OK;

    check_typed(&self, schema, config);
    if (self.failed || self.path.failed || self.errors.failed) {
        code = kl_error_set(err, KL_ENOMEM, "out of memory for a check");
    } else if (self.count > 0) {
        code = kl_error_set(err, KL_EINVAL, "%s%s",
                            self.count > 1 ? "errors:\n  " : "",
                            self.errors.bytes);
    }
    kl__buf_deinit(&self.path);
    kl__buf_deinit(&self.errors);
    kl__typed_deinit(&self.typed);
    return code;
}
