/*
 * sim_settle.h - runs the controllers. A write leaves chores, work for a
 * controller (store/sim_chores.h). Chores are carried out after the answer to
 * the write was made and before the next request: the answer shows the object
 * before the controllers change it, as in a cluster. The cluster's mutex is
 * held.
 */
#ifndef KL_SIM_SETTLE_H
#define KL_SIM_SETTLE_H

#include "sim/core/store/sim_chores.h"

/* Carries out all chores, also those that chores leave. KL_ENOMEM: the rest
 * waits for the next call. */
kl_code kl__sim_settle(kl_sim *sim, kl_error *err);

/* sim_boot.c: makes the objects that every cluster begins with. KL_ENOMEM. */
kl_code kl__sim_boot(kl_sim *sim, kl_error *err);

/* --- The controllers. KL_ENOMEM. ------------------------------------------ */

/* sim_gc.c: looks at the owners of an object; at the dependents of a deleted
 * owner; at an owner that waits for its dependents. */
kl_code kl__sim_gc_owners(kl_sim *sim, kl__sim_resource *resource,
                          const char *key, kl_error *err);
kl_code kl__sim_gc_gone(kl_sim *sim, const char *uid, kl_error *err);
kl_code kl__sim_gc_finalize(kl_sim *sim, kl__sim_resource *resource,
                            const char *key, kl_error *err);
/* sim_namespace_life.c: fills a new namespace, or empties and removes a deleted
 * one. */
kl_code kl__sim_namespace_settle(kl_sim *sim, const char *name, kl_error *err);
/* sim_aggregation.c: updates ClusterRoles that get their rules from others. */
kl_code kl__sim_roles_settle(kl_sim *sim, kl_error *err);
/* sim_protection_life.c: removes the finalizer of deleted claims, volumes and
 * classes of volume attributes that are not used any more. */
kl_code kl__sim_protection_settle(kl_sim *sim, kl_error *err);

#endif
