/*
 * sim_admit.h - admission: what the plugins that a kube-apiserver has on by
 * default set in objects, and what they do not let in. The cluster's mutex is
 * held. Each returns KL_OK, also where it refused; KL_ENOMEM.
 */
#ifndef KL_SIM_ADMIT_H
#define KL_SIM_ADMIT_H

#include "sim/write/sim_pipeline.h"

/* 403 of an object: `RESOURCE "NAME" is forbidden: WHY`. */
kl_code kl__sim_admit_forbid(kl__sim_write *write, const char *why,
                             kl_error *err);

/* --- Before the object is prepared and validated. ------------------------- */

/* LimitRanger: requests and limits that containers do not name. */
kl_code kl__sim_limits_default(kl__sim_write *write, kl_error *err);
/* NodeTaint: nobody is to run on a new Node that nobody has seen ready. */
kl_code kl__sim_admit_node(kl__sim_write *write, kl_error *err);
/* Priority: the number of a pod's class. */
kl_code kl__sim_admit_priority(kl__sim_write *write, kl_error *err);
/* Priority: one class is that of pods without any. */
kl_code kl__sim_admit_default_class(kl__sim_write *write, kl_error *err);
/* DefaultTolerationSeconds: pods stay 300 s on a node that is in trouble. */
kl_code kl__sim_admit_tolerations(kl__sim_write *write, kl_error *err);
/* DefaultStorageClass: the class of a claim that names none. */
kl_code kl__sim_admit_storage_class(kl__sim_write *write, kl_error *err);
/* StorageObjectInUseProtection: finalizers of claims and volumes. */
kl_code kl__sim_admit_protection(kl__sim_write *write, kl_error *err);
/* DefaultIngressClass: the class of an Ingress that names none. */
kl_code kl__sim_admit_ingress_class(kl__sim_write *write, kl_error *err);
/* RuntimeClass: what it takes to run a pod, and where it may run. */
kl_code kl__sim_admit_runtime(kl__sim_write *write, kl_error *err);
/* sim_escalation.c: roles and bindings that give more than who writes them has,
 * where RBAC decides. A real server's storage of roles asks, after admission.
 */
kl_code kl__sim_admit_rights(kl__sim_write *write, kl_error *err);

/* --- After it was found valid. -------------------------------------------- */

/* LimitRanger: what is less or more than a namespace allows. */
kl_code kl__sim_limits_check(kl__sim_write *write, kl_error *err);
/* PodSecurity: pods that the labels of their namespace do not allow. */
kl_code kl__sim_admit_pod_security(kl__sim_write *write, kl_error *err);
/* PersistentVolumeClaimResize: claims of classes that cannot grow. */
kl_code kl__sim_admit_resize(kl__sim_write *write, kl_error *err);
/* ResourceQuota: what exceeds a quota, which counts what does not. */
kl_code kl__sim_quota_charge(kl__sim_write *write, kl_error *err);

#endif
