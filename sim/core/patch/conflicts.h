/*
 * conflicts.h - lists the fields that an apply would take from other managers,
 * for the message of a 409.
 */
#ifndef KL_PATCH_CONFLICTS_H
#define KL_PATCH_CONFLICTS_H

#include "sim/core/patch/managers.h"

/* Adds a manager's fields that conflict. False: out of memory. */
bool kl__conflicts_add(kl__conflicts *conflicts, const kl__manager *manager,
                       const kl__node *fields);

#endif
