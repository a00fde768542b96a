/*
 * sim_admit.h - the admission plugins that a kube-apiserver has on by default:
 * checks of a write that may also set defaults in the object. The stages of
 * sim_admit.c call them. The cluster's mutex is held. Each returns KL_OK, also
 * if it has refused the write (the answer then has the refusal); or KL_ENOMEM.
 */
#ifndef KL_SIM_ADMIT_H
#define KL_SIM_ADMIT_H

#include "sim/core/write/sim_pipeline.h"

/* Answers 403: `RESOURCE "NAME" is forbidden: WHY`. */
kl_code kl__sim_admit_forbid(kl__sim_write *write, const char *why,
                             kl_error *err);

/* --- Before the object is prepared and validated. ------------------------- */

/* NodeTaint: taints a new Node as not ready, so that no pod runs on it yet. */
kl_code kl__sim_admit_node(kl__sim_write *write, kl_error *err);
/* Priority: sets spec.priority of a pod to the value of its PriorityClass. */
kl_code kl__sim_admit_priority(kl__sim_write *write, kl_error *err);
/* Priority: only one class can be the default. (This one runs after
 * validation.) */
kl_code kl__sim_admit_default_class(kl__sim_write *write, kl_error *err);
/* DefaultTolerationSeconds: lets pods stay on a failing node for 300 s. */
kl_code kl__sim_admit_tolerations(kl__sim_write *write, kl_error *err);
/* DefaultStorageClass: sets the class of a claim that names none. */
kl_code kl__sim_admit_storage_class(kl__sim_write *write, kl_error *err);
/* StorageObjectInUseProtection: adds a finalizer to new claims and volumes, so
 * that they are not removed while in use. */
kl_code kl__sim_admit_protection(kl__sim_write *write, kl_error *err);
/* DefaultIngressClass: sets the class of an Ingress that names none. */
kl_code kl__sim_admit_ingress_class(kl__sim_write *write, kl_error *err);
/* RuntimeClass: sets a pod's overhead, node selector and tolerations. */
kl_code kl__sim_admit_runtime(kl__sim_write *write, kl_error *err);

/* --- After validation. ---------------------------------------------------- */

/* PersistentVolumeClaimResize: refuses growth of claims whose class does not
 * allow it. */
kl_code kl__sim_admit_resize(kl__sim_write *write, kl_error *err);

/* --- Stages of a write, called through kl__sim_hooks. KL_ENOMEM. */

/* sim_admit.c: admission: sets fields and refuses objects. */
kl_code kl__sim_admit(kl__sim_write *write, kl_error *err);
/* sim_admit.c: admission that comes after validation. */
kl_code kl__sim_admit_valid(kl__sim_write *write, kl_error *err);

#endif
