/*
 * sim_vet_policy.c - see sim_vet.h: validates Leases and
 * PodDisruptionBudgets.
 */
#include "sim/core/vet/sim_vet.h"

#include "base/mem.h"

#include <string.h>

void kl__vet_lease(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec");
    const kl__node *duration = kl__node_get(spec, "leaseDurationSeconds");
    size_t mark = kl__vet_into(vet, "spec");

    if (duration != NULL && kl__node_integer(duration) <= 0) {
        kl__vet_value(vet, KL__FIELD_INVALID, "leaseDurationSeconds", duration,
                      "must be greater than 0");
    }
    kl__vet_not_negative(vet, spec, "leaseTransitions");
    kl__vet_back(vet, mark);
}

void kl__vet_budget(kl__vet *vet, const kl__node *object)
{
    static const char *const policies[] = {"AlwaysAllow", "IfHealthyBudget",
                                           NULL};
    const kl__node *spec = kl__node_get(object, "spec");
    size_t mark = kl__vet_into(vet, "spec");

    if (kl__node_get(spec, "minAvailable") != NULL &&
        kl__node_get(spec, "maxUnavailable") != NULL) {
        kl__vet_value(vet, KL__FIELD_INVALID, NULL, spec,
                      "minAvailable and maxUnavailable cannot be both set");
    }
    kl__vet_percent(vet, spec, "minAvailable");
    kl__vet_percent(vet, spec, "maxUnavailable");
    kl__vet_selector(vet, spec, "selector");
    kl__vet_enum(vet, spec, "unhealthyPodEvictionPolicy", policies);
    kl__vet_back(vet, mark);
}
