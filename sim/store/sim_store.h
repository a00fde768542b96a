/*
 * sim_store.h - the objects of one resource: what they are now, what happened
 * to them lately, and so what they were at an earlier version. The cluster's
 * mutex guards all of it.
 */
#ifndef KL_SIM_STORE_H
#define KL_SIM_STORE_H

#include "base/list.h"
#include "base/thread.h"
#include "sim/kinds/sim_kinds.h"
#include "sim/store/sim_bell.h"
#include "sim/store/sim_tree.h"

/* One change. Added: no previous; deleted: no object. */
typedef struct kl__sim_event {
    int64_t version;
    kl__sim_state *object;
    kl__sim_state *previous;
} kl__sim_event;

typedef struct kl__sim_resource {
    kl__list node; /* in the cluster's list, in the order of discovery */
    int refs;      /* the cluster's, and one of each open watch */
    kl__sim_kind *kind;
    /* Where its objects are: itself, or the resource of another group, as of
     * Events. What is asked of it is asked there; borrowed. */
    struct kl__sim_resource *home;
    bool removed;         /* its CRD is gone: watches end */
    kl__sim_bell changed; /* an event came in, or a fault */
    kl__sim_tree items;
    /* The ring holds events [first, next) by their running number. A watch is
     * a running number; what falls out of the ring is lost to it. */
    kl__sim_event *ring;
    size_t capacity; /* 0 or a power of two */
    size_t limit;    /* events kept, at most */
    uint64_t first;
    uint64_t next;
    int64_t floor; /* watches and lists of an older version are refused */
} kl__sim_resource;

/* One reference for the caller; takes one more of `kind`. NULL: out of memory.
 * `limit`: how many events it keeps. */
kl__sim_resource *kl__sim_resource_new(kl__sim_kind *kind, size_t limit);
void kl__sim_resource_unref(kl__sim_resource *resource);

/* Adds the state's object or replaces it; takes `state`, also when it fails.
 * KL_ENOMEM changes nothing. */
kl_code kl__sim_resource_put(kl__sim_resource *resource, kl__sim_state *state,
                             kl_error *err);

/* Removes an object, which is there, as of `version`. As above. */
kl_code kl__sim_resource_remove(kl__sim_resource *resource, const char *key,
                                int64_t version, kl_error *err);

/* Forgets what was before `version`: for new readers. Open watches still get
 * what they have not read. */
void kl__sim_resource_compact(kl__sim_resource *resource, int64_t version);

/* Holds what is in `items` (taken, and left empty) from now on, as of
 * `version`; forgets all events. */
void kl__sim_resource_replace(kl__sim_resource *resource, kl__sim_tree *items,
                              int64_t version);

/* The running number of the first event after `version`. */
uint64_t kl__sim_resource_after(const kl__sim_resource *resource,
                                int64_t version);

static inline const kl__sim_event *
kl__sim_resource_event(const kl__sim_resource *resource, uint64_t number)
{
    return &resource->ring[number & (resource->capacity - 1)];
}

/* Goes through the states as they were at a version, in the order of keys. */
typedef struct kl__sim_walk {
    const kl__sim_node *node;      /* what is there now */
    struct kl__sim_undone *undone; /* what was there then, where it differs */
    size_t undone_count;
    size_t undone_at;
} kl__sim_walk;

/* Begins at key `start`, at `version` (at least the floor). KL_ENOMEM. The
 * resource must not change until kl__sim_walk_end. */
kl_code kl__sim_walk_begin(kl__sim_walk *walk, const kl__sim_resource *resource,
                           const char *start, int64_t version, kl_error *err);
/* The next state, borrowed; NULL at the end. */
kl__sim_state *kl__sim_walk_next(kl__sim_walk *walk);
void kl__sim_walk_end(kl__sim_walk *walk);

#endif
