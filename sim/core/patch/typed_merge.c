/*
 * typed_merge.c - see typed.h: merges a configuration into an object, and
 * removes fields from an object.
 */
#include "sim/core/patch/typed.h"

#include "base/mem.h"
#include "sim/core/patch/members.h"

#include <string.h>

static bool merge_typed(kl__typed *typed, const kl__schema *schema,
                        kl__node *value, const kl__node *config);

static bool take_config(kl__typed *typed, kl__node *value,
                        const kl__node *config)
{
    kl__node *copy = kl__edit_copy(typed->edit, config);

    if (copy != NULL) {
        kl__node_become(value, copy);
    }
    return copy != NULL;
}

static bool merge_members(kl__typed *typed, const kl__schema *schema,
                          kl__node *object, const kl__node *config)
{
    kl__node_iter iter = {0};
    kl__members old;
    kl__node *change, *value;
    const char *name;
    size_t length;
    bool done = true;

    kl__members_init(&old, object);
    while (done &&
           (change = kl__node_next(config, &iter, &name, &length)) != NULL) {
        bool is_field;

        value = kl__members_get(&old, name, length);
        if (value != NULL) {
            done = merge_typed(
                typed, kl__schema_below(schema, name, length, &is_field), value,
                change);
        } else {
            done = kl__node_add_n(typed->edit, object, name, length,
                                  kl__edit_copy(typed->edit, change));
        }
    }
    kl__members_deinit(&old);
    return done;
}

/* --- Lists. --------------------------------------------------------------- */

/* Two lists being merged, and the position in each. */
typedef struct list_merge {
    kl__typed *typed;
    const kl__schema *schema;
    kl__elements old;
    kl__elements new;
    bool *merged;  /* per new element: it is in the result */
    size_t shared; /* index of the next new element in both lists */
    kl__node *out;
} list_merge;

static void find_shared(list_merge *lists, size_t from)
{
    const kl__elements *new = &lists->new;

    lists->shared = from;
    while (lists->shared < new->count &&
           kl__elements_find(&lists->old, new->items[lists->shared].name,
                             new->items[lists->shared].length) == NULL) {
        lists->shared++;
    }
}

/* Appends a new element, merged into the old element of the same name. */
static bool put_new(list_merge *lists, size_t index)
{
    const kl__element *new = &lists->new.items[index];
    const kl__element *old =
        kl__elements_find(&lists->old, new->name, new->length);
    kl__node *value;

    lists->merged[index] = true;
    if (index == lists->shared) {
        find_shared(lists, index + 1);
    }
    if (old == NULL || old->times > 1) {
        value = kl__edit_copy(lists->typed->edit, new->value);
        return kl__node_append(lists->out, value);
    }
    value = kl__edit_copy(lists->typed->edit, old->value);
    return value != NULL &&
           merge_typed(lists->typed, lists->schema->items, value, new->value) &&
           kl__node_append(lists->out, value);
}

/* The index of the new element with the name of an old element, or the
 * count. */
static size_t new_index(const list_merge *lists, const kl__element *old)
{
    const kl__element *new =
        kl__elements_find(&lists->new, old->name, old->length);

    return new != NULL ? (size_t)(new - lists->new.items) : lists->new.count;
}

/* Decides the order: elements in both lists come in the order of the
 * configuration; other old elements stay between them where they were; new
 * elements come after the element that they follow in the configuration. */
static bool interleave_lists(list_merge *lists)
{
    size_t old_at = 0, new_at = 0, old_count = lists->old.count;
    size_t new_count = lists->new.count;
    bool done = true;

    while (done && (old_at < old_count || new_at < new_count)) {
        size_t same = new_count;

        if (old_at < old_count) {
            const kl__element *old = &lists->old.items[old_at];

            same = new_index(lists, old);
            if (new_at < new_count && same == new_at) {
                done = put_new(lists, new_at++);
                old_at++;
                continue;
            }
            if (new_at < new_count && same < new_count &&
                lists->shared < new_count && same != lists->shared) {
                old_at++; /* in both lists: put later, or already */
                continue;
            }
            if (same == new_count) {
                done = kl__node_append(
                    lists->out, kl__edit_copy(lists->typed->edit, old->value));
                old_at++;
                continue;
            }
            old_at += lists->merged[same];
        }
        if (new_at < new_count) {
            done = put_new(lists, new_at++);
        }
    }
    return done;
}

static bool merge_elements(kl__typed *typed, const kl__schema *schema,
                           kl__node *list, const kl__node *config)
{
    list_merge lists = {.typed = typed, .schema = schema};
    bool done = kl__elements_init(&lists.old, typed, schema, list);

    done = kl__elements_init(&lists.new, typed, schema, config) && done;
    lists.merged = kl__calloc(lists.new.count + 1, sizeof(bool));
    lists.out = kl__edit_array(typed->edit);
    if (done && lists.merged != NULL && lists.out != NULL) {
        find_shared(&lists, 0);
        done = interleave_lists(&lists);
        if (done) {
            kl__node_become(list, lists.out);
        }
    } else {
        done = false;
    }
    kl__free(lists.merged);
    kl__elements_deinit(&lists.old);
    kl__elements_deinit(&lists.new);
    return done;
}

