/*
 * members.h - the members of an object by name: a patch of a megabyte would
 * take minutes if each of its members were looked for one by one.
 */
#ifndef KL_PATCH_MEMBERS_H
#define KL_PATCH_MEMBERS_H

#include "base/map.h"
#include "sim/json/edit.h"

/* Borrows the object, which must not lose or rename members meanwhile. Objects
 * of a few members are gone through; so is any without memory for a table. */
typedef struct kl__members {
    const kl__node *object;
    kl__map by_name; /* empty: there is no table */
} kl__members;

void kl__members_init(kl__members *members, const kl__node *object);
void kl__members_deinit(kl__members *members);
kl__node *kl__members_get(const kl__members *members, const char *name,
                          size_t length);

/* Leaves one member of each name in all objects of a tree: the place is the
 * first one's, the value the last one's, as Go reads JSON. KL_ENOMEM. */
kl_code kl__members_unique(kl__node *node, kl_error *err);
/* The same of one object, and not of what is in it; of what is none nothing. */
kl_code kl__members_unique_in(kl__node *object, kl_error *err);
/* Whether that would change nothing. Without memory to look: false. */
bool kl__members_are_unique(const kl__node *node);

/* Takes out the members that are null, at any depth; elements stay. */
void kl__patch_prune(kl__node *node);

#endif
