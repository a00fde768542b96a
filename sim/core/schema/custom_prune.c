/*
 * custom_prune.c - see custom.h: removes fields that a custom resource's schema
 * does not have, and sets its defaults.
 */
#include "sim/core/schema/custom.h"

#include <stdio.h>
#include <string.h>

const kl__schema *kl__custom_field(const kl__schema *schema, const char *name,
                                   size_t length)
{
    size_t low = 0, high = schema->field_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = schema->fields[middle].name;
        int order = kl__name_compare(other, strlen(other), name, length);

        if (order == 0) {
            return schema->fields[middle].schema;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* The schema of a member: that of the field with this name, or of all members
 * of a map; NULL: none. */
static const kl__schema *member_of(const kl__schema *schema, const char *name,
                                   size_t length)
{
    if (schema == NULL || schema->type == KL__SCHEMA_MAP) {
        return schema != NULL ? schema->items : NULL;
    }
    return kl__custom_field(schema, name, length);
}

static bool is_meta(const char *name, size_t length)
{
    return (length == 10 && memcmp(name, "apiVersion", 10) == 0) ||
           (length == 4 && memcmp(name, "kind", 4) == 0) ||
           (length == 8 && memcmp(name, "metadata", 8) == 0);
}

static bool has_flag(const kl__schema *schema, unsigned flag)
{
    return schema != NULL && (schema->flags & flag) != 0;
}

/* True if unknown members are kept: by the schema's own flag, or because a
 * built-in type allows any value. */
static bool is_open(const kl__schema *schema)
{
    return has_flag(schema, KL__SCHEMA_PRESERVE) ||
           (schema != NULL && schema->type == KL__SCHEMA_ANY &&
            !has_flag(schema, KL__SCHEMA_CUSTOM));
}

/* --- Pruning. ------------------------------------------------------------- */

typedef struct pruning {
    kl__buf path;     /* the path of the current value */
    kl__buf *unknown; /* for the paths of removed fields, or NULL */
} pruning;

static void prune_value(pruning *self, const kl__schema *schema,
                        kl__node *value, bool keeps);

static size_t enter_pruned(pruning *self, const char *name, size_t length)
{
    size_t before = self->path.length;

    if (self->unknown != NULL) {
        if (before != 0) {
            kl__buf_putc(&self->path, '.');
        }
        kl__buf_append(&self->path, name, length);
    }
    return before;
}

static void leave_pruned(pruning *self, size_t before)
{
    self->path.length = before;
    if (self->path.bytes != NULL) {
        self->path.bytes[before] = '\0';
    }
}

static void note_pruned(pruning *self, const char *name, size_t length)
{
    size_t before = enter_pruned(self, name, length);

    if (self->unknown != NULL) {
        kl__buf_append(self->unknown, self->path.bytes, self->path.length);
        kl__buf_putc(self->unknown, '\n');
    }
    leave_pruned(self, before);
}

static void prune_object(pruning *self, const kl__schema *schema,
                         kl__node *value, bool keeps)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length;
    kl__node *member;

    while ((member = kl__node_next(value, &iter, &name, &length)) != NULL) {
        const kl__schema *known = member_of(schema, name, length);
        size_t before;

        if (has_flag(schema, KL__SCHEMA_EMBEDDED) && is_meta(name, length) &&
            length != 8) {
            continue;
        }
        if (known == NULL && !keeps) {
            if (!is_meta(name, length) || self->path.length != 0) {
                note_pruned(self, name, length);
            }
            kl__node_drop(&iter);
        } else if (known != NULL) {
            before = enter_pruned(self, name, length);
            prune_value(self, known, member, is_open(known));
            leave_pruned(self, before);
        }
    }
}

/* Removes the fields that the schema (may be NULL) does not have, unless
 * `keeps`. Does the same inside the fields that it has. */
static void prune_value(pruning *self, const kl__schema *schema,
                        kl__node *value, bool keeps)
{
    const kl__schema *items = schema != NULL && schema->type == KL__SCHEMA_ARRAY
                                  ? schema->items
                                  : NULL;
    kl__node_iter iter = {0};
    kl__node *element;
    char text[32];

    if (kl__node_is(value, KL_OBJECT)) {
        prune_object(self, schema, value, keeps);
        return;
    }
    if (!kl__node_is(value, KL_ARRAY)) {
        return;
    }
    for (size_t i = 0;
         (element = kl__node_next(value, &iter, NULL, NULL)) != NULL; i++) {
        size_t before = self->path.length;

        if (self->unknown != NULL) {
            snprintf(text, sizeof(text), "[%zu]", i);
            kl__buf_puts(&self->path, text);
        }
        if (items != NULL || !keeps) {
            prune_value(self, items, element, keeps || is_open(items));
        }
        leave_pruned(self, before);
    }
}

kl_code kl__custom_prune(const kl__schema *schema, kl__node *value,
                         kl__buf *unknown, kl_error *err)
{
    pruning self = {{0}, unknown};
    bool failed;

    prune_value(&self, schema, value, is_open(schema));
    failed = self.path.failed || (unknown != NULL && unknown->failed);
    kl__buf_deinit(&self.path);
    return !failed ? KL_OK
                   : kl_error_set(err, KL_ENOMEM, "out of memory for a path");
}

/* --- Nulls and defaults. -------------------------------------------------- */

void kl__custom_drop_nulls(const kl__schema *schema, kl__node *value)
{
    bool is_object = kl__node_is(value, KL_OBJECT);
    kl__node_iter iter = {0};
    const char *name = NULL;
    size_t length = 0;
    kl__node *member;

    if (!is_object && !kl__node_is(value, KL_ARRAY)) {
        return;
    }
    while ((member = kl__node_next(value, &iter, is_object ? &name : NULL,
                                   is_object ? &length : NULL)) != NULL) {
        const kl__schema *known = is_object ? member_of(schema, name, length)
                                  : schema != NULL ? schema->items
                                                   : NULL;

        if (is_object && known != NULL && kl__node_is(member, KL_NULL) &&
            !has_flag(known, KL__SCHEMA_NULLABLE) && known->initial == NULL) {
            kl__node_drop(&iter);
        } else {
            kl__custom_drop_nulls(known, member);
        }
    }
}

static bool is_missing(const kl__schema *schema, const kl__node *value)
{
    return value == NULL || (kl__node_is(value, KL_NULL) &&
                             !has_flag(schema, KL__SCHEMA_NULLABLE));
}

/* Moves all members to another object; replaces each null by the default. */
static bool move_members(const kl__schema *items, kl__edit *edit,
                         kl__node *from, kl__node *to)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length;
    kl__node *member;

    while ((member = kl__node_next(from, &iter, &name, &length)) != NULL) {
        kl__node_drop(&iter);
        if (is_missing(items, member)) {
            member = kl__edit_value(edit, items->initial);
        }
        if (!kl__node_add_n(edit, to, name, length, member)) {
            return false;
        }
    }
    return true;
}

