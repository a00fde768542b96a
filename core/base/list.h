/*
 * list.h - an intrusive, circular, doubly linked list: adding allocates
 * nothing, removing is O(1). The head of a list is a kl__list without a struct
 * around it.
 */
#ifndef KL_BASE_LIST_H
#define KL_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__list {
    struct kl__list *next;
    struct kl__list *prev;
} kl__list;

/* The struct of type `type` that contains `node` as its member `member`. */
#define KL__CONTAINER(node, type, member) \
    ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Makes an empty list, or a node that is in no list. */
static inline void kl__list_init(kl__list *list)
{
    list->next = list;
    list->prev = list;
}

static inline bool kl__list_empty(const kl__list *list)
{
    return list->next == list;
}

static inline void kl__list_append(kl__list *list, kl__list *node)
{
    node->prev = list->prev;
    node->next = list;
    list->prev->next = node;
    list->prev = node;
}

/* Removes the node from its list; does nothing if it is in none. */
static inline void kl__list_remove(kl__list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    kl__list_init(node);
}

/* Removes and returns the first node; NULL for an empty list. */
static inline kl__list *kl__list_shift(kl__list *list)
{
    kl__list *node = list->next;

    if (node == list) {
        return NULL;
    }
    kl__list_remove(node);
    return node;
}

#endif
