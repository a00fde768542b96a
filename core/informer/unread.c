/*
 * unread.c - see unread.h.
 */
#include "informer/unread.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

void kl__unread_init(kl__unread *unread)
{
    *unread = (kl__unread){.last = 0};
    kl__list_init(&unread->by_number);
}

void kl__unread_deinit(kl__unread *unread)
{
    kl__unreadables_clear(&unread->set);
}

bool kl__unread_reserve(kl__unread *unread)
{
    return kl__map_reserve(&unread->set.by_key, 1);
}

static bool is_same(const kl__unreadable *a, const kl__unreadable *b)
{
    return strcmp(a->why, b->why) == 0 && strcmp(a->uid, b->uid) == 0;
}

/* Puts `added` at the place of `former`, or as a new one behind all. */
static void enter_order(kl__unread *unread, kl__unreadable *added,
                        kl__unreadable *former)
{
    if (former != NULL && is_same(former, added)) {
        added->number = former->number;
        kl__list_append(&former->node, &added->node);
    } else {
        added->number = ++unread->last;
        kl__list_append(&unread->by_number, &added->node);
    }
    if (former != NULL) {
        kl__list_remove(&former->node);
    }
}

void kl__unread_put(kl__unread *unread, kl__unreadable *added)
{
    enter_order(unread, added, kl__unreadables_find(&unread->set, added->key));
    (void)kl__unreadables_add(&unread->set, added); /* there is room */
}

void kl__unread_forget(kl__unread *unread, const char *key)
{
    kl__unreadable *known = kl__unreadables_find(&unread->set, key);

    if (known != NULL) {
        kl__list_remove(&known->node);
        kl__unreadables_remove(&unread->set, key);
    }
}

void kl__unread_replace(kl__unread *unread, kl__unreadables *set)
{
    kl__unreadables former = unread->set;
    kl__unreadable *each;
    size_t cursor = 0;

    while ((each = kl__unreadables_next(set, &cursor)) != NULL) {
        enter_order(unread, each, kl__unreadables_find(&former, each->key));
    }
    cursor = 0;
    while ((each = kl__unreadables_next(&former, &cursor)) != NULL) {
        if (kl__unreadables_find(set, each->key) == NULL) {
            kl__list_remove(&each->node);
        }
    }
    unread->set = *set;
    *set = (kl__unreadables){0};
    kl__unreadables_clear(&former);
}

const kl__unreadable *kl__unread_next(const kl__unread *unread,
                                      const kl__unreadable *each)
{
    const kl__list *node = each->node.next;

    return node != &unread->by_number
               ? KL__CONTAINER(node, kl__unreadable, node)
               : NULL;
}

/* From the latest backwards: mostly there is one new one, or none. */
const kl__unreadable *kl__unread_after(const kl__unread *unread,
                                       uint64_t number)
{
    const kl__list *node = &unread->by_number;

    while (node->prev != &unread->by_number &&
           KL__CONTAINER(node->prev, kl__unreadable, node)->number > number) {
        node = node->prev;
    }
    return node != &unread->by_number
               ? KL__CONTAINER(node, kl__unreadable, node)
               : NULL;
}

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
