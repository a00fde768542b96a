/*
 * strategic.c - see patch.h and strategic.h: merges objects and lists by a
 * strategic merge patch.
 */
#include "sim/core/patch/strategic.h"

#include "base/buf.h"
#include "base/mem.h"
#include "sim/core/patch/members.h"

#include <string.h>

static const char delete_prefix[] = "$deleteFromPrimitiveList";

static kl_code strategic_map(const kl__strategic *job, const kl__schema *schema,
                             kl__node *original, kl__node *patch);

static kl_code strategic_delete(const kl__strategic *job, kl__node *original,
                                kl__node *values);

kl_code kl__strategic_no_memory(const kl__strategic *job)
{
    return kl_error_set(job->err, KL_ENOMEM, "out of memory for a patch");
}

bool kl__strategic_is(const char *name, size_t length, const char *prefix)
{
    size_t size = strlen(prefix);

    return length >= size && memcmp(name, prefix, size) == 0;
}

const char *kl__strategic_about(const char *name, size_t *length,
                                const char *prefix)
{
    size_t skip = strlen(prefix) + 1;

    if (*length < skip || name[skip - 1] != '/') {
        return NULL;
    }
    *length -= skip;
    return name + skip;
}

bool kl__strategic_strip(kl__node *value)
{
    kl__node_iter iter = {0};
    kl__node *child;

    if (kl__node_get(value, "$patch") != NULL) {
        return false;
    }
    while ((child = kl__node_next(value, &iter, NULL, NULL)) != NULL) {
        if (!kl__strategic_strip(child)) {
            kl__node_drop(&iter);
        }
    }
    return true;
}

const kl__schema *kl__strategic_member(const kl__schema *schema,
                                       const kl__member_name *name)
{
    const kl__schema_field *field;

    if (schema == NULL || schema->type == KL__SCHEMA_MAP) {
        return schema != NULL ? schema->items : NULL;
    }
    field = schema->type == KL__SCHEMA_OBJECT
                ? kl__schema_get(schema, name->text, name->length)
                : NULL;
    return field != NULL ? field->schema : NULL;
}

kl__strategic_list kl__strategic_list_of(const kl__schema *schema)
{
    if (schema == NULL || schema->type != KL__SCHEMA_ARRAY) {
        return (kl__strategic_list){NULL, NULL, false};
    }
    return (kl__strategic_list){schema->items, schema->merge_key,
                                (schema->flags & KL__SCHEMA_MERGE) != 0};
}

/* Carries out "$patch" of a whole object. */
static kl_code obey_directive(const kl__strategic *job,
                              const kl__node *directive, kl__node *original,
                              kl__node *patch)
{
    const char *text = kl__node_string(directive, NULL);

    if (text != NULL && strcmp(text, "delete") == 0) {
        kl__node_clear(original);
        return KL_OK;
    }
    if (text != NULL && strcmp(text, "replace") == 0) {
        kl__node_remove(patch, "$patch");
        kl__node_become(original, patch);
        return KL_OK;
    }
    return kl__patch_refuse(job->err, 500, "unknown patch type: %.100s",
                            text != NULL ? text : "not a string");
}

static bool has_text(const kl__map *texts, const char *name, size_t length)
{
    return kl__map_get_n(texts, name, length) != NULL;
}

/* True if all members of a patch are listed in its $retainKeys; nulls and
 * directives need not be. */
static bool retains_patch(const kl__map *kept, kl__node *patch)
{
    kl__node_iter iter = {0};
    kl__node *value;
    const char *name;
    size_t length;

    while ((value = kl__node_next(patch, &iter, &name, &length)) != NULL) {
        if (!kl__node_is(value, KL_NULL) &&
            !kl__strategic_is(name, length, KL__SET_ELEMENT_ORDER) &&
            !kl__strategic_is(name, length, delete_prefix) &&
            !has_text(kept, name, length)) {
            return false;
        }
    }
    return true;
}

