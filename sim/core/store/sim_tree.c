/*
 * sim_tree.c - see sim_tree.h. A node of level n - 1 is on level n too with
 * probability 1/4, so a search looks at about 4 nodes a level.
 */
#include "sim/core/store/sim_tree.h"

#include "base/mem.h"

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

kl__sim_state *kl__sim_tree_remove(kl__sim_tree *tree, const char *key)
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
