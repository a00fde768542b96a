/*
 * delta_fifo_list.c - what waits in the queue, by key: the newest of each. For
 * tests, and for what DeltaFIFO promises of itself.
 */
#include "cache/delta_fifo_ring.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cache/lists.h"

#include <string.h>

/* Goes through the queued objects from the newest to the oldest. */
typedef struct backwards {
    size_t delta; /* how many deltas are left */
    size_t item;  /* how many of the list at hand are left */
} backwards;

static kl_object *older_locked(const kl__delta_fifo *fifo, backwards *walk)
{
    while (walk->item == 0 && walk->delta > 0) {
        const kl__delta *delta = kl__delta_at(fifo, --walk->delta);

        if (kl__delta_has_object(delta)) {
            return delta->object;
        }
        walk->item = delta->list.count; /* none but of a Replaced */
    }
    if (walk->item == 0) {
        return NULL;
    }
    return kl__delta_at(fifo, walk->delta)->list.items[--walk->item];
}

kl_object *kl__delta_fifo_get(kl__delta_fifo *fifo, const char *key)
{
    backwards walk = {0};
    kl_object *object;

    kl__mutex_lock(&fifo->mutex);
    walk.delta = fifo->count;
    do {
        object = older_locked(fifo, &walk);
    } while (object != NULL && strcmp(kl_object_key(object), key) != 0);
    if (object != NULL) {
        kl_object_ref(object);
    }
    kl__mutex_unlock(&fifo->mutex);
    return object;
}

/* The newest object of each key, into `newest`, without a reference. */
static bool collect_locked(const kl__delta_fifo *fifo, kl__map *newest)
{
    backwards walk = {.delta = fifo->count};
    kl_object *object;

    while ((object = older_locked(fifo, &walk)) != NULL) {
        const char *key = kl_object_key(object);

        if (kl__map_get(newest, key) == NULL &&
            !kl__map_put(newest, key, object, NULL)) {
            return false;
        }
    }
    return true;
}

kl_code kl__delta_fifo_list(kl__delta_fifo *fifo, kl_object_list *list)
{
    kl__map newest = {0};
    size_t cursor = 0;
    const kl__map_slot *slot;
    kl_code code = KL_ENOMEM;

    kl__mutex_lock(&fifo->mutex);
    if (collect_locked(fifo, &newest)) {
        list->items = kl__malloc(newest.count * sizeof(kl_object *));
    }
    if (list->items != NULL) {
        while ((slot = kl__map_next(&newest, &cursor)) != NULL) {
            list->items[list->count++] = kl_object_ref(slot->value);
        }
        code = KL_OK;
    }
    kl__mutex_unlock(&fifo->mutex);
    kl__map_deinit(&newest);
    if (code == KL_OK) {
        kl__object_list_sort(list);
    }
    return code;
}

kl_code kl__delta_fifo_list_keys(kl__delta_fifo *fifo, kl_string_list *list)
{
    kl_object_list objects = {0};
    kl_code code = kl__delta_fifo_list(fifo, &objects);

    if (code == KL_OK) {
        list->items = kl__calloc(objects.count, sizeof(char *));
        code = list->items != NULL ? KL_OK : KL_ENOMEM;
    }
    for (size_t i = 0; code == KL_OK && i < objects.count; i++) {
        list->items[i] = kl__strdup(kl_object_key(objects.items[i]));
        list->count++;
        code = list->items[i] != NULL ? KL_OK : KL_ENOMEM;
    }
    kl_object_list_clear(&objects);
    if (code != KL_OK) {
        kl_string_list_clear(list);
    }
    return code;
}
