/*
 * typed_compare.c - see typed.h: compares two objects of a schema.
 */
#include "sim/core/patch/typed.h"

#include "sim/core/patch/members.h"

#include <string.h>

/* Down to this depth two values are first compared as a whole: most of an
 * object is usually unchanged. */
enum { COMPARED_LEVELS = 4 };

/* The two values at one path; either may be NULL. */
typedef struct pair {
    const kl__schema *schema;
    const kl__node *old;
    const kl__node *new;
    int level;
} pair;

static bool compare_below(kl__typed *typed, const pair *values,
                          const kl__difference *into);

static bool is_node_empty(const kl__node *value)
{
    return kl__node_size(value) == 0;
}

/* The value whose type decides how a pair is compared: the new value, or the
 * old value if the new value is null or missing. */
static const kl__node *shaping_value(const pair *values)
{
    return kl__node_type(values->new) != KL_NULL || values->old == NULL
               ? values->new
               : values->old;
}

/* True if two values are compared as a whole. */
static bool is_leaf(const pair *values)
{
    const kl__node *either = shaping_value(values);

    return kl__shape_of(values->schema, either) == KL__SHAPE_LEAF ||
           (is_node_empty(values->old) && is_node_empty(values->new));
}

/* True if a scalar or list has become a map, where the schema is unknown. */
static bool has_turned(const pair *values)
{
    return values->old != NULL &&
           values->new != NULL &&kl__node_type(values->old) !=
               KL_NULL &&kl__shape_of(values->schema, values->old) ==
               KL__SHAPE_LEAF &&kl__shape_of(values->schema, values->new) ==
               KL__SHAPE_MAP;
}

/* If a map has become another value, where the schema is unknown: all fields
 * below the map count as removed. */
static bool compare_turned(kl__typed *typed, const pair *values,
                           const kl__difference *into)
{
    const pair gone = {values->schema, values->old, NULL, values->level};

    if (values->new == NULL || kl__node_type(values->new) == KL_NULL ||
        !kl__node_is(values->old, KL_OBJECT) ||
        kl__shape_of(values->schema, values->old) != KL__SHAPE_MAP ||
        kl__shape_of(values->schema, values->new) == KL__SHAPE_MAP) {
        return true;
    }
    return compare_below(typed, &gone, into);
}

/* Compares at one path: begins its elements in both sets, compares what is
 * below, and ends the elements. */
static bool compare_at(kl__typed *typed, const pair *values, const char *name,
                       size_t length, const kl__difference *into)
{
    bool is_new = values->old == NULL, is_gone = values->new == NULL;
    bool leaf = is_leaf(values);
    bool is_turned = !leaf && has_turned(values);
    kl__difference at;

    if (!is_new && !is_gone && (leaf || values->level < COMPARED_LEVELS) &&
        kl__node_equal(values->old, values->new)) {
        return true;
    }
    at.changed = kl__fields_begin(typed->edit,
                                  !is_gone && (is_new || leaf || is_turned));
    at.removed = kl__fields_begin(typed->edit, is_gone);
    return at.changed != NULL && at.removed != NULL &&
           (leaf ? compare_turned(typed, values, &at)
                 : compare_below(typed, values, &at)) &&
           kl__fields_end(typed->edit, into->changed, name, length,
                          at.changed) &&
           kl__fields_end(typed->edit, into->removed, name, length, at.removed);
}

/* Compares a member. It keeps a copy of the name, because going deeper
 * overwrites typed->name. */
static bool compare_member(kl__typed *typed, const pair *values,
                           const char *name, size_t length,
                           const kl__difference *into)
{
    kl__node *kept;
    size_t kept_length;
    const char *text;

    if (values->old != NULL && values->new != NULL &&
        (is_leaf(values) || values->level < COMPARED_LEVELS) &&
        kl__node_equal(values->old, values->new)) {
        return true;
    }
    if (!kl__typed_name(typed, name, length)) {
        return false;
    }
    kept = kl__edit_text_n(typed->edit, typed->name.bytes, typed->name.length);
    if (kept == NULL) {
        return false;
    }
    text = kl__node_string(kept, &kept_length);
    return compare_at(typed, values, text, kept_length, into);
}

/* What Go writes for a missing field: {} for a struct that is no pointer, null
 * for another field without omitempty; NULL: nothing. */
static const kl__node *go_value(const kl__typed *typed,
                                const kl__schema *schema)
{
    const unsigned flags = schema->flags;
    bool is_struct = schema->type == KL__SCHEMA_OBJECT ||
                     schema->format == KL__FORMAT_TIME ||
                     schema->format == KL__FORMAT_MICROTIME;

    if ((flags & KL__SCHEMA_OMIT_ZERO) != 0) {
        return NULL;
    }
    if (is_struct && (flags & KL__SCHEMA_POINTER) == 0) {
        return schema->type == KL__SCHEMA_OBJECT ? typed->empty : typed->null;
    }
    return (flags & KL__SCHEMA_OMIT_EMPTY) == 0 ? typed->null : NULL;
}

/* True if objects of a schema are Go structs. */
static bool is_go(const kl__schema *schema)
{
    return schema != NULL && schema->type == KL__SCHEMA_OBJECT &&
           (schema->flags & KL__SCHEMA_CUSTOM) == 0;
}

/* The value of a member that a side lacks; the side may be NULL. */
static const kl__node *missing_value(const kl__typed *typed, const pair *values,
                                     const kl__node *side,
                                     const kl__schema *below)
{
    return side != NULL && below != NULL && is_go(values->schema)
               ? go_value(typed, below)
               : NULL;
}

