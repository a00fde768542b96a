/*
 * distinct.h - of several members of one name in an object, the last counts, as
 * in Go's decoder. A function that looks for one member reads its object to the
 * end (cursor.c, search.c, doc.c). The functions here are for those that read
 * all members of an object.
 */
#ifndef KL_JSON_DISTINCT_H
#define KL_JSON_DISTINCT_H

#include "kubelua/cursor.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The members of one object that do not count, by their numbers from 0,
 * ascending. Zeroed: none. */
typedef struct kl__replaced {
    size_t *items; /* kl__free */
    size_t count;
    size_t next; /* of a walk over the object: the next of `items` */
} kl__replaced;

/* Of the object at `value`; none if it is no object. False: out of memory. */
bool kl__replaced_in_text(kl__replaced *replaced, const char *value,
                          const char *end);
bool kl__replaced_in_tree(kl__replaced *replaced, const kl_value *value);
void kl__replaced_deinit(kl__replaced *replaced);

/* For a walk: true if member number `i` does not count. Call it for each. */
static inline bool kl__replaced_has(kl__replaced *replaced, size_t i)
{
    if (replaced->next == replaced->count ||
        replaced->items[replaced->next] != i) {
        return false;
    }
    replaced->next++;
    return true;
}

#endif