static bool merge_typed(kl__typed *typed, const kl__schema *schema,
                        kl__node *value, const kl__node *config)
{
    kl__shape shape = kl__shape_of(schema, config);

    if (shape == KL__SHAPE_LEAF || kl__node_type(value) == KL_NULL ||
        kl__node_size(value) == 0) {
        return take_config(typed, value, config);
    }
    if (kl__node_type(config) == KL_NULL) {
        return true; /* no merge: the old value stays */
    }
    if (shape == KL__SHAPE_LIST) {
        return merge_elements(typed, schema, value, config);
    }
    return kl__node_is(value, KL_OBJECT)
               ? merge_members(typed, schema, value, config)
               : take_config(typed, value, config);
}

bool kl__typed_merge(kl__edit *edit, const kl__schema *schema, kl__node *object,
                     const kl__node *config)
{
    kl__typed typed = {.edit = edit};
    bool done = merge_typed(&typed, schema, object, config);

    kl__typed_deinit(&typed);
    return done;
}

/* --- Removing fields. ----------------------------------------------------- */

static bool reduce_value(kl__typed *typed, const kl__schema *schema,
                         kl__node *value, const kl__node *fields,
                         bool *is_left);

/* Removes fields from one member or element. *is_left false: the caller removes
 * the member or element itself. */
static bool reduce_one(kl__typed *typed, const kl__schema *schema,
                       kl__node *value, const kl__node *element, bool *is_left)
{
    *is_left = element == NULL || !kl__fields_has(element);
    if (element == NULL || !*is_left) {
        return true;
    }
    return reduce_value(typed, schema, value, element, is_left);
}

static bool is_emptied(kl__typed *typed, kl__node *value)
{
    kl__node *null = kl__edit_null(typed->edit);

    if (null != NULL) {
        kl__node_become(value, null);
    }
    return null != NULL;
}

static bool reduce_members(kl__typed *typed, const kl__schema *schema,
                           kl__node *object, const kl__node *fields)
{
    kl__node_iter iter = {0};
    kl__members removed;
    kl__node *value;
    const char *name;
    size_t length;
    bool done = true;

    /* A value that was emptied (not removed) becomes null, as in a real
     * server. */
    kl__members_init(&removed, fields);
    while (done &&
           (value = kl__node_next(object, &iter, &name, &length)) != NULL) {
        bool is_field, is_left = true;
        const kl__schema *below =
            kl__schema_below(schema, name, length, &is_field);
        const kl__node *element;

        done = kl__typed_name(typed, name, length);
        element =
            kl__members_get(&removed, typed->name.bytes, typed->name.length);
        done = done && reduce_one(typed, below, value, element, &is_left);
        if (!is_left && kl__fields_has(element)) {
            kl__node_drop(&iter);
        } else if (!is_left) {
            done = is_emptied(typed, value);
        }
    }
    kl__members_deinit(&removed);
    return done;
}

static bool reduce_elements(kl__typed *typed, const kl__schema *schema,
                            kl__node *list, const kl__node *fields)
{
    kl__elements elements;
    kl__members removed;
    bool done = kl__elements_init(&elements, typed, schema, list);
    kl__node *out = kl__edit_array(typed->edit);

    kl__members_init(&removed, fields);
    done = done && out != NULL;
    for (size_t i = 0; done && i < elements.count; i++) {
        const kl__element *item = &elements.items[i];
        bool is_left = true;

        done = reduce_one(typed, schema->items, item->value,
                          kl__members_get(&removed, item->name, item->length),
                          &is_left);
        if (done && is_left) {
            done =
                kl__node_append(out, kl__edit_copy(typed->edit, item->value));
        }
    }
    if (done) {
        kl__node_become(list, out);
    }
    kl__members_deinit(&removed);
    kl__elements_deinit(&elements);
    return done;
}

static bool reduce_value(kl__typed *typed, const kl__schema *schema,
                         kl__node *value, const kl__node *fields, bool *is_left)
{
    kl__shape shape = kl__shape_of(schema, value);
    bool done;

    if (shape == KL__SHAPE_LEAF) {
        /* An atomic value is removed as a whole; a scalar has nothing below
         * it. */
        *is_left =
            !kl__node_is(value, KL_OBJECT) && !kl__node_is(value, KL_ARRAY);
        return true;
    }
    done = shape == KL__SHAPE_LIST
               ? reduce_elements(typed, schema, value, fields)
               : reduce_members(typed, schema, value, fields);
    *is_left = kl__node_size(value) > 0;
    return done;
}

bool kl__typed_remove(kl__edit *edit, const kl__schema *schema,
                      kl__node *object, const kl__node *fields)
{
    kl__typed typed = {.edit = edit};
    bool is_left, done = reduce_value(&typed, schema, object, fields, &is_left);

    kl__typed_deinit(&typed);
    return done;
}

bool kl__typed_mark(kl__edit *edit, const kl__schema *schema, kl__node *fields)
{
    kl__node_iter iter = {0};
    kl__node *element;
    const char *name;
    size_t length;

    while ((element = kl__node_next(fields, &iter, &name, &length)) != NULL) {
        bool is_field = false;
        const kl__schema *below = NULL;

        if (length < 2 || kl__node_size(element) == 0) {
            continue;
        }
        if (*name == 'f') {
            below = kl__schema_below(schema, name + 2, length - 2, &is_field);
        } else if (*name == 'k' && schema != NULL) {
            below = schema->items;
        }
        if (!kl__typed_mark(edit, below, element) ||
            (is_field && !kl__fields_mark(edit, element))) {
            return false;
        }
    }
    return true;
}
