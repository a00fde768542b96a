/*
 * amounts.h - lists of resources ({"cpu": "1", "pods": "2"}) as nodes:
 * requests, usage and limits, for quotas. The texts are valid quantities.
 */
#ifndef KL_SCHEMA_AMOUNTS_H
#define KL_SCHEMA_AMOUNTS_H

#include "base/buf.h"
#include "sim/json/edit.h"

/* The amount of a resource; NULL: not in the list. */
const char *kl__amount(const kl__node *list, const char *name);

/* --- Changing `list` of `edit`. False: out of memory. --------------------- */

bool kl__amount_put(kl__edit *edit, kl__node *list, const char *name,
                    const char *amount);
/* Adds one amount, or all of a list (NULL: none). */
bool kl__amount_add(kl__edit *edit, kl__node *list, const char *name,
                    const char *amount);
bool kl__amounts_add(kl__edit *edit, kl__node *list, const kl__node *more);
/* Raises each amount to at least that of `least`. */
bool kl__amounts_raise(kl__edit *edit, kl__node *list, const kl__node *least);
/* Subtracts the amounts of `less`, down to 0. */
bool kl__amounts_lower(kl__edit *edit, kl__node *list, const kl__node *less);

/* Appends "cpu=1,pods=2", sorted by name. */
void kl__amounts_print(const kl__node *list, kl__buf *out);

/* The sum of a member (requests or limits) over the containers of a pod with
 * that spec, init containers included. A list of `edit`; NULL: out of
 * memory. */
kl__node *kl__container_amounts(kl__edit *edit, const kl__node *spec,
                                const char *member);
/* The same for the pod: its own amounts replace the sum; and with its overhead,
 * if `overhead`. */
kl__node *kl__pod_amounts(kl__edit *edit, const kl__node *spec,
                          const char *member, bool overhead);

#endif
