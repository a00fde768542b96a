/*
 * sim_store.h - one resource (such as pods): its current objects and its last
 * events. Both together give the objects at an earlier version. A request for a
 * version that is older than these events gets 410: docs/KUBERNETES.md#gone.
 * The cluster's mutex guards all fields.
 */
#ifndef KL_SIM_STORE_H
#define KL_SIM_STORE_H

#include "base/list.h"
#include "base/thread.h"
#include "sim/core/kinds/sim_kinds.h"
#include "sim/core/store/sim_bell.h"
#include "sim/core/store/sim_tree.h"

/* One change of an object. Added: `previous` is NULL; deleted: `object` is
 * NULL. */
typedef struct kl__sim_event {
    int64_t version;
    kl__sim_state *object;
    kl__sim_state *previous;
} kl__sim_event;

typedef struct kl__sim_resource {
    kl__list node; /* in the cluster's list, in discovery's order */
    int refs;      /* the cluster, each open watch and some chores have one */
    kl__sim_kind *kind;
    /* The resource that holds the objects, and answers the requests: this one,
     * or for Events of events.k8s.io, the resource of the core group.
     * Borrowed. */
    struct kl__sim_resource *home;
    bool removed;         /* its CRD is gone: watches end */
    kl__sim_bell changed; /* rung by an event or a fault */
    kl__sim_tree items;
    /* A ring of the events with the numbers first to next - 1. A watch keeps
     * the number of its next event; it cannot get an event that has left the
     * ring. */
    kl__sim_event *ring;
    size_t capacity; /* 0 or a power of two */
    size_t limit;    /* most events that are kept */
    uint64_t first;
    uint64_t next;
    int64_t floor; /* lists and watches of an older version get 410 */
} kl__sim_resource;

/* A resource without objects, with one reference for the caller. It takes a
 * reference to `kind`. `limit`: how many events it keeps. NULL: out of
 * memory. */
kl__sim_resource *kl__sim_resource_new(kl__sim_kind *kind, size_t limit);
void kl__sim_resource_unref(kl__sim_resource *resource);

/* Adds an object or replaces it; takes `state`, also when it fails. After
 * KL_ENOMEM nothing has changed. */
kl_code kl__sim_resource_put(kl__sim_resource *resource, kl__sim_state *state,
                             kl_error *err);

/* Removes an object, which must exist, at `version`. After KL_ENOMEM nothing
 * has changed. */
kl_code kl__sim_resource_remove(kl__sim_resource *resource, const char *key,
                                int64_t version, kl_error *err);

/* From now on, new lists and watches of a version below `version` get 410. Open
 * watches still get the events that they have not read. */
void kl__sim_resource_compact(kl__sim_resource *resource, int64_t version);

/* Replaces all objects by `items`, at `version`, and forgets all events. Takes
 * the nodes of `items`, which is empty afterwards. */
void kl__sim_resource_replace(kl__sim_resource *resource, kl__sim_tree *items,
                              int64_t version);

/* The number of the first event after `version`. */
uint64_t kl__sim_resource_after(const kl__sim_resource *resource,
                                int64_t version);

static inline const kl__sim_event *
kl__sim_resource_event(const kl__sim_resource *resource, uint64_t number)
{
    return &resource->ring[number & (resource->capacity - 1)];
}

/* A walk through the states as they were at a version, sorted by key. */
typedef struct kl__sim_walk {
    const kl__sim_node *node;      /* the next current object */
    struct kl__sim_undone *undone; /* the objects that differed, by key */
    size_t undone_count;
    size_t undone_at; /* the next of them */
} kl__sim_walk;

/* Begins a walk at the first key that is `start` or later, at `version`, which
 * is not below the floor. The resource must not change until kl__sim_walk_end.
 * KL_ENOMEM. */
kl_code kl__sim_walk_begin(kl__sim_walk *walk, const kl__sim_resource *resource,
                           const char *start, int64_t version, kl_error *err);
/* The next state; borrowed. NULL at the end. */
kl__sim_state *kl__sim_walk_next(kl__sim_walk *walk);
void kl__sim_walk_end(kl__sim_walk *walk);

#endif
