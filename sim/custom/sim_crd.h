/*
 * sim_crd.h - CustomResourceDefinitions: what a write makes of them, and their
 * life. A controller accepts their names, serves them, and ends them; it works
 * when requests are answered, as kube-apiserver's work a moment later. The
 * cluster's mutex is held.
 */
#ifndef KL_SIM_CRD_H
#define KL_SIM_CRD_H

#include "sim/store/sim_compose.h"
#include "sim/write/sim_pipeline.h"
#include "sim/write/sim_write.h"

/* The finalizer that keeps a definition until its objects are gone. */
#define KL__SIM_CLEANUP "customresourcecleanup.apiextensions.k8s.io"

/* --- The controller's steps: whether one changed the definition's tree. With
 * `*failed`, there was no memory. -------------------------------------------
 */

/* sim_crd_names.c: accepts its names, where no other has them; then
 * establishes it. */
bool kl__sim_crd_accept(kl_sim *sim, kl__edit *edit, bool *failed);

/* Sets a condition: `words` are its type, status, reason and message. */
bool kl__sim_crd_condition(kl_sim *sim, kl__edit *edit,
                           const char *const words[4], bool *failed);
/* Whether a condition has that status. */
bool kl__sim_crd_is(const kl__node *root, const char *type, const char *status);

#endif
