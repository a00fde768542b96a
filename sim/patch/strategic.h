/*
 * strategic.h - what the files of strategic merge patches share: objects are
 * merged in strategic.c, lists in strategic_list.c and strategic_order.c, those
 * with a $setElementOrder in strategic_orders.c.
 */
#ifndef KL_PATCH_STRATEGIC_H
#define KL_PATCH_STRATEGIC_H

#include "base/map.h"
#include "sim/patch/patch.h"

typedef struct kl__strategic {
    kl__edit *edit;
    kl_error *err;
} kl__strategic;

/* A list that is merged: what the field of the list says. */
typedef struct kl__strategic_list {
    const kl__schema *items; /* NULL: unknown */
    const char *merge_key;   /* NULL: none */
    bool merges;             /* its strategy; else it is replaced */
} kl__strategic_list;

typedef struct kl__member_name {
    const char *text;
    size_t length;
} kl__member_name;

#define KL__SET_ELEMENT_ORDER "$setElementOrder"

/* Whether a member is a directive of that kind; and the name that it is about,
 * behind a slash, or NULL. */
bool kl__strategic_is(const char *name, size_t length, const char *prefix);
const char *kl__strategic_about(const char *name, size_t *length,
                                const char *prefix);
/* The schema of a member, or NULL; what the one of a list says of merging. */
const kl__schema *kl__strategic_member(const kl__schema *schema,
                                       const kl__member_name *name);
kl__strategic_list kl__strategic_list_of(const kl__schema *schema);

kl_code kl__strategic_map(const kl__strategic *job, const kl__schema *schema,
                          kl__node *original, kl__node *patch);
/* All $setElementOrder of a patch: what they are about is merged, and is in the
 * patch no more. */
kl_code kl__strategic_orders(const kl__strategic *job, const kl__schema *schema,
                             kl__node *original, kl__node *patch);

/* Merges a list into another, in place. */
kl_code kl__strategic_slice(const kl__strategic *job,
                            const kl__strategic_list *list, kl__node *original,
                            kl__node *patch);
/* Takes the values of a list of primitives out of another. */
kl_code kl__strategic_delete(const kl__strategic *job, kl__node *original,
                             kl__node *values);
/* $setElementOrder: orders `merged` by `order`, and by `server` (what was there
 * before; may be NULL) what that does not name. */
kl_code kl__strategic_order(const kl__strategic *job,
                            const kl__strategic_list *list, kl__node *merged,
                            kl__node *order, kl__node *server);
/* Whether a patch's list has the order that $setElementOrder says. */
kl_code kl__strategic_check_order(const kl__strategic *job,
                                  const kl__strategic_list *list,
                                  kl__node *patch, kl__node *order);

/* The elements of a list, and the first index of each key. */
typedef struct kl__keyed {
    kl__node **items;
    size_t count;
    size_t capacity;
    kl__map first; /* index + 1 */
} kl__keyed;

/* Takes the elements of an array, with room for more; also after a failure it
 * is to be deinited. Keys are the values of `merge_key`, or (NULL) elements. */
kl_code kl__keyed_init(const kl__strategic *job, const char *merge_key,
                       kl__keyed *list, const kl__node *array, size_t extra);
void kl__keyed_deinit(kl__keyed *list);
kl_code kl__keyed_add(const kl__strategic *job, const char *merge_key,
                      kl__keyed *list, kl__node *element);
/* What an element is known by; lives as the document. NULL: see *code. */
const char *kl__keyed_name(const kl__strategic *job, const char *merge_key,
                           const kl__node *element, size_t *length,
                           kl_code *code);
/* The first index of a key, and 1; 0: there is none. */
size_t kl__keyed_find(const kl__keyed *list, const char *key, size_t length);
/* Orders elements into `array`: by the first of `orders` what that names,
 * between them what only the second, the server's, does. */
kl_code kl__keyed_arrange(const kl__strategic *job, const char *merge_key,
                          kl__node *array, const kl__keyed *merged,
                          const kl__keyed *const orders[2]);
/* Whether all elements of two lists are of one type; and objects. */
kl_code kl__strategic_elements(const kl__strategic *job,
                               const kl__node *const sides[2], bool *are_maps);

/* Takes directives out of a value that is put in as it is. False: it is one
 * itself. */
bool kl__strategic_strip(kl__node *value);

kl_code kl__strategic_no_memory(const kl__strategic *job);

#endif