/* Replaces each null element of a list by the default. It moves all elements to
 * another list and back. */
static bool fill_elements(const kl__schema *items, kl__edit *edit,
                          kl__node *value)
{
    kl__node *other = kl__edit_array(edit);
    kl__node *pair[2] = {value, other};

    for (int i = 0; i < 2; i++) {
        kl__node_iter iter = {0};
        kl__node *element;

        while ((element = kl__node_next(pair[i], &iter, NULL, NULL)) != NULL) {
            kl__node_drop(&iter);
            if (is_missing(items, element)) {
                element = kl__edit_value(edit, items->initial);
            }
            if (!kl__node_append(pair[1 - i], element)) {
                return false;
            }
        }
    }
    return true;
}

/* In a map or list whose values have a default: replaces each null that is not
 * allowed by it. */
static bool fill_nulls(const kl__schema *items, kl__edit *edit, kl__node *value)
{
    kl__node_iter iter = {0};
    kl__node *element;
    bool found = false;

    while ((element = kl__node_next(value, &iter, NULL, NULL)) != NULL) {
        found = found || is_missing(items, element);
    }
    if (!found) {
        return true;
    }
    if (kl__node_is(value, KL_OBJECT)) {
        kl__node *other = kl__edit_object(edit);

        return other != NULL && move_members(items, edit, value, other) &&
               move_members(items, edit, other, value);
    }
    return fill_elements(items, edit, value);
}

static bool fill_defaults(const kl__schema *schema, kl__edit *edit,
                          kl__node *value);

static bool fill_object(const kl__schema *schema, kl__edit *edit,
                        kl__node *value)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length;
    kl__node *member;

    for (size_t i = 0; i < schema->field_count; i++) {
        const kl__schema_field *field = &schema->fields[i];

        if (field->schema->initial != NULL &&
            is_missing(field->schema, kl__node_get(value, field->name)) &&
            !kl__node_put(edit, value, field->name,
                          kl__edit_value(edit, field->schema->initial))) {
            return false;
        }
    }
    if (schema->type == KL__SCHEMA_MAP && schema->items->initial != NULL &&
        !fill_nulls(schema->items, edit, value)) {
        return false;
    }
    while ((member = kl__node_next(value, &iter, &name, &length)) != NULL) {
        const kl__schema *known = member_of(schema, name, length);

        if (known != NULL && !fill_defaults(known, edit, member)) {
            return false;
        }
    }
    return true;
}

/* Sets the defaults in a value. False: out of memory. */
static bool fill_defaults(const kl__schema *schema, kl__edit *edit,
                          kl__node *value)
{
    kl__node_iter iter = {0};
    kl__node *element;

    if (kl__node_is(value, KL_OBJECT)) {
        return fill_object(schema, edit, value);
    }
    if (!kl__node_is(value, KL_ARRAY) || schema->items == NULL ||
        schema->type == KL__SCHEMA_MAP) {
        return true;
    }
    if (schema->items->initial != NULL &&
        !fill_nulls(schema->items, edit, value)) {
        return false;
    }
    while ((element = kl__node_next(value, &iter, NULL, NULL)) != NULL) {
        if (!fill_defaults(schema->items, edit, element)) {
            return false;
        }
    }
    return true;
}

kl_code kl__custom_default(const kl__schema *schema, kl__edit *edit,
                           kl__node *value, kl_error *err)
{
    return fill_defaults(schema, edit, value)
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for defaults");
}
