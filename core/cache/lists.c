/*
 * lists.c - clears and sorts the lists that readers of the cache get. No lock
 * is held while a list is sorted.
 */
#include "cache/lists.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void kl_object_list_clear(kl_object_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kl_object_unref(list->items[i]);
    }
    kl__free(list->items);
    *list = (kl_object_list){0};
}

void kl_string_list_clear(kl_string_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kl__free(list->items[i]);
    }
    kl__free(list->items);
    *list = (kl_string_list){0};
}

static int by_key(const void *a, const void *b)
{
    return strcmp(kl_object_key(*(kl_object *const *)a),
                  kl_object_key(*(kl_object *const *)b));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void kl__object_list_sort(kl_object_list *list)
{
    if (list->count > 1) {
        qsort(list->items, list->count, sizeof(kl_object *), by_key);
    }
}

void kl__string_list_sort(kl_string_list *list)
{
    if (list->count > 1) {
        qsort(list->items, list->count, sizeof(char *), by_text);
    }
}
