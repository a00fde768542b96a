/*
 * sim_store.c - see sim_store.h. Every change first reserves the memory that it
 * needs; after that it cannot fail.
 *
 * In the tree, a node of level n - 1 is on level n too with probability 1/4, so
 * a search looks at about 4 nodes a level.
 *
 * The objects of a resource at an earlier version are the current objects with
 * the later events undone. So all pages of a list show the same version, and no
 * objects are copied for that.
 */
#include "sim/core/store/sim_store.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The last link that a search followed on each level. An insert or a removal
 * changes these links. */
typedef struct trail {
    kl__sim_node **links[KL__SIM_TREE_LEVELS];
} trail;

void kl__sim_tree_init(kl__sim_tree *tree)
{
    memset(tree, 0, sizeof(*tree));
    tree->dice = 0x9e3779b97f4a7c15u;
}

void kl__sim_tree_deinit(kl__sim_tree *tree)
{
    kl__sim_node *node = tree->first[0];

    while (node != NULL) {
        kl__sim_node *next = node->next[0];

        kl__sim_state_unref(node->state);
        kl__free(node);
        node = next;
    }
    kl__sim_tree_init(tree);
}

/* The first node at or after `key`, or NULL; `path` gets the links to it. */
static kl__sim_node *search_key(kl__sim_tree *tree, const char *key,
                                trail *path)
{
    kl__sim_node **links = tree->first;

    for (int level = KL__SIM_TREE_LEVELS - 1; level >= 0; level--) {
        while (links[level] != NULL &&
               strcmp(links[level]->state->key, key) < 0) {
            links = links[level]->next;
        }
        path->links[level] = &links[level];
    }
    return links[0];
}

kl__sim_node *kl__sim_tree_seek(const kl__sim_tree *tree, const char *key)
{
    kl__sim_node *const *links = tree->first;

    for (int level = KL__SIM_TREE_LEVELS - 1; level >= 0; level--) {
        while (links[level] != NULL &&
               strcmp(links[level]->state->key, key) < 0) {
            links = links[level]->next;
        }
    }
    return links[0];
}

kl__sim_node *kl__sim_tree_find(const kl__sim_tree *tree, const char *key)
{
    kl__sim_node *node = kl__sim_tree_seek(tree, key);

    return node != NULL && strcmp(node->state->key, key) == 0 ? node : NULL;
}

kl__sim_node *kl__sim_node_new(kl__sim_tree *tree)
{
    kl__sim_node *node;
    int levels = 1;

    tree->dice ^= tree->dice << 13;
    tree->dice ^= tree->dice >> 7;
    tree->dice ^= tree->dice << 17;
    for (uint64_t dice = tree->dice;
         (dice & 3) == 0 && levels < KL__SIM_TREE_LEVELS; dice >>= 2) {
        levels++;
    }
    node =
        kl__calloc(1, sizeof(*node) + (size_t)levels * sizeof(node->next[0]));
    if (node != NULL) {
        node->levels = levels;
    }
    return node;
}

void kl__sim_tree_add(kl__sim_tree *tree, kl__sim_node *node,
                      kl__sim_state *state)
{
    trail path;

    search_key(tree, state->key, &path);
    node->state = state;
    for (int level = 0; level < node->levels; level++) {
        node->next[level] = *path.links[level];
        *path.links[level] = node;
    }
    tree->count++;
}

/* Removes the node of a key, which must be in the tree. Returns its state, with
 * the tree's reference, which the caller now owns. */
static kl__sim_state *sim_tree_remove(kl__sim_tree *tree, const char *key)
{
    trail path;
    kl__sim_node *node = search_key(tree, key, &path);
    kl__sim_state *state;

    if (node == NULL || strcmp(node->state->key, key) != 0) {
        return NULL;
    }
    for (int level = 0; level < node->levels; level++) {
        *path.links[level] = node->next[level];
    }
    state = node->state;
    kl__free(node);
    tree->count--;
    return state;
}

/* ---- changes ---- */

enum { FIRST_CAPACITY = 16 };

