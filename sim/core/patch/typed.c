/*
 * typed.c - see typed.h: functions that the walks share, the walk that finds
 * the fields of an object, and the check of a configuration, with messages in
 * the words of structured-merge-diff.
 */
#include "sim/core/patch/typed.h"

#include "base/mem.h"
#include "sim/core/patch/field_set.h"

#include <stdio.h>
#include <string.h>

void kl__typed_deinit(kl__typed *typed)
{
    kl__buf_deinit(&typed->name);
}

kl__shape kl__shape_of(const kl__schema *schema, const kl__node *value)
{
    bool is_known =
        schema != NULL && (schema->type != KL__SCHEMA_ANY ||
                           (schema->flags & KL__SCHEMA_CUSTOM) == 0);

    if (!is_known) {
        return kl__node_is(value, KL_OBJECT) ? KL__SHAPE_MAP : KL__SHAPE_LEAF;
    }
    switch (schema->type) {
    case KL__SCHEMA_OBJECT:
    case KL__SCHEMA_MAP:
        return schema->list == KL__LIST_ATOMIC ? KL__SHAPE_LEAF : KL__SHAPE_MAP;
    case KL__SCHEMA_ARRAY:
        return schema->list == KL__LIST_SET || schema->list == KL__LIST_MAP
                   ? KL__SHAPE_LIST
                   : KL__SHAPE_LEAF;
    default:
        return KL__SHAPE_LEAF;
    }
}

const kl__schema *kl__schema_below(const kl__schema *schema, const char *name,
                                   size_t length, bool *is_field)
{
    const kl__schema_field *field;

    *is_field = false;
    if (schema == NULL) {
        return NULL;
    }
    if (schema->type != KL__SCHEMA_OBJECT) {
        return schema->items;
    }
    field = kl__schema_get(schema, name, length);
    *is_field = field != NULL;
    return field != NULL ? field->schema : NULL;
}

bool kl__typed_name(kl__typed *typed, const char *name, size_t length)
{
    kl__buf_reset(&typed->name);
    kl__buf_append(&typed->name, "f:", 2);
    kl__buf_append(&typed->name, name, length);
    return !typed->name.failed;
}

/* --- Elements. ------------------------------------------------------------ */

static bool add_element(kl__elements *elements, kl__typed *typed,
                        const kl__schema *schema, kl__node *value)
{
    kl__element *item = &elements->items[elements->count];
    const kl__element *first;
    kl__node *kept;

    kl__buf_reset(&typed->name);
    if (!kl__field_of_element(&typed->name, schema, value, NULL, 0)) {
        return !typed->name.failed;
    }
    kept = typed->name.failed ? NULL
                              : kl__edit_text_n(typed->edit, typed->name.bytes,
                                                typed->name.length);
    if (kept == NULL) {
        return false;
    }
    item->value = value;
    item->name = kl__node_string(kept, &item->length);
    item->times = 1;
    first = kl__elements_find(elements, item->name, item->length);
    item->first =
        first != NULL ? (size_t)(first - elements->items) : elements->count;
    if (first != NULL) {
        elements->items[item->first].times++;
    } else {
        kl__map_put_n(&elements->by_name, item->name, item->length,
                      (void *)(uintptr_t)(elements->count + 1), NULL);
    }
    elements->count++;
    return true;
}

bool kl__elements_init(kl__elements *elements, kl__typed *typed,
                       const kl__schema *schema, const kl__node *list)
{
    size_t size = kl__node_is(list, KL_ARRAY) ? kl__node_size(list) : 0;
    kl__node_iter iter = {0};
    kl__node *value;

    *elements = (kl__elements){0};
    if (size == 0) {
        return true;
    }
    elements->items = kl__calloc(size, sizeof(*elements->items));
    if (elements->items == NULL || !kl__map_reserve(&elements->by_name, size)) {
        return false;
    }
    while ((value = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        if (!add_element(elements, typed, schema, value)) {
            return false;
        }
    }
    return true;
}

void kl__elements_deinit(kl__elements *elements)
{
    kl__free(elements->items);
    kl__map_deinit(&elements->by_name);
}

const kl__element *kl__elements_find(const kl__elements *elements,
                                     const char *name, size_t length)
{
    size_t index =
        (size_t)(uintptr_t)kl__map_get_n(&elements->by_name, name, length);

    return index > 0 ? &elements->items[index - 1] : NULL;
}

/* --- The fields of an object. --------------------------------------------- */

static bool add_fields(kl__typed *typed, const kl__schema *schema,
                       const kl__node *value, kl__node *into);

/* True for null and for an object without members: such a value is a field by
 * itself. */
static bool is_nothing(const kl__node *value)
{
    return kl__node_type(value) == KL_NULL ||
           (kl__node_is(value, KL_OBJECT) && kl__node_size(value) == 0);
}

static bool add_members(kl__typed *typed, const kl__schema *schema,
                        const kl__node *object, kl__node *into)
{
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;
    size_t length;

    while ((value = kl__node_next(object, &iter, &name, &length)) != NULL) {
        bool is_field;
        const kl__schema *below =
            kl__schema_below(schema, name, length, &is_field);
        kl__node *element = kl__fields_begin(
            typed->edit, is_nothing(value) || !is_field ||
                             kl__shape_of(below, value) == KL__SHAPE_LEAF);

        if (element == NULL || !add_fields(typed, below, value, element) ||
            !kl__typed_name(typed, name, length) ||
            !kl__fields_end(typed->edit, into, typed->name.bytes,
                            typed->name.length, element)) {
            return false;
        }
    }
    return true;
}

static bool add_elements(kl__typed *typed, const kl__schema *schema,
                         const kl__node *list, kl__node *into)
{
    kl__elements elements;
    bool done = kl__elements_init(&elements, typed, schema, list);

    for (size_t i = 0; done && i < elements.count; i++) {
        const kl__element *item = &elements.items[i];
        kl__node *element;

        if (item->first != i) {
            continue;
        }
        element = kl__fields_begin(typed->edit, true);
        done = element != NULL &&
               (item->times > 1 ||
                add_fields(typed, schema->items, item->value, element)) &&
               kl__fields_end(typed->edit, into, item->name, item->length,
                              element);
    }
    kl__elements_deinit(&elements);
    return done;
}

static bool add_fields(kl__typed *typed, const kl__schema *schema,
                       const kl__node *value, kl__node *into)
{
    switch (kl__shape_of(schema, value)) {
    case KL__SHAPE_MAP:
        return !kl__node_is(value, KL_OBJECT) ||
               add_members(typed, schema, value, into);
    case KL__SHAPE_LIST:
        return add_elements(typed, schema, value, into);
    default:
        return true;
    }
}

kl__node *kl__typed_fields(kl__edit *edit, const kl__schema *schema,
                           const kl__node *object)
{
    kl__typed typed = {.edit = edit};
    kl__node *fields = kl__edit_object(edit);
    bool done = fields != NULL && add_fields(&typed, schema, object, fields) &&
                kl__fields_sort(edit, fields);

    kl__typed_deinit(&typed);
    return done ? fields : NULL;
}

/* ---- checks of a configuration ---- */

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
    char *got = kl__node_json(value, NULL, NULL);

    snprintf(text, sizeof(text), "expected %s, got %.400s", wanted,
             got != NULL ? got : "");
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
