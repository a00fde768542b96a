/*
 * sim_quota.h - what objects count for in ResourceQuotas: which resources of a
 * quota are those of a kind, which objects are in its scope, and how much each
 * of them uses. Pure functions on trees that have their defaults.
 */
#ifndef KL_SIM_QUOTA_H
#define KL_SIM_QUOTA_H

#include "sim/json/edit.h"
#include "sim/kinds/sim_kinds.h"

/* Whether objects of a kind count for a resource of quotas. */
bool kl__sim_quota_counts(const kl__sim_kind *kind, const char *resource);
/* Of a list of amounts those that objects of a kind count for. A list of
 * `edit`; NULL: out of memory. */
kl__node *kl__sim_quota_mask(kl__edit *edit, const kl__sim_kind *kind,
                             const kl__node *list);
/* Whether an object of a kind is in the scopes of a quota with that spec. */
bool kl__sim_quota_selects(const kl__node *spec, const kl__sim_kind *kind,
                           const kl__node *object);
/* What an object uses. A list of `edit`; NULL: out of memory. */
kl__node *kl__sim_quota_usage(kl__edit *edit, const kl__sim_kind *kind,
                              const kl__node *object);

#endif
