/*
 * schema_normal.c - see schema_normal.h.
 */
#include "sim/core/schema/schema_normal.h"

#include "sim/core/schema/schema_leaf.h"

#include <string.h>

/* The form to make: that of a decoded object, or that of a stored object, in
 * which an empty list and an absent list are the same. */
typedef struct normal_form {
    kl__edit *edit;
    bool stored;
} normal_form;

/* Makes the normal form of a node; returns the node or another. NULL: out of
 * memory. */
static kl__node *normal_of(const normal_form *form, kl__node *node,
                           const kl__schema *schema);

/* What Go writes for a value that was not set. */
static kl__node *zero_of(const normal_form *form, const kl__schema *schema)
{
    kl__edit *edit = form->edit;

    if ((schema->flags & KL__SCHEMA_POINTER) != 0) {
        return kl__edit_null(edit);
    }
    switch (schema->type) {
    case KL__SCHEMA_OBJECT:
        return normal_of(form, kl__edit_object(edit), schema);
    case KL__SCHEMA_INTEGER:
    case KL__SCHEMA_NUMBER:
    case KL__SCHEMA_INT_OR_STRING:
        return kl__edit_integer(edit, 0);
    case KL__SCHEMA_BOOLEAN:
        return kl__edit_bool(edit, false);
    case KL__SCHEMA_STRING:
        break;
    default:
        return kl__edit_null(edit);
    }
    switch (schema->format) {
    case KL__FORMAT_QUANTITY:
        return kl__edit_text(edit, "0");
    case KL__FORMAT_DURATION:
        return kl__edit_text(edit, "0s");
    case KL__FORMAT_BYTE:
    case KL__FORMAT_TIME:
    case KL__FORMAT_MICROTIME:
        return kl__edit_null(edit);
    default:
        return kl__edit_text(edit, "");
    }
}

/* True if Go takes a value as empty: false, 0, "", {} or []. */
static bool is_empty(const kl__node *node)
{
    size_t length = 0;

    switch (kl__node_type(node)) {
    case KL_NULL:
        return true;
    case KL_BOOL:
        return !kl__node_bool(node);
    case KL_INTEGER:
        return kl__node_integer(node) == 0;
    case KL_REAL:
        return kl__node_real(node) == 0;
    case KL_STRING:
        kl__node_string(node, &length);
        return length == 0;
    case KL_ARRAY:
    case KL_OBJECT:
        return kl__node_size(node) == 0;
    default:
        return false;
    }
}

/* True if the member is left out. */
static bool is_left_out(const kl__node *node, const kl__schema *schema)
{
    bool null = kl__node_type(node) == KL_NULL;

    if ((schema->flags & KL__SCHEMA_OMIT_ZERO) != 0 && is_empty(node)) {
        return null || (schema->flags & KL__SCHEMA_POINTER) == 0;
    }
    if ((schema->flags & KL__SCHEMA_OMIT_EMPTY) == 0) {
        return false;
    }
    return (schema->flags & KL__SCHEMA_POINTER) != 0 ? null : is_empty(node);
}

/* True for an empty list or map that is no pointer in Go: if Go does not leave
 * it out, Go writes null. */
static bool is_null_list(const kl__node *node, const kl__schema *schema)
{
    return (schema->type == KL__SCHEMA_ARRAY ||
            schema->type == KL__SCHEMA_MAP) &&
           (schema->flags & KL__SCHEMA_POINTER) == 0 && is_empty(node);
}

/* Adds a member of a struct to `to`, unless Go leaves it out. `value`: NULL if
 * it is absent. */
static bool put_normal_member(const normal_form *form, kl__node *to,
                              const kl__schema_field *field, kl__node *value)
{
    size_t length = strlen(field->name);
    kl__node *node = value != NULL && kl__node_type(value) != KL_NULL
                         ? normal_of(form, value, field->schema)
                         : zero_of(form, field->schema);

    if (node == NULL) {
        return false;
    }
    if (is_left_out(node, field->schema)) {
        return true;
    }
    if (form->stored && is_null_list(node, field->schema)) {
        node = kl__edit_null(form->edit);
    }
    return kl__node_add_n(form->edit, to, field->name, length, node);
}

