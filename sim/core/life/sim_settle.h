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
/* --- Called through kl__sim_hooks. -----------------------------------------
 */

/* Called when a definition gets a new state: lets the controller of definitions
 * run at the next kl__sim_crd_settle. */
kl_code kl__sim_crd_apply(kl_sim *sim, const kl__sim_state *state,
                          kl_error *err);
/* Called when a definition is removed: removes its custom objects, and stops
 * serving their resource. KL_ENOMEM. */
kl_code kl__sim_crd_withdraw(kl_sim *sim, const char *name, kl_error *err);
/* Adds the finalizer that keeps a definition until its custom objects are
 * gone, to the tree of a definition that is being deleted. KL_ENOMEM. */
kl_code kl__sim_crd_guard(kl_sim *sim, kl__edit *edit, kl_error *err);
/* sim_namespace_life.c: true if the controller of namespaces must act when the
 * object of this state is removed. */
bool kl__sim_namespace_minds(kl_sim *sim, const kl__sim_kind *kind,
                             const kl__sim_state *state);

#endif
