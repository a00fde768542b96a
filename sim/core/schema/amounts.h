/*
 * amounts.h - lists of resources with amounts ({"cpu": "1", "pods": "2"}), as
 * requests, limits and quotas have them. The amounts are valid quantities.
 */
#ifndef KL_SCHEMA_AMOUNTS_H
#define KL_SCHEMA_AMOUNTS_H

#include "base/buf.h"
#include "sim/core/json/edit.h"

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
/* Subtracts the amounts of `less`; the result is at least 0. */
bool kl__amounts_lower(kl__edit *edit, kl__node *list, const kl__node *less);

/* Appends "cpu=1,pods=2", sorted by name. When memory runs out, `out` keeps the
 * failure. */
void kl__amounts_print(const kl__node *list, kl__buf *out);

/* What the containers of a pod with that spec need together, init containers
 * included; `member` is "requests" or "limits". A list of `edit`; NULL: out of
 * memory. */
kl__node *kl__container_amounts(kl__edit *edit, const kl__node *spec,
                                const char *member);
/* The same for the whole pod: its own amounts of cpu and memory replace those
 * of its containers. `overhead`: adds the overhead of the pod. */
kl__node *kl__pod_amounts(kl__edit *edit, const kl__node *spec,
                          const char *member, bool overhead);

#endif