/* $retainKeys: keeps only the listed members of the object. */
static kl_code retain_keys(const kl__strategic *job, kl__node *original,
                           kl__node *patch)
{
    static const char bad[] = "invalid patch format of retainKeys";
    kl__node *list = kl__node_remove(patch, "$retainKeys"), *element;
    kl__node_iter iter = {0};
    kl__map kept = {0};
    kl_code code = KL_OK;
    const char *name;
    size_t length;

    if (list == NULL) {
        return KL_OK;
    }
    if (!kl__node_is(list, KL_ARRAY)) {
        return kl__patch_refuse(job->err, 400, bad);
    }
    if (!kl__map_reserve(&kept, kl__node_size(list))) {
        return kl__strategic_no_memory(job);
    }
    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        name = kl__node_string(element, &length);
        if (name != NULL) {
            kl__map_put_n(&kept, name, length, element, NULL);
        }
    }
    if (!retains_patch(&kept, patch)) {
        code = kl__patch_refuse(job->err, 400, bad);
    }
    iter = (kl__node_iter){0};
    while (code == KL_OK &&
           kl__node_next(original, &iter, &name, &length) != NULL) {
        if (!has_text(&kept, name, length)) {
            kl__node_drop(&iter);
        }
    }
    kl__map_deinit(&kept);
    return code;
}

/* Merges two values of the same name. */
static kl_code merge_value(const kl__strategic *job, const kl__schema *schema,
                           kl__node *original, kl__node *patch)
{
    kl__strategic_list list = kl__strategic_list_of(schema);

    if (kl__node_is(original, KL_OBJECT) && kl__node_is(patch, KL_OBJECT)) {
        return strategic_map(job, schema, original, patch);
    }
    if (kl__node_is(original, KL_ARRAY) && kl__node_is(patch, KL_ARRAY)) {
        if (list.merges) {
            return kl__strategic_slice(job, &list, original, patch);
        }
    } else {
        kl__patch_prune(patch);
    }
    kl__node_become(original, patch);
    return KL_OK;
}

bool kl__strategic_is_alike(const kl__node *a, const kl__node *b)
{
    return kl__node_type(a) == kl__node_type(b);
}

/* An object that is being merged into. Members to be removed are collected
 * first and removed together: removing one by one would take quadratic time. */
typedef struct merging {
    const kl__schema *schema;
    kl__node *object;
    kl__members old; /* the members before the merge */
    kl__map gone;    /* names to be removed */
} merging;

static void drop_gone(const merging *self)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length;

    while (self->gone.count != 0 &&
           kl__node_next(self->object, &iter, &name, &length) != NULL) {
        if (kl__map_get_n(&self->gone, name, length) != NULL) {
            kl__node_drop(&iter);
        }
    }
}

/* Merges one member of a patch. */
static kl_code merge_member(const kl__strategic *job, merging *self,
                            const kl__member_name *given, kl__node *value)
{
    kl__node *original;
    const char *name = given->text;
    size_t length = given->length;

    if (kl__strategic_is(name, length, delete_prefix)) {
        name = kl__strategic_about(name, &length, delete_prefix);
        if (name == NULL) {
            return kl__patch_refuse(job->err, 400,
                                    "invalid patch format of primitive list");
        }
        original = kl__members_get(&self->old, name, length);
        return kl__node_is(original, KL_ARRAY) &&
                       kl__strategic_is_alike(original, value)
                   ? strategic_delete(job, original, value)
                   : KL_OK;
    }
    original = kl__members_get(&self->old, name, length);
    if (original != NULL) {
        if (!kl__strategic_is_alike(original, value) &&
            !kl__strategic_strip(value)) {
            return kl__map_put_n(&self->gone, name, length, value, NULL)
                       ? KL_OK
                       : kl__strategic_no_memory(job);
        }
        return merge_value(job, kl__strategic_member(self->schema, given),
                           original, value);
    }
    kl__patch_prune(value);
    if (!kl__strategic_strip(value)) {
        return KL_OK;
    }
    return kl__node_add_n(job->edit, self->object, name, length, value)
               ? KL_OK
               : kl__strategic_no_memory(job);
}

/* Removes members that a patch sets to null. */
static void drop_nulls(kl__node *original, kl__node *patch)
{
    kl__node_iter iter = {0};
    kl__members changes;
    const char *name;
    size_t length;

    kl__members_init(&changes, patch);
    while (kl__node_next(original, &iter, &name, &length) != NULL) {
        if (kl__node_is(kl__members_get(&changes, name, length), KL_NULL)) {
            kl__node_drop(&iter);
        }
    }
    kl__members_deinit(&changes);
}

