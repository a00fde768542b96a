/*
 * strategic.h - shared by the files of strategic merge patches, in which the
 * schema of a kind says how lists are merged: strategic.c merges objects and
 * lists, strategic_order.c lists with a $setElementOrder.
 */
#ifndef KL_PATCH_STRATEGIC_H
#define KL_PATCH_STRATEGIC_H

#include "base/map.h"
#include "sim/core/patch/patch.h"

typedef struct kl__strategic {
    kl__edit *edit;
    kl_error *err;
} kl__strategic;

/* How a list is merged, from the schema of its field. */
typedef struct kl__strategic_list {
    const kl__schema *items; /* NULL: unknown */
    const char *merge_key;   /* NULL: none */
    bool merges;             /* by the merge strategy; else it is replaced */
} kl__strategic_list;

typedef struct kl__member_name {
    const char *text;
    size_t length;
} kl__member_name;

#define KL__SET_ELEMENT_ORDER "$setElementOrder"

/* True if the name of a member begins with that prefix of a directive. The
 * second function: the name of the member that the directive is about
 * ("PREFIX/NAME"); NULL: there is no slash. */
bool kl__strategic_is(const char *name, size_t length, const char *prefix);
const char *kl__strategic_about(const char *name, size_t *length,
                                const char *prefix);
/* The schema of a member, or NULL. The second function: how a list with that
 * schema is merged. */
const kl__schema *kl__strategic_member(const kl__schema *schema,
                                       const kl__member_name *name);
kl__strategic_list kl__strategic_list_of(const kl__schema *schema);

/* Carries out all $setElementOrder directives of a patch: merges and sorts the
 * lists that they name. Removes these lists and the directives from the
 * patch. */
kl_code kl__strategic_orders(const kl__strategic *job, const kl__schema *schema,
                             kl__node *original, kl__node *patch);

/* Merges one list into another, in place. */
kl_code kl__strategic_slice(const kl__strategic *job,
                            const kl__strategic_list *list, kl__node *original,
                            kl__node *patch);

/* The elements of a list, and the first index of each key. */
typedef struct kl__keyed {
    kl__node **items;
    size_t count;
    size_t capacity;
    kl__map first; /* index + 1 */
} kl__keyed;

/* Lists the elements of an array, with room for `extra` more. The caller
 * deinits the list, also after a failure. Keys are the values of `merge_key`,
 * or (NULL) the elements. */
kl_code kl__keyed_init(const kl__strategic *job, const char *merge_key,
                       kl__keyed *list, const kl__node *array, size_t extra);
void kl__keyed_deinit(kl__keyed *list);
kl_code kl__keyed_add(const kl__strategic *job, const char *merge_key,
                      kl__keyed *list, kl__node *element);
/* The key of an element; lives as long as the document. NULL: see *code. */
const char *kl__keyed_name(const kl__strategic *job, const char *merge_key,
                           const kl__node *element, size_t *length,
                           kl_code *code);
/* The first index of a key, plus 1; 0: none. */
size_t kl__keyed_find(const kl__keyed *list, const char *key, size_t length);
/* Replaces the elements of `array` by those of `merged`, sorted. Elements whose
 * key is in orders[0] come in that order. All others come between them, in the
 * order of orders[1], the server's list before the patch. */
kl_code kl__keyed_arrange(const kl__strategic *job, const char *merge_key,
                          kl__node *array, const kl__keyed *merged,
                          const kl__keyed *const orders[2]);
/* Checks that all elements of two lists have one type; *are_maps: they are
 * objects. */
kl_code kl__strategic_elements(const kl__strategic *job,
                               const kl__node *const sides[2], bool *are_maps);

/* Removes directives from a value that is added to an object without a merge.
 * False: the value itself is a directive. */
bool kl__strategic_strip(kl__node *value);

/* True if two values have the same type. */
bool kl__strategic_is_alike(const kl__node *a, const kl__node *b);

kl_code kl__strategic_no_memory(const kl__strategic *job);

#endif