/* Compares the members of one side: with `is_old` all of the old object, else
 * those that only the new one has. */
static bool compare_members(kl__typed *typed, const pair *values, bool is_old,
                            const kl__difference *into)
{
    const kl__node *from = is_old ? values->old : values->new;
    const kl__node *to = is_old ? values->new : values->old;
    kl__node_iter iter = {0};
    kl__members others;
    kl__node *value;
    const char *name;
    size_t length;
    bool done = true;

    kl__members_init(&others, to);
    while (done && kl__node_is(from, KL_OBJECT) &&
           (value = kl__node_next(from, &iter, &name, &length)) != NULL) {
        bool is_field;
        const kl__node *other = kl__members_get(&others, name, length);
        pair below = {kl__schema_below(values->schema, name, length, &is_field),
                      NULL, NULL, values->level + 1};

        if (!is_old && other != NULL) {
            continue;
        }
        if (other == NULL) {
            other = missing_value(typed, values, to, below.schema);
        }
        below.old = is_old ? value : other;
        below.new = is_old ? other : value;
        done = compare_member(typed, &below, name, length, into);
    }
    kl__members_deinit(&others);
    return done;
}

/* Compares the members that Go writes although neither side has them, for a
 * struct that is new or removed. */
static bool compare_unwritten(kl__typed *typed, const pair *values,
                              const kl__difference *into)
{
    const kl__schema *schema = values->schema;
    const kl__node *object = values->new != NULL ? values->new : values->old;
    bool done = true;

    if (!is_go(schema) || (values->old != NULL) == (values->new != NULL) ||
        !kl__node_is(object, KL_OBJECT)) {
        return true;
    }
    for (size_t i = 0; done && i < schema->field_count; i++) {
        const kl__schema_field *field = &schema->fields[i];
        const kl__node *value = go_value(typed, field->schema);
        pair below = {field->schema, values->old != NULL ? value : NULL,
                      values->new != NULL ? value : NULL, values->level + 1};

        done = value == NULL || kl__node_get(object, field->name) != NULL ||
               compare_member(typed, &below, field->name, strlen(field->name),
                              into);
    }
    return done;
}

/* Compares elements of the same name; see structured-merge-diff for the rules
 * of duplicates. */
static bool compare_element(kl__typed *typed, const pair *values,
                            const kl__element *old, const kl__element *new,
                            const kl__difference *into)
{
    const kl__element *either = old != NULL ? old : new;
    size_t old_times = old != NULL ? old->times : 0;
    size_t new_times = new != NULL ? new->times : 0;
    pair below = {values->schema->items, old_times == 1 ? old->value : NULL,
                  new_times == 1 ? new->value : NULL, values->level + 1};
    kl__node *mark;

    if (old_times <= 1 && new_times <= 1) {
        return compare_at(typed, &below, either->name, either->length, into);
    }
    if (below.old != NULL || below.new != NULL) {
        if (!compare_at(typed, &below, either->name, either->length, into)) {
            return false;
        }
    }
    if (old_times > 1 && new_times > 1 &&
        kl__node_equal(values->old, values->new)) {
        return true;
    }
    mark = kl__fields_begin(typed->edit, true);
    return kl__fields_end(typed->edit,
                          new_times > 1 ? into->changed : into->removed,
                          either->name, either->length, mark);
}

static bool compare_elements(kl__typed *typed, const pair *values,
                             const kl__difference *into)
{
    kl__elements old, new;
    bool done = kl__elements_init(&old, typed, values->schema, values->old);

    done = kl__elements_init(&new, typed, values->schema, values->new) && done;
    for (size_t i = 0; done && i < old.count; i++) {
        const kl__element *item = &old.items[i];

        done = item->first != i ||
               compare_element(
                   typed, values, item,
                   kl__elements_find(&new, item->name, item->length), into);
    }
    for (size_t i = 0; done && i < new.count; i++) {
        const kl__element *item = &new.items[i];

        done = item->first != i ||
               kl__elements_find(&old, item->name, item->length) != NULL ||
               compare_element(typed, values, NULL, item, into);
    }
    kl__elements_deinit(&old);
    kl__elements_deinit(&new);
    return done;
}

static bool compare_below(kl__typed *typed, const pair *values,
                          const kl__difference *into)
{
    const kl__node *either = shaping_value(values);

    if (kl__shape_of(values->schema, either) == KL__SHAPE_LIST) {
        return compare_elements(typed, values, into);
    }
    return compare_members(typed, values, true, into) &&
           compare_members(typed, values, false, into) &&
           compare_unwritten(typed, values, into);
}

bool kl__typed_compare(kl__edit *edit, const kl__schema *schema,
                       const kl__node *old, const kl__node *new,
                       kl__difference *difference)
{
    kl__typed typed = {.edit = edit};
    pair whole = {schema, old, new, 0};
    bool done;

    difference->changed = kl__edit_object(edit);
    difference->removed = kl__edit_object(edit);
    typed.empty = kl__edit_object(edit);
    typed.null = kl__edit_null(edit);
    if (old == NULL && is_go(schema)) {
        whole.old = typed.empty;
    }
    done = difference->changed != NULL && difference->removed != NULL &&
           typed.empty != NULL && typed.null != NULL &&
           compare_below(&typed, &whole, difference) &&
           kl__fields_sort(edit, difference->changed) &&
           kl__fields_sort(edit, difference->removed);
    kl__typed_deinit(&typed);
    return done;
}
