/*
 * edit_sort.c - see edit.h: sorts the members of an object by name, as Go
 * writes a map.
 */
#include "base/mem.h"
#include "sim/core/json/edit.h"

#include <stdlib.h>
#include <string.h>

typedef struct named {
    const char *name;
    size_t length;
    kl__node *value;
    kl__name_order order; /* the same in all elements */
} named;

static int compare_sorted_members(const void *a, const void *b)
{
    const named *left = a, *right = b;

    return left->order(left->name, left->length, right->name, right->length);
}

int kl__name_compare(const char *a, size_t a_length, const char *b,
                     size_t b_length)
{
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static bool is_sorted(const kl__node *object, kl__name_order order)
{
    kl__node_iter iter = {0};
    const char *before = NULL, *name;
    size_t before_length = 0, length;

    while (kl__node_next(object, &iter, &name, &length) != NULL) {
        if (before != NULL && order(before, before_length, name, length) > 0) {
            return false;
        }
        before = name;
        before_length = length;
    }
    return true;
}

bool kl__node_sort(kl__edit *edit, kl__node *object, kl__name_order order)
{
    kl__node_iter iter = {0};
    named *all, one = {.order = order};
    size_t count = 0;
    bool done = true;

    if (is_sorted(object, order)) {
        return true;
    }
    all = kl__calloc(kl__node_size(object), sizeof(*all));
    if (all == NULL) {
        return false;
    }
    while ((one.value = kl__node_next(object, &iter, &one.name, &one.length)) !=
           NULL) {
        all[count++] = one;
    }
    qsort(all, count, sizeof(*all), compare_sorted_members);
    kl__node_clear(object);
    for (size_t i = 0; i < count && done; i++) {
        done = kl__node_add_n(edit, object, all[i].name, all[i].length,
                              all[i].value);
    }
    kl__free(all);
    return done;
}
