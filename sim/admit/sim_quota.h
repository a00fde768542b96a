/*
 * sim_quota.h - how objects count for ResourceQuotas: which resources of a
 * quota apply to a kind, which objects are in its scopes, and how much each
 * object uses. Functions of trees with defaults set, without a cluster.
 */
#ifndef KL_SIM_QUOTA_H
#define KL_SIM_QUOTA_H

#include "sim/json/edit.h"
#include "sim/kinds/sim_kinds.h"

/* True if objects of a kind count for a resource. */
bool kl__sim_quota_counts(const kl__sim_kind *kind, const char *resource);
/* The part of a list of amounts for which objects of a kind count. A list of
 * `edit`; NULL: out of memory. */
kl__node *kl__sim_quota_mask(kl__edit *edit, const kl__sim_kind *kind,
                             const kl__node *list);
/* True if an object is in the scopes of a quota with that spec. */
bool kl__sim_quota_selects(const kl__node *spec, const kl__sim_kind *kind,
                           const kl__node *object);
/* The usage of an object. A list of `edit`; NULL: out of memory. */
kl__node *kl__sim_quota_usage(kl__edit *edit, const kl__sim_kind *kind,
                              const kl__node *object);

#endif
