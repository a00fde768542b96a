/*
 * sim_walk.c - see sim_store.h: the objects of a resource at an earlier version
 * are the current objects with the later events undone. So all pages of a list
 * show the same version, and no objects are copied for that.
 */
#include "sim/core/store/sim_store.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* What a key had at the version of the walk, if it has changed since. */
typedef struct kl__sim_undone {
    const char *key;
    kl__sim_state *state; /* NULL: the object did not exist */
} kl__sim_undone;

static int compare_undone(const void *a, const void *b)
{
    return strcmp(((const kl__sim_undone *)a)->key,
                  ((const kl__sim_undone *)b)->key);
}

/* Fills walk->undone with an entry for each key that is `start` or later and
 * has changed after `version`. The first change of a key has its state at
 * `version`. False: out of memory. */
static bool undo_changes(kl__sim_walk *walk, const kl__sim_resource *resource,
                         const char *start, int64_t version)
{
    uint64_t from = kl__sim_resource_after(resource, version);
    size_t count = (size_t)(resource->next - from);
    kl__map seen = {0};
    bool done = count == 0;

    if (!done) {
        walk->undone = kl__calloc(count, sizeof(*walk->undone));
        done = walk->undone != NULL && kl__map_reserve(&seen, count);
    }
    for (uint64_t i = from; done && i != resource->next; i++) {
        const kl__sim_event *event = kl__sim_resource_event(resource, i);
        const char *key =
            (event->object != NULL ? event->object : event->previous)->key;

        if (strcmp(key, start) >= 0 && kl__map_get(&seen, key) == NULL) {
            kl__sim_undone *entry = &walk->undone[walk->undone_count++];

            entry->key = key;
            entry->state = event->previous;
            kl__map_put(&seen, key, entry, NULL); /* room is reserved */
        }
    }
    kl__map_deinit(&seen);
    if (walk->undone_count > 1) {
        qsort(walk->undone, walk->undone_count, sizeof(*walk->undone),
              compare_undone);
    }
    return done;
}

kl_code kl__sim_walk_begin(kl__sim_walk *walk, const kl__sim_resource *resource,
                           const char *start, int64_t version, kl_error *err)
{
    memset(walk, 0, sizeof(*walk));
    walk->node = kl__sim_tree_seek(&resource->items, start);
    if (!undo_changes(walk, resource, start, version)) {
        kl__sim_walk_end(walk);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a list");
    }
    return KL_OK;
}

kl__sim_state *kl__sim_walk_next(kl__sim_walk *walk)
{
    for (;;) {
        kl__sim_undone *undone = walk->undone_at < walk->undone_count
                                     ? &walk->undone[walk->undone_at]
                                     : NULL;
        const kl__sim_node *node = walk->node;
        int order;

        if (undone == NULL && node == NULL) {
            return NULL;
        }
        order = undone == NULL ? -1
                : node == NULL ? 1
                               : strcmp(node->state->key, undone->key);
        if (order <= 0) {
            walk->node = node->next[0];
        }
        if (order < 0) {
            return node->state;
        }
        walk->undone_at++;
        if (undone->state != NULL) {
            return undone->state;
        }
    }
}

void kl__sim_walk_end(kl__sim_walk *walk)
{
    kl__free(walk->undone);
    memset(walk, 0, sizeof(*walk));
}
