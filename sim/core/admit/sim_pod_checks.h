/*
 * sim_pod_checks.h - finds what in a pod violates a Pod Security Standard, and
 * says it in kube-apiserver's words. sim_pod_security.c calls it for each pod.
 */
#ifndef KL_SIM_POD_CHECKS_H
#define KL_SIM_POD_CHECKS_H

#include "sim/core/admit/sim_pod_policy.h"

/* Appends what a policy forbids in a pod (or template): short ("privileged,
 * hostPort") to `reasons`, and in full ("privileged (container "a" must not set
 * ...), ...") to `details`. Appends nothing if all is allowed. When memory runs
 * out, both buffers keep the failure. `scratch` owns the texts that the checks
 * make. */
void kl__pod_check(const kl__node *pod, kl__pod_policy policy,
                   kl__edit *scratch, kl__buf *reasons, kl__buf *details);

#endif
