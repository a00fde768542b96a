/*
 * sim_pod_checks.h - what a pod has or lacks that the Pod Security Standards
 * do not allow, in the words of kube-apiserver.
 */
#ifndef KL_SIM_POD_CHECKS_H
#define KL_SIM_POD_CHECKS_H

#include "sim/admit/sim_pod_policy.h"

/* Appends what a policy forbids in a pod, or in a template of one:
 * "privileged, hostPort" to `reasons`, and with what is meant, "privileged
 * (container "a" must not set ...), ..." to `details`; nothing, if all is
 * allowed. Out of memory sticks in both. `scratch` gets texts. */
void kl__pod_check(const kl__node *pod, kl__pod_policy policy,
                   kl__edit *scratch, kl__buf *reasons, kl__buf *details);

#endif
