/*
 * sim_pod_policy.h - the Pod Security Standards that a namespace asks for by
 * its labels (KEP-2579): "pod-security.kubernetes.io/enforce: restricted".
 */
#ifndef KL_SIM_POD_POLICY_H
#define KL_SIM_POD_POLICY_H

#include "base/buf.h"
#include "sim/json/edit.h"
#include "sim/schema/field_errors.h"

#include <limits.h>

/* From the least strict to the strictest. */
typedef enum kl__pod_level {
    KL__POD_PRIVILEGED,
    KL__POD_BASELINE,
    KL__POD_RESTRICTED
} kl__pod_level;

#define KL__POD_LATEST INT64_MAX

/* What is asked of pods, as it was in a minor version of Kubernetes. */
typedef struct kl__pod_policy {
    kl__pod_level level;
    int64_t minor;
} kl__pod_policy;

typedef struct kl__pod_policies {
    kl__pod_policy enforce;
    kl__pod_policy warn;
} kl__pod_policies;

/* What labels (NULL: none) say. A value that is none counts as the strictest
 * where it is enforced, and is added to `errors`. */
kl__pod_policies kl__pod_policies_of(const kl__node *labels,
                                     kl__field_errors *errors);

bool kl__pod_policy_equal(kl__pod_policy a, kl__pod_policy b);

/* Appends "restricted:latest". */
void kl__pod_policy_put(kl__buf *out, kl__pod_policy policy);

#endif
