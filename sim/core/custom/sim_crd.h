/*
 * sim_crd.h - CustomResourceDefinitions: objects that define new kinds. Their
 * controller accepts the names of a kind, serves the kind, and removes its
 * objects when the definition is deleted. Here it runs before and after each
 * request; a kube-apiserver's runs a moment later. The cluster's mutex is held.
 */
#ifndef KL_SIM_CRD_H
#define KL_SIM_CRD_H

#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_write.h"

/* The finalizer that keeps a definition until its objects are gone. */
#define KL__SIM_CLEANUP "customresourcecleanup.apiextensions.k8s.io"

/* --- Steps of the controller. They return true if they changed the
 * definition's tree. *failed: out of memory. */

/* Accepts the names; at its next call establishes the
 * definition (it is ready to be served). */
bool kl__sim_crd_accept(kl_sim *sim, kl__edit *edit, bool *failed);

/* Sets a condition. `words`: its type, status, reason and message. */
bool kl__sim_crd_condition(kl_sim *sim, kl__edit *edit,
                           const char *const words[4], bool *failed);
/* True if a condition has that status. */
bool kl__sim_crd_is(const kl__node *root, const char *type, const char *status);

/* --- Steps of a write, called through kl__sim_hooks. */

/* Sets a definition's defaults and status. KL_ENOMEM. */
kl_code kl__sim_crd_complete(kl__sim_write *write, kl_error *err);
/* Checks a definition; adds errors to the write. KL_ENOMEM. */
kl_code kl__sim_crd_validate(kl__sim_write *write, kl_error *err);

#endif
