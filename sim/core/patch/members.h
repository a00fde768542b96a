/*
 * members.h - finds the members of an object by name through a table: if each
 * were searched linearly, a patch of a megabyte would take minutes.
 */
#ifndef KL_PATCH_MEMBERS_H
#define KL_PATCH_MEMBERS_H

#include "base/map.h"
#include "sim/core/json/edit.h"

/* Borrows the object, whose members must not be renamed meanwhile; a removed
 * member may still be found. Small objects are searched linearly, large objects
 * only if there is no memory for a table. */
typedef struct kl__members {
    const kl__node *object;
    kl__map by_name; /* empty if there is no table */
} kl__members;

void kl__members_init(kl__members *members, const kl__node *object);
void kl__members_deinit(kl__members *members);
kl__node *kl__members_get(const kl__members *members, const char *name,
                          size_t length);

/* Removes members that are null, at any depth; null elements of arrays stay. */
void kl__patch_prune(kl__node *node);

#endif
