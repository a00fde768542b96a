/*
 * custom_lists.c - see custom_check.h and custom.h: finds members of large
 * objects, and repeated elements in lists of type set and map.
 */
#include "sim/core/schema/custom.h"

#include "base/map.h"
#include "base/mem.h"
#include "sim/core/schema/custom_check.h"

#include <stdio.h>
#include <string.h>

enum { FEW_MEMBERS = 32 };

typedef struct table {
    const void *object; /* its address is the key */
    kl__map by_name;
} table;

void kl__lookup_deinit(kl__lookup *lookup)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    while ((slot = kl__map_next(&lookup->tables, &cursor)) != NULL) {
        table *one = slot->value;

        kl__map_deinit(&one->by_name);
        kl__free(one);
    }
    kl__map_deinit(&lookup->tables);
}

/* Adds a member, unless its name is in the table: of repeated names, the first
 * member counts, as in a linear search. */
static void add_member_once(table *self, const char *name, size_t length,
                            const void *member)
{
    if (kl__map_get_n(&self->by_name, name, length) == NULL) {
        kl__map_put_n(&self->by_name, name, length, (void *)(uintptr_t)member,
                      NULL);
    }
}

static table *find_table(const kl__lookup *lookup, const void *object)
{
    return kl__map_get_n(&lookup->tables, (const char *)&object,
                         sizeof(object));
}

/* A table with room for the members of an object; NULL: out of memory. */
static table *add_table(kl__lookup *lookup, const void *object, size_t size)
{
    table *added = kl__calloc(1, sizeof(*added));

    if (added == NULL) {
        return NULL;
    }
    added->object = object;
    if (kl__map_reserve(&added->by_name, size) &&
        kl__map_put_n(&lookup->tables, (const char *)&added->object,
                      sizeof(added->object), added, NULL)) {
        return added;
    }
    kl__map_deinit(&added->by_name);
    kl__free(added);
    return NULL;
}

static table *table_of_value(kl__lookup *lookup, const kl_value *object)
{
    table *found = find_table(lookup, object);
    kl_value_iter iter = {0};
    const kl_value *member, *name;

    if (found != NULL) {
        return found;
    }
    found = add_table(lookup, object, kl_value_size(object));
    while (found != NULL &&
           (member = kl_value_next(object, &iter, &name)) != NULL) {
        size_t length;
        const char *text = kl_value_string(name, &length);

        add_member_once(found, text, length, member);
    }
    return found;
}

static table *table_of_node(kl__lookup *lookup, const kl__node *object)
{
    table *found = find_table(lookup, object);
    kl__node_iter iter = {0};
    const kl__node *member;
    const char *name;
    size_t length;

    if (found != NULL) {
        return found;
    }
    found = add_table(lookup, object, kl__node_size(object));
    while (found != NULL &&
           (member = kl__node_next(object, &iter, &name, &length)) != NULL) {
        add_member_once(found, name, length, member);
    }
    return found;
}

const kl_value *kl__lookup_value(kl__lookup *lookup, const kl_value *object,
                                 const char *name, size_t length)
{
    const table *found = kl_value_type(object) == KL_OBJECT &&
                                 kl_value_size(object) > FEW_MEMBERS
                             ? table_of_value(lookup, object)
                             : NULL;

    return found != NULL ? kl__map_get_n(&found->by_name, name, length)
                         : kl_value_get_n(object, name, length);
}

const kl__node *kl__lookup_node(kl__lookup *lookup, const kl__node *object,
                                const char *name, size_t length)
{
    const table *found =
        kl__node_is(object, KL_OBJECT) && kl__node_size(object) > FEW_MEMBERS
            ? table_of_node(lookup, object)
            : NULL;

    return found != NULL ? kl__map_get_n(&found->by_name, name, length)
                         : kl__node_get_n(object, name, length);
}

/* ---- repeated elements ---- */

typedef struct lists {
    kl__buf path;
    kl__field_errors *errors;
} lists;

/* An element, or its keys, as messages show it. */
typedef struct entry {
    char *shown;
    bool is_told; /* its repetition has been reported */
} entry;

static const char *list_path(const lists *self)
{
    return self->path.bytes != NULL ? self->path.bytes : "";
}

/* The keys of an element of a list of type map, as messages show them; freed by
 * the caller. NULL: out of memory. */
static char *show_keys(const kl__schema *schema, const kl__node *element)
{
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *keys = edit != NULL ? kl__edit_object(edit) : NULL;
    char *shown = NULL;
    bool failed = keys == NULL;

    for (const char *const *name = schema->map_keys; !failed && *name != NULL;
         name++) {
        const kl__node *value = kl__node_get(element, *name);

        failed = value != NULL &&
                 !kl__node_put(edit, keys, *name, kl__edit_copy(edit, value));
    }
    if (!failed) {
        shown = kl__field_value(keys);
    }
    kl__edit_free(edit);
    return shown;
}

