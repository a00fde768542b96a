/*
 * sim_store.c - see sim_store.h. Every change first reserves the memory that it
 * needs; after that it cannot fail.
 */
#include "sim/core/store/sim_store.h"

#include "base/mem.h"

#include <string.h>

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
    push_event(resource, version, NULL,
               kl__sim_tree_remove(&resource->items, key));
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
