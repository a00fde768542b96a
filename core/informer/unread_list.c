/*
 * unread_list.c - the objects that cannot be read as a list for users
 * (kl_informer_unreadable); see unread.h.
 */
#include "informer/unread.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const kl__unreadable *const *)a)->key,
                  (*(const kl__unreadable *const *)b)->key);
}

/* All of them, sorted; the caller frees the array. NULL: out of memory. */
static const kl__unreadable **sort_all(const kl__unread *unread)
{
    size_t count = kl__unread_count(unread), used = 0, cursor = 0;
    const kl__unreadable **all = kl__calloc(count + 1, sizeof(*all));
    const kl__unreadable *each;

    if (all == NULL) {
        return NULL;
    }
    while ((each = kl__unreadables_next(&unread->set, &cursor)) != NULL) {
        all[used++] = each;
    }
    qsort(all, count, sizeof(*all), by_key);
    return all;
}

static bool add_one(kl_unreadable_list *list, const kl__unreadable *each,
                    kl__indexer *cache)
{
    kl_unreadable *added = &list->items[list->count++];
    kl__key key = kl__key_of(each->key);
    kl_object *cached = kl__indexer_get_key(cache, &key);

    added->is_cached = cached != NULL;
    kl_object_unref(cached);
    added->key = kl__strdup(each->key);
    added->why = kl__strdup(each->why);
    return added->key != NULL && added->why != NULL;
}

kl_code kl__unread_list(const kl__unread *unread, kl__indexer *cache,
                        kl_unreadable_list *list)
{
    size_t count = kl__unread_count(unread);
    const kl__unreadable **all = sort_all(unread);
    bool added = all != NULL;

    count = count < KL_UNREADABLE_MAX ? count : KL_UNREADABLE_MAX;
    *list = (kl_unreadable_list){0};
    list->items = added ? kl__calloc(count + 1, sizeof(*list->items)) : NULL;
    added = list->items != NULL;
    for (size_t i = 0; i < count && added; i++) {
        added = add_one(list, all[i], cache);
    }
    kl__free(all);
    if (!added) {
        kl_unreadable_list_clear(list);
    }
    return added ? KL_OK : KL_ENOMEM;
}