static void refuse_duplicate(lists *self, size_t index, const char *shown)
{
    kl__buf field = {0};

    kl__buf_printf(&field, "%s[%zu]", list_path(self), index);
    if (field.failed) {
        self->errors->failed = true;
    } else {
        kl__field_add(self->errors, KL__FIELD_DUPLICATE, field.bytes, shown,
                      "");
    }
    kl__buf_deinit(&field);
}

/* Fills the entries, and adds an error for each repeated element, once. */
static void compare_entries_of(lists *self, const kl__schema *schema,
                               const kl__node *value, entry *entries)
{
    kl__node_iter iter = {0};
    const kl__node *element;
    kl__map seen = {0};

    for (size_t i = 0;
         (element = kl__node_next(value, &iter, NULL, NULL)) != NULL; i++) {
        char *shown = schema->list == KL__LIST_MAP ? show_keys(schema, element)
                                                   : kl__field_value(element);
        entry *first;

        entries[i].shown = shown;
        first = shown != NULL ? kl__map_get(&seen, shown) : NULL;
        if (first == NULL) {
            self->errors->failed |=
                shown == NULL || !kl__map_put(&seen, shown, &entries[i], NULL);
        } else if (!first->is_told) {
            first->is_told = true;
            refuse_duplicate(self, i, shown);
        }
    }
    kl__map_deinit(&seen);
}

/* True if all elements are objects or null, as a list of type map requires;
 * else adds an error. */
static bool has_objects(lists *self, const kl__node *value)
{
    kl__node_iter iter = {0};
    const kl__node *element;

    for (size_t i = 0;
         (element = kl__node_next(value, &iter, NULL, NULL)) != NULL; i++) {
        kl_type type = kl__node_type(element);
        kl__buf field = {0};

        if (type == KL_OBJECT || type == KL_NULL) {
            continue;
        }
        kl__buf_printf(&field, "%s[%zu]", list_path(self), i);
        self->errors->failed |= field.failed;
        kl__field_invalid_node(self->errors,
                               field.bytes != NULL ? field.bytes : "", element,
                               "must be an object for an array of list-type "
                               "map");
        kl__buf_deinit(&field);
        return false;
    }
    return true;
}

static void check_list(lists *self, const kl__schema *schema,
                       const kl__node *value)
{
    size_t count = kl__node_size(value);
    entry *entries;

    if ((schema->list != KL__LIST_SET && schema->list != KL__LIST_MAP) ||
        (schema->list == KL__LIST_MAP && !has_objects(self, value)) ||
        count < 2) {
        return;
    }
    entries = kl__calloc(count, sizeof(*entries));
    if (entries == NULL) {
        self->errors->failed = true;
        return;
    }
    compare_entries_of(self, schema, value, entries);
    for (size_t i = 0; i < count; i++) {
        kl__free(entries[i].shown);
    }
    kl__free(entries);
}

static void leave_list(lists *self, size_t before)
{
    self->path.length = before;
    if (self->path.bytes != NULL) {
        self->path.bytes[before] = '\0';
    }
}

static void check_lists(lists *self, const kl__schema *schema,
                        const kl__node *value);

static void check_members(lists *self, const kl__schema *schema,
                          const kl__node *value)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length, before = self->path.length;
    const kl__node *member;

    while ((member = kl__node_next(value, &iter, &name, &length)) != NULL) {
        bool is_map = schema->type == KL__SCHEMA_MAP;
        const kl__schema *known =
            is_map ? schema->items : kl__custom_field(schema, name, length);

        if (known == NULL || !(kl__node_is(member, KL_OBJECT) ||
                               kl__node_is(member, KL_ARRAY))) {
            continue;
        }
        kl__buf_puts(&self->path, is_map ? "[" : before != 0 ? "." : "");
        kl__buf_append(&self->path, name, length);
        kl__buf_puts(&self->path, is_map ? "]" : "");
        check_lists(self, known, member);
        leave_list(self, before);
    }
}

static void check_lists(lists *self, const kl__schema *schema,
                        const kl__node *value)
{
    kl__node_iter iter = {0};
    size_t before = self->path.length;
    const kl__node *element;
    char index[32];

    if (kl__node_is(value, KL_OBJECT)) {
        check_members(self, schema, value);
        return;
    }
    if (!kl__node_is(value, KL_ARRAY) || schema->type != KL__SCHEMA_ARRAY) {
        return;
    }
    check_list(self, schema, value);
    for (size_t i = 0;
         schema->items != NULL &&
         (element = kl__node_next(value, &iter, NULL, NULL)) != NULL;
         i++) {
        snprintf(index, sizeof(index), "[%zu]", i);
        kl__buf_puts(&self->path, index);
        check_lists(self, schema->items, element);
        leave_list(self, before);
    }
}

void kl__custom_validate_lists(const kl__schema *schema, const kl__node *value,
                               kl__field_errors *errors)
{
    lists self = {{0}, errors};

    check_lists(&self, schema, value);
    errors->failed |= self.path.failed;
    kl__buf_deinit(&self.path);
}