enum {
    MOST_FIELDS = 64 /* PodSpec has the most fields of all built-in types */
};

/* Moves all members of a struct to `members`, by the index of their fields;
 * unknown members are dropped. */
static void take_members(kl__node *node, const kl__schema *schema,
                         kl__node **members)
{
    kl__node_iter iter = {0};
    kl__node *member;
    const char *name;
    size_t length;

    while ((member = kl__node_next(node, &iter, &name, &length)) != NULL) {
        const kl__schema_field *field = kl__schema_get(schema, name, length);

        kl__node_drop(&iter);
        if (field != NULL) {
            members[field - schema->fields] = member;
        }
    }
}

static kl__node *normal_struct(const normal_form *form, kl__node *node,
                               const kl__schema *schema)
{
    kl__node *members[MOST_FIELDS] = {NULL};

    if (!kl__node_is(node, KL_OBJECT) || schema->field_count > MOST_FIELDS) {
        return node;
    }
    take_members(node, schema, members);
    for (size_t i = 0; i < schema->field_count; i++) {
        if (!put_normal_member(form, node, &schema->fields[i], members[i])) {
            return NULL;
        }
    }
    return node;
}

static kl__node *normal_value(const normal_form *form, kl__node *node,
                              const kl__schema *items)
{
    return kl__node_type(node) == KL_NULL ? zero_of(form, items)
                                          : normal_of(form, node, items);
}

static kl__node *normal_map(const normal_form *form, kl__node *node,
                            const kl__schema *schema)
{
    kl__node *to = kl__edit_object(form->edit);
    kl__node_iter iter = {0};
    kl__node *member;
    const char *name;
    size_t length;
    bool good = to != NULL;

    if (!kl__node_is(node, KL_OBJECT)) {
        return node;
    }
    while (good &&
           (member = kl__node_next(node, &iter, &name, &length)) != NULL) {
        kl__node_drop(&iter);
        member = normal_value(form, member, schema->items);
        good = kl__node_add_n(form->edit, to, name, length, member);
    }
    return good && kl__node_sort(form->edit, to, kl__name_compare) ? to : NULL;
}

static kl__node *normal_array(const normal_form *form, kl__node *node,
                              const kl__schema *schema)
{
    kl__node *to = kl__edit_array(form->edit);
    kl__node_iter iter = {0};
    kl__node *element;

    if (!kl__node_is(node, KL_ARRAY) || to == NULL) {
        return to == NULL ? NULL : node;
    }
    while ((element = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
        kl__node_drop(&iter);
        element = normal_value(form, element, schema->items);
        if (!kl__node_append(to, element)) {
            return NULL;
        }
    }
    return to;
}

static kl__node *normal_of(const normal_form *form, kl__node *node,
                           const kl__schema *schema)
{
    if (node == NULL) {
        return NULL;
    }
    switch (schema->type) {
    case KL__SCHEMA_OBJECT:
        return normal_struct(form, node, schema);
    case KL__SCHEMA_MAP:
        return normal_map(form, node, schema);
    case KL__SCHEMA_ARRAY:
        return normal_array(form, node, schema);
    case KL__SCHEMA_ANY:
        return node;
    default:
        return kl__leaf_canonical(form->edit, node, schema);
    }
}

bool kl__schema_normalize(kl__edit *edit, kl__node *object,
                          const kl__schema *schema)
{
    return normal_of(&(normal_form){edit, true}, object, schema) != NULL;
}

bool kl__schema_decode(kl__edit *edit, kl__node *object,
                       const kl__schema *schema)
{
    return normal_of(&(normal_form){edit, false}, object, schema) != NULL;
}
