/*
 * sim_tree.h - the current states of a resource in the order of their keys: a
 * skip list, so that lists, pages and inserts are cheap at 100,000 objects.
 */
#ifndef KL_SIM_TREE_H
#define KL_SIM_TREE_H

#include "sim/store/sim_state.h"

enum { KL__SIM_TREE_LEVELS = 20 };

typedef struct kl__sim_node {
    kl__sim_state *state;
    int levels;
    struct kl__sim_node *next[]; /* next[0] is the next key */
} kl__sim_node;

typedef struct kl__sim_tree {
    kl__sim_node *first[KL__SIM_TREE_LEVELS];
    size_t count;
    uint64_t dice; /* of a xorshift generator; never 0 */
} kl__sim_tree;

void kl__sim_tree_init(kl__sim_tree *tree);
void kl__sim_tree_deinit(kl__sim_tree *tree); /* unrefs the states */

/* The first node whose key is `key` or comes after it; NULL at the end. */
kl__sim_node *kl__sim_tree_seek(const kl__sim_tree *tree, const char *key);

/* The node of a key, or NULL. */
kl__sim_node *kl__sim_tree_find(const kl__sim_tree *tree, const char *key);

/* The first node of a namespace, and the one after a node of it; NULL: there is
 * none. */
kl__sim_node *kl__sim_tree_first_in(const kl__sim_tree *tree,
                                    const char *name_space);
kl__sim_node *kl__sim_tree_next_in(const kl__sim_node *node,
                                   const char *name_space);

/* A node that kl__sim_tree_add can put in without failing; NULL when out of
 * memory. */
kl__sim_node *kl__sim_node_new(kl__sim_tree *tree);

/* Puts in a state whose key is in no node; takes both. */
void kl__sim_tree_add(kl__sim_tree *tree, kl__sim_node *node,
                      kl__sim_state *state);

/* Takes the node of a key out and returns its state, now the caller's. */
kl__sim_state *kl__sim_tree_remove(kl__sim_tree *tree, const char *key);

#endif
