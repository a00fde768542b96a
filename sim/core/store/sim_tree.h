/*
 * sim_tree.h - the current states of a resource, sorted by key: a skip list, so
 * that lists, pages and inserts are cheap with 100,000 objects.
 */
#ifndef KL_SIM_TREE_H
#define KL_SIM_TREE_H

#include "sim/core/store/sim_state.h"

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

/* Removes the node of a key, which must be in the tree. Returns its state, with
 * the tree's reference, which the caller now owns. */
kl__sim_state *kl__sim_tree_remove(kl__sim_tree *tree, const char *key);

#endif
