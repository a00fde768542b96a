/*
 * name_set.h - a set of the names of members, to find those that an object has
 * several times (distinct.h). The names of nested objects are in one set, those
 * of the innermost object last: a level ends when they are dropped. The time is
 * in proportion to the number of names, whatever they are.
 */
#ifndef KL_JSON_NAME_SET_H
#define KL_JSON_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kl__name {
    const char *bytes; /* borrowed, or owned */
    size_t length;
    uint32_t hash;
    uint32_t slot;
    bool is_owned;
    /* The caller's, about the last member of that name: where it begins and
     * ends. */
    size_t begin;
    size_t end;
} kl__name;

/* So many names need no memory of their own: most objects have fewer. */
enum { KL__NAMES_FEW = 32, KL__NAMES_FEW_SLOTS = 2 * KL__NAMES_FEW };

/* Must not be moved. */
typedef struct kl__names {
    kl__name *items; /* `few`, or owned */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* of a name its index + 1; 0: free. Half of the slots are
                        free. `few_slots`, or owned */
    kl__name few[KL__NAMES_FEW];
    uint32_t few_slots[KL__NAMES_FEW_SLOTS];
} kl__names;

void kl__names_init(kl__names *names);
void kl__names_deinit(kl__names *names);

/* A name as it stands in a text or in a tree. */
typedef struct kl__name_text {
    const char *bytes;
    size_t length;
    const char *end; /* not NULL: `bytes` is a string of a text that ends there,
                        which may have escapes */
} kl__name_text;

/* The name in the level that begins with name number `first`: the one that is
 * there (*is_new false), or a new one. Borrows the bytes, unless the name has
 * escapes. Valid until the next call. NULL: out of memory. */
kl__name *kl__names_add(kl__names *names, size_t first, const kl__name_text *at,
                        bool *is_new);

/* Drops the names from number `first` on. */
void kl__names_drop(kl__names *names, size_t first);

#endif