kl__sim_resource *kl__sim_resource_new(kl__sim_kind *kind, size_t limit)
{
    kl__sim_resource *resource = kl__calloc(1, sizeof(*resource));

    if (resource == NULL) {
        return NULL;
    }
    kl__list_init(&resource->node);
    resource->refs = 1;
    resource->kind = kl__sim_kind_ref(kind);
    resource->home = resource;
    resource->limit = limit;
    kl__sim_bell_init(&resource->changed);
    kl__sim_tree_init(&resource->items);
    return resource;
}

static void forget_first(kl__sim_resource *resource)
{
    const kl__sim_event *event =
        kl__sim_resource_event(resource, resource->first);

    if (resource->floor < event->version) {
        resource->floor = event->version;
    }
    kl__sim_state_unref(event->object);
    kl__sim_state_unref(event->previous);
    resource->first++;
}

void kl__sim_resource_unref(kl__sim_resource *resource)
{
    if (--resource->refs != 0) {
        return;
    }
    while (resource->first != resource->next) {
        forget_first(resource);
    }
    kl__free(resource->ring);
    kl__sim_tree_deinit(&resource->items);
    kl__sim_bell_deinit(&resource->changed);
    kl__sim_kind_unref(resource->kind);
    kl__free(resource);
}

static bool grow_ring(kl__sim_resource *resource)
{
    size_t capacity =
        resource->capacity != 0 ? resource->capacity * 2 : FIRST_CAPACITY;
    kl__sim_event *ring = kl__calloc(capacity, sizeof(*ring));

    if (ring == NULL) {
        return false;
    }
    for (uint64_t i = resource->first; i != resource->next; i++) {
        ring[i & (capacity - 1)] = *kl__sim_resource_event(resource, i);
    }
    kl__free(resource->ring);
    resource->ring = ring;
    resource->capacity = capacity;
    return true;
}

/* Reserves room for one event. At the limit the oldest event is forgotten. */
static bool reserve_event(kl__sim_resource *resource)
{
    size_t count = (size_t)(resource->next - resource->first);

    if (count == resource->limit) {
        forget_first(resource);
        return true;
    }
    return count < resource->capacity || grow_ring(resource);
}

/* Appends an event; takes both references. */
static void push_event(kl__sim_resource *resource, int64_t version,
                       kl__sim_state *object, kl__sim_state *previous)
{
    kl__sim_event *event =
        &resource->ring[resource->next & (resource->capacity - 1)];

    event->version = version;
    event->object = object;
    event->previous = previous;
    resource->next++;
    kl__sim_bell_ring(&resource->changed);
}

kl_code kl__sim_resource_put(kl__sim_resource *resource, kl__sim_state *state,
                             kl_error *err)
{
    kl__sim_node *node = kl__sim_tree_find(&resource->items, state->key);
    kl__sim_node *added = NULL;
    kl__sim_state *previous = NULL;

    if (node == NULL) {
        added = kl__sim_node_new(&resource->items);
    }
    if ((node == NULL && added == NULL) || !reserve_event(resource)) {
        kl__free(added);
        kl__sim_state_unref(state);
        return kl_error_set(err, KL_ENOMEM, "out of memory for an object");
    }
    if (node == NULL) {
        kl__sim_tree_add(&resource->items, added, state);
    } else {
        previous = node->state;
        node->state = state;
    }
    push_event(resource, state->version, kl__sim_state_ref(state), previous);
    return KL_OK;
}

kl_code kl__sim_resource_remove(kl__sim_resource *resource, const char *key,
                                int64_t version, kl_error *err)
{
    if (!reserve_event(resource)) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for an event");
    }
    push_event(resource, version, NULL, sim_tree_remove(&resource->items, key));
    return KL_OK;
}

void kl__sim_resource_compact(kl__sim_resource *resource, int64_t version)
{
    if (version > resource->floor) {
        resource->floor = version;
    }
}

void kl__sim_resource_replace(kl__sim_resource *resource, kl__sim_tree *items,
                              int64_t version)
{
    while (resource->first != resource->next) {
        forget_first(resource);
    }
    kl__sim_tree_deinit(&resource->items);
    resource->items = *items;
    kl__sim_tree_init(items);
    resource->floor = version;
    kl__sim_bell_ring(&resource->changed);
}

uint64_t kl__sim_resource_after(const kl__sim_resource *resource,
                                int64_t version)
{
    uint64_t low = resource->first, high = resource->next;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (kl__sim_resource_event(resource, middle)->version <= version) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- an earlier version ---- */

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