static kl_code strategic_map(const kl__strategic *job, const kl__schema *schema,
                             kl__node *original, kl__node *patch)
{
    const kl__node *directive = kl__node_get(patch, "$patch");
    merging self = {.schema = schema, .object = original};
    kl__node_iter iter = {0};
    kl__node *value;
    kl__member_name name;
    kl_code code;

    if (directive != NULL) {
        return obey_directive(job, directive, original, patch);
    }
    code = retain_keys(job, original, patch);
    if (code == KL_OK) {
        code = kl__strategic_orders(job, schema, original, patch);
    }
    if (code != KL_OK) {
        return code;
    }
    drop_nulls(original, patch);
    kl__members_init(&self.old, original);
    while (code == KL_OK && (value = kl__node_next(patch, &iter, &name.text,
                                                   &name.length)) != NULL) {
        if (!kl__node_is(value, KL_NULL)) {
            kl__node_drop(&iter);
            code = merge_member(job, &self, &name, value);
        }
    }
    drop_gone(&self);
    kl__map_deinit(&self.gone);
    kl__members_deinit(&self.old);
    return code;
}

kl_code kl__patch_strategic(kl__edit *edit, const kl__schema *schema,
                            kl__node *target, kl__node *patch, kl_error *err)
{
    const kl__strategic job = {edit, err};

    if (kl__node_type(patch) == KL_NULL) {
        return KL_OK;
    }
    if (!kl__node_is(patch, KL_OBJECT)) {
        return kl__patch_refuse(err, 400,
                                "json: cannot unmarshal %s into Go value of "
                                "type map[string]interface {}",
                                kl__node_is(patch, KL_ARRAY)    ? "array"
                                : kl__node_is(patch, KL_STRING) ? "string"
                                : kl__node_is(patch, KL_BOOL)   ? "bool"
                                                                : "number");
    }
    return strategic_map(&job, schema, target, patch);
}

/* ---- elements of lists ---- */

/* Marks the key of an element that a patch deletes. */
static kl_code delete_one(const kl__strategic *job, const char *merge_key,
                          const kl__node *element, kl__map *deleted)
{
    kl_code code = KL_OK;
    size_t length;
    const char *key = kl__keyed_name(job, merge_key, element, &length, &code);

    if (key != NULL) {
        kl__map_put_n(deleted, key, length, deleted, NULL);
    }
    return code;
}

/* Removes the elements that are directives from a patch's list: marks the keys
 * to be deleted, and sets *replaces if the list is to be replaced. */
static kl_code take_directives(const kl__strategic *job, const char *merge_key,
                               kl__node *patch, kl__map *deleted,
                               bool *replaces)
{
    kl__node_iter iter = {0};
    kl_code code = KL_OK;
    kl__node *element;

    while (code == KL_OK &&
           (element = kl__node_next(patch, &iter, NULL, NULL)) != NULL) {
        const kl__node *directive = kl__node_get(element, "$patch");
        const char *text = kl__node_string(directive, NULL);

        if (directive == NULL) {
            continue;
        }
        kl__node_drop(&iter);
        if (text != NULL && strcmp(text, "delete") == 0) {
            code = delete_one(job, merge_key, element, deleted);
        } else if (text != NULL && strcmp(text, "replace") == 0) {
            *replaces = true;
        } else if (text != NULL && strcmp(text, "merge") == 0) {
            code = kl__patch_refuse(job->err, 500,
                                    "merging lists cannot yet be specified in "
                                    "the patch");
        } else {
            code = kl__patch_refuse(job->err, 500, "unknown patch type: %.100s",
                                    text != NULL ? text : "not a string");
        }
    }
    return code;
}

/* Drops the elements whose keys are marked. */
static kl_code drop_deleted(const kl__strategic *job, const char *merge_key,
                            kl__node *array, const kl__map *deleted)
{
    kl__node_iter iter = {0};
    kl_code code = KL_OK;
    kl__node *element;

    while (deleted->count != 0 && code == KL_OK &&
           (element = kl__node_next(array, &iter, NULL, NULL)) != NULL) {
        size_t length;
        const char *key =
            kl__keyed_name(job, merge_key, element, &length, &code);

        if (key != NULL && kl__map_get_n(deleted, key, length) != NULL) {
            kl__node_drop(&iter);
        }
    }
    return code;
}

/* Merges each element of a patch into the element with the same key; if there
 * is none, appends it. */
