/*
 * schema_default.c - see schema_default.h and schema_normal.h: sets the
 * defaults of an object. Those of its kind come first. Then each struct gets
 * its constants from the table, then the structs in it are completed, and at
 * last it gets the defaults that depend on other fields.
 */
#include "sim/core/schema/schema_default.h"

#include "sim/core/schema/schema_normal.h"

#include <string.h>

/* True if Go takes a member as not set: it is NULL or null; or it is no pointer
 * in Go and has its zero value. */
static bool is_absent(const kl__node *node, const kl__schema *schema)
{
    kl_type type = kl__node_type(node);
    size_t length = 0;

    if (type == KL_NULL || (schema->flags & KL__SCHEMA_POINTER) != 0) {
        return type == KL_NULL;
    }
    switch (type) {
    case KL_STRING:
        kl__node_string(node, &length);
        return length == 0;
    case KL_INTEGER:
        return kl__node_integer(node) == 0;
    case KL_ARRAY:
        return kl__node_size(node) == 0;
    default:
        return false;
    }
}

static bool complete_value(kl__edit *edit, kl__node *node,
                           const kl__schema *schema);

static bool complete_struct(kl__edit *edit, kl__node *node,
                            const kl__schema *schema)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const kl__schema *field = schema->fields[i].schema;
        const char *name = schema->fields[i].name;
        kl__node *member = kl__node_get(node, name);

        if (field->initial != NULL && is_absent(member, field)) {
            member = kl__edit_value(edit, field->initial);
            if (!kl__node_put(edit, node, name, member)) {
                return false;
            }
        }
        if (member != NULL && !complete_value(edit, member, field)) {
            return false;
        }
    }
    return kl__default_struct(edit, node, schema);
}

static bool complete_value(kl__edit *edit, kl__node *node,
                           const kl__schema *schema)
{
    kl__node_iter iter = {0};
    kl__node *element;

    if (schema->type == KL__SCHEMA_OBJECT) {
        return !kl__node_is(node, KL_OBJECT) ||
               complete_struct(edit, node, schema);
    }
    if ((schema->type != KL__SCHEMA_ARRAY && schema->type != KL__SCHEMA_MAP) ||
        schema->items->type != KL__SCHEMA_OBJECT) {
        return true;
    }
    while ((element = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
        if (!complete_value(edit, element, schema->items)) {
            return false;
        }
    }
    return true;
}

bool kl__schema_complete(kl__edit *edit, kl__node *object,
                         const kl__schema *schema)
{
    return kl__default_kind(edit, object, schema) &&
           complete_value(edit, object, schema);
}

bool kl__default_text(kl__edit *edit, kl__node *node, const char *name,
                      const char *text)
{
    const char *given = kl__node_text(node, name);

    return (given != NULL && *given != '\0') ||
           kl__node_put(edit, node, name, kl__edit_text(edit, text));
}

bool kl__default_json(kl__edit *edit, kl__node *node, const char *name,
                      const char *json)
{
    return kl__node_type(kl__node_get(node, name)) != KL_NULL ||
           kl__node_put(edit, node, name,
                        kl__edit_parse(edit, json, strlen(json), NULL));
}

bool kl__default_copy(kl__edit *edit, kl__node *node, const char *name,
                      const kl__node *from)
{
    kl__node *given = kl__node_get(node, name);

    return kl__node_size(from) == 0 || kl__node_size(given) > 0 ||
           kl__node_put(edit, node, name, kl__edit_copy(edit, from));
}
