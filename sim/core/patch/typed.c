/*
 * typed.c - see typed.h: functions that the walks share, and the walk that
 * finds the fields of an object.
 */
#include "sim/core/patch/typed.h"

#include "base/mem.h"
#include "sim/core/patch/field_name.h"

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
