/*
 * custom_lookup.c - see custom_lookup.h.
 */
#include "sim/core/schema/custom_lookup.h"

#include "base/mem.h"

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
