/*
 * managers_cap.c - see kl__managers_cap: limits how many managers an object
 * has.
 */
#include "sim/core/patch/managers.h"

#include "base/map.h"
#include "base/mem.h"
#include "sim/core/patch/field_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UPDATERS = 10 };

/* The managers with the operation Update, oldest first. */
typedef struct updaters {
    kl__manager **items;
    size_t count;
} updaters;

static int compare_ages(const void *left, const void *right)
{
    return kl__manager_compare_age(*(const kl__manager *const *)left,
                                   *(const kl__manager *const *)right);
}

static bool list_updaters(const kl__managers *managers, updaters *list)
{
    list->items = kl__malloc(managers->count * sizeof(*list->items));
    if (list->items == NULL) {
        return false;
    }
    for (size_t i = 0; i < managers->count; i++) {
        if (!managers->items[i].applies) {
            list->items[list->count++] = &managers->items[i];
        }
    }
    qsort(list->items, list->count, sizeof(*list->items), compare_ages);
    return true;
}

static int compare_version(const void *left, const void *right)
{
    const kl__manager *a = *(const kl__manager *const *)left;
    const kl__manager *b = *(const kl__manager *const *)right;
    int order = strcmp(a->api_version, b->api_version);

    return order != 0 ? order : kl__manager_compare_age(a, b);
}

/* How many of the oldest managers must be merged, each into the first of its
 * version, so that MOST_UPDATERS are left. SIZE_MAX: out of memory. */
static size_t count_oldest(const updaters *list)
{
    kl__map versions = {0};
    size_t left = list->count, taken = 0;
    bool good = true;

    while (good && taken < list->count && left > MOST_UPDATERS) {
        kl__manager *one = list->items[taken++];

        if (kl__map_get(&versions, one->api_version) != NULL) {
            left--;
        } else {
            good = kl__map_put(&versions, one->api_version, one, NULL);
        }
    }
    kl__map_deinit(&versions);
    return good ? taken : SIZE_MAX;
}

/* Merges all managers of a version into the first: in pairs, then pairs of
 * pairs. One after the other would take quadratic time. */
static bool merge_managers(kl__manager **group, size_t count, kl__edit *edit)
{
    for (size_t step = 1; step < count; step *= 2) {
        for (size_t i = 0; i + step < count; i += 2 * step) {
            if (!kl__fields_unite(edit, group[i]->fields,
                                  group[i + step]->fields)) {
                return false;
            }
            group[i + step]->fields = NULL; /* merged */
        }
    }
    if (count > 1) {
        group[0]->name = "ancient-changes";
        group[0]->subresource = "";
        group[0]->time = group[count - 1]->time;
    }
    return true;
}

static bool merge_oldest(const updaters *list, kl__edit *edit)
{
    size_t count = count_oldest(list), end;
    kl__manager **items = list->items;

    if (count == SIZE_MAX) {
        return false;
    }
    qsort(items, count, sizeof(*items), compare_version);
    for (size_t begin = 0; begin < count; begin = end) {
        end = begin + 1;
        while (end < count && strcmp(items[begin]->api_version,
                                     items[end]->api_version) == 0) {
            end++;
        }
        if (!merge_managers(items + begin, end - begin, edit)) {
            return false;
        }
    }
    return true;
}

bool kl__managers_cap(kl__managers *managers, kl__edit *edit)
{
    updaters list = {0};
    size_t kept = 0;
    bool good;

    if (managers->count <= MOST_UPDATERS) {
        return true;
    }
    good = list_updaters(managers, &list) && merge_oldest(&list, edit);
    kl__free(list.items);
    for (size_t i = 0; good && i < managers->count; i++) {
        if (managers->items[i].fields != NULL) {
            managers->items[kept++] = managers->items[i];
        }
    }
    managers->count = good ? kept : 0;
    return good;
}
