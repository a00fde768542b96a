/*
 * strategic_list.c - see strategic.h: merges, adds and deletes elements of
 * lists.
 */
#include "sim/core/patch/strategic.h"

#include "base/mem.h"
#include "sim/core/patch/go_text.h"

#include <string.h>

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
            char *whole = kl__go_text(element);

            code = kl__patch_refuse(
                job->err, 500, "unknown patch type: %.100s in map: %s",
                text != NULL ? text : "", whole != NULL ? whole : "");
            kl__free(whole);
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

            code = copy != NULL
                       ? kl__strategic_map(job, list->items,
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

kl_code kl__strategic_delete(const kl__strategic *job, kl__node *original,
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
