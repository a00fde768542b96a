/*
 * sim_store.h - a bell tells waiting readers that something in a cluster has
 * changed. A thread that may block waits for the bell's condition. For a stream
 * whose reader must not block, the bell holds an ear, which is a callback. The
 * cluster's mutex guards both.
 */
#ifndef KL_STORE_SIM_STORE_H
#define KL_STORE_SIM_STORE_H

#include "base/list.h"
#include "base/thread.h"
#include "sim/core/kinds/sim_kinds.h"
#include "sim/core/store/sim_state.h"

typedef struct kl__sim_bell {
    kl__cond cond;
    kl__list ears;
} kl__sim_bell;

/* A callback, registered at one bell at most. The bell removes the ear, then
 * calls `wake` once, with the cluster's mutex held: `wake` may only set a flag
 * and wake the reader's thread. NULL: the ear is never registered. */
typedef struct kl__sim_ear {
    kl__list node;
    void (*wake)(void *arg);
    void *arg;
} kl__sim_ear;

static inline void kl__sim_bell_init(kl__sim_bell *bell)
{
    kl__cond_init(&bell->cond);
    kl__list_init(&bell->ears);
}

static inline void kl__sim_bell_deinit(kl__sim_bell *bell)
{
    kl__cond_deinit(&bell->cond);
}

static inline void kl__sim_bell_ring(kl__sim_bell *bell)
{
    kl__list *node;

    kl__cond_broadcast(&bell->cond);
    while ((node = kl__list_shift(&bell->ears)) != NULL) {
        kl__sim_ear *ear = KL__CONTAINER(node, kl__sim_ear, node);

        ear->wake(ear->arg);
    }
}

/* Registers the ear at this bell, and removes it from any other. */
static inline void kl__sim_bell_hear(kl__sim_bell *bell, kl__sim_ear *ear)
{
    if (ear->wake != NULL) {
        kl__list_remove(&ear->node);
        kl__list_append(&bell->ears, &ear->node);
    }
}

/* ---- The current states of a resource, sorted by key: a skip list, so that
 * lists, pages and inserts are cheap with 100,000 objects. */

enum { KL__SIM_TREE_LEVELS = 20 };

typedef struct kl__sim_node {
    kl__sim_state *state;
    int levels;
    struct kl__sim_node *next[]; /* next[0]: the node of the next key */
} kl__sim_node;

typedef struct kl__sim_tree {
    kl__sim_node *first[KL__SIM_TREE_LEVELS];
    size_t count;
    uint64_t dice; /* state of a xorshift random generator; never 0 */
} kl__sim_tree;

void kl__sim_tree_init(kl__sim_tree *tree);
/* Frees all nodes, and unrefs their states. */
void kl__sim_tree_deinit(kl__sim_tree *tree);

/* The first node at or after `key`; NULL: none. */
kl__sim_node *kl__sim_tree_seek(const kl__sim_tree *tree, const char *key);

/* The node of a key, or NULL. */
kl__sim_node *kl__sim_tree_find(const kl__sim_tree *tree, const char *key);

/* Makes a node for kl__sim_tree_add, which then cannot fail. The caller owns
 * the node until that call (kl__free). NULL: out of memory. */
kl__sim_node *kl__sim_node_new(kl__sim_tree *tree);

/* Inserts a state whose key is not in the tree yet; takes the state and the
 * node. */
void kl__sim_tree_add(kl__sim_tree *tree, kl__sim_node *node,
                      kl__sim_state *state);

/* ---- One resource (such as pods): its current objects and its last events.
 * Both together give the objects at an earlier version. A request for a
 * version that is older than these events gets 410: docs/KUBERNETES.md#gone.
 * The cluster's mutex guards all fields. */

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
