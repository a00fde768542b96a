/*
 * conflicts.h - the fields that an apply would take from others, in words.
 */
#ifndef KL_PATCH_CONFLICTS_H
#define KL_PATCH_CONFLICTS_H

#include "sim/patch/managers.h"

/* Adds the fields of a manager that conflict. False: no memory. */
bool kl__conflicts_add(kl__conflicts *conflicts, const kl__manager *manager,
                       const kl__node *fields);

#endif
