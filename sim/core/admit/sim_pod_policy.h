/*
 * sim_pod_policy.h - reads the labels by which a namespace asks for a Pod
 * Security Standard (KEP-2579): "pod-security.kubernetes.io/enforce:
 * restricted".
 */
#ifndef KL_SIM_POD_POLICY_H
#define KL_SIM_POD_POLICY_H

#include "base/buf.h"
#include "sim/core/json/edit.h"
#include "sim/core/schema/field_errors.h"

#include <limits.h>

/* From the least to the most strict. */
typedef enum kl__pod_level {
    KL__POD_PRIVILEGED,
    KL__POD_BASELINE,
    KL__POD_RESTRICTED
} kl__pod_level;

#define KL__POD_LATEST INT64_MAX

/* A level, as it was defined in a minor version of Kubernetes. */
typedef struct kl__pod_policy {
    kl__pod_level level;
    int64_t minor;
} kl__pod_policy;

typedef struct kl__pod_policies {
    kl__pod_policy enforce;
    kl__pod_policy warn;
} kl__pod_policies;

/* Reads labels (NULL: none). Each invalid value is added to `errors`; then an
 * invalid level to enforce counts as the strictest, and an invalid version as
 * the latest. */
kl__pod_policies kl__pod_policies_of(const kl__node *labels,
                                     kl__field_errors *errors);

bool kl__pod_policy_equal(kl__pod_policy a, kl__pod_policy b);

/* Appends "restricted:latest". */
void kl__pod_policy_put(kl__buf *out, kl__pod_policy policy);

#endif
