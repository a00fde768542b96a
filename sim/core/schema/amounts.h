/*
 * amounts.h - lists of resources with amounts ({"cpu": "1", "pods": "2"}), as
 * requests and limits have them. The amounts are valid quantities.
 */
#ifndef KL_SCHEMA_AMOUNTS_H
#define KL_SCHEMA_AMOUNTS_H

#include "sim/core/json/edit.h"

/* The amount of a resource; NULL: not in the list. */
const char *kl__amount(const kl__node *list, const char *name);

/* Sets the amount of a resource in `list` of `edit`. False: out of memory. */
bool kl__amount_put(kl__edit *edit, kl__node *list, const char *name,
                    const char *amount);
/* What the containers of a pod with that spec need together, init containers
 * included; `member` is "requests" or "limits". A list of `edit`; NULL: out of
 * memory. */
kl__node *kl__container_amounts(kl__edit *edit, const kl__node *spec,
                                const char *member);

#endif