static kl_code merge_elements(const kl__strategic *job,
                              const kl__strategic_list *list, kl__keyed *merged,
                              const kl__node *patch, bool are_maps)
{
    kl__node_iter iter = {0};
    kl_code code = KL_OK;
    kl__node *element;

    while (code == KL_OK &&
           (element = kl__node_next(patch, &iter, NULL, NULL)) != NULL) {
        size_t length, found;
        const char *key =
            kl__keyed_name(job, list->merge_key, element, &length, &code);

        found = key != NULL ? kl__keyed_find(merged, key, length) : 0;
        if (key != NULL && found == 0) {
            code = kl__keyed_add(job, list->merge_key, merged, element);
        } else if (key != NULL && are_maps) {
            /* Merging changes the element, but its key is still needed to sort
             * the list. */
            kl__node *copy = kl__edit_copy(job->edit, element);

            code = copy != NULL ? strategic_map(job, list->items,
                                                merged->items[found - 1], copy)
                                : kl__strategic_no_memory(job);
        }
    }
    return code;
}

/* Removes repeated values, which only the old list can have: merge_elements
 * adds a value of the patch once. */
static void drop_repeated(kl__keyed *merged, const kl__strategic *job)
{
    size_t count = 0;

    for (size_t i = 0; i < merged->count; i++) {
        kl_code code = KL_OK;
        size_t length;
        const char *key =
            kl__keyed_name(job, NULL, merged->items[i], &length, &code);

        if (key == NULL || kl__keyed_find(merged, key, length) == i + 1) {
            merged->items[count++] = merged->items[i];
        }
    }
    merged->count = count;
}

static kl_code merge_keyed(const kl__strategic *job,
                           const kl__strategic_list *list, kl__node *original,
                           kl__node *patch, bool are_maps)
{
    kl__keyed server = {0}, merged = {0}, order = {0};
    const kl__keyed *const orders[2] = {&order, &server};
    kl_code code = kl__keyed_init(job, list->merge_key, &server, original, 0);

    if (code == KL_OK) {
        code = kl__keyed_init(job, list->merge_key, &merged, original,
                              kl__node_size(patch));
    }
    if (code == KL_OK) {
        code = kl__keyed_init(job, list->merge_key, &order, patch, 0);
    }
    if (code == KL_OK) {
        code = merge_elements(job, list, &merged, patch, are_maps);
    }
    if (code == KL_OK) {
        if (!are_maps) {
            drop_repeated(&merged, job);
        }
        code =
            kl__keyed_arrange(job, list->merge_key, original, &merged, orders);
    }
    kl__keyed_deinit(&server);
    kl__keyed_deinit(&merged);
    kl__keyed_deinit(&order);
    return code;
}

kl_code kl__strategic_slice(const kl__strategic *job,
                            const kl__strategic_list *list, kl__node *original,
                            kl__node *patch)
{
    const kl__node *const sides[2] = {original, patch};
    kl__strategic_list keys = *list;
    bool are_maps = false, replaces = false;
    kl__map deleted = {0};
    kl_code code = kl__strategic_elements(job, sides, &are_maps);

    if (code != KL_OK ||
        (kl__node_size(original) == 0 && kl__node_size(patch) == 0)) {
        return code;
    }
    if (!are_maps) {
        keys.merge_key = NULL;
        return merge_keyed(job, &keys, original, patch, false);
    }
    if (keys.merge_key == NULL) {
        return kl__patch_refuse(
            job->err, 500, "cannot merge lists without merge key for %s",
            list->items != NULL && list->items->name != NULL ? list->items->name
                                                             : "");
    }
    if (!kl__map_reserve(&deleted, kl__node_size(patch))) {
        return kl__strategic_no_memory(job);
    }
    code = take_directives(job, keys.merge_key, patch, &deleted, &replaces);
    if (code == KL_OK && replaces) {
        kl__node_become(original, patch);
    } else if (code == KL_OK) {
        code = drop_deleted(job, keys.merge_key, original, &deleted);
        if (code == KL_OK) {
            code = merge_keyed(job, &keys, original, patch, true);
        }
    }
    kl__map_deinit(&deleted);
    return code;
}

/* Removes the values of a list of primitives from another. */
static kl_code strategic_delete(const kl__strategic *job, kl__node *original,
                                kl__node *values)
{
    const kl__node *const sides[2] = {original, values};
    bool are_maps = false;
    kl__keyed deleted = {0};
    kl_code code = kl__strategic_elements(job, sides, &are_maps);

    if (code != KL_OK || are_maps) {
        return code;
    }
    code = kl__keyed_init(job, NULL, &deleted, values, 0);
    if (code == KL_OK) {
        code = drop_deleted(job, NULL, original, &deleted.first);
    }
    kl__keyed_deinit(&deleted);
    return code;
}
