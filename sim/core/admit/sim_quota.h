/*
 * sim_quota.h - how objects count for ResourceQuotas, which limit what the
 * objects of a namespace use together: which resources of a quota apply to a
 * kind, which objects are in its scopes, and how much each object uses. The
 * functions read only their arguments: trees in which the defaults are set.
 */
#ifndef KL_SIM_QUOTA_H
#define KL_SIM_QUOTA_H

#include "sim/core/json/edit.h"
#include "sim/core/kinds/sim_kinds.h"

/* True if objects of a kind count for a resource. */
bool kl__sim_quota_counts(const kl__sim_kind *kind, const char *resource);
/* The amounts of `list` that are of resources for which objects of a kind
 * count. Owned by `edit`; NULL: out of memory. */
kl__node *kl__sim_quota_mask(kl__edit *edit, const kl__sim_kind *kind,
                             const kl__node *list);
/* True if an object is in the scopes of a quota with that spec. */
bool kl__sim_quota_selects(const kl__node *spec, const kl__sim_kind *kind,
                           const kl__node *object);
/* How much an object uses of each resource. Owned by `edit`; NULL: out of
 * memory. */
kl__node *kl__sim_quota_usage(kl__edit *edit, const kl__sim_kind *kind,
                              const kl__node *object);

#endif
