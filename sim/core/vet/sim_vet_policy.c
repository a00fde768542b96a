/*
 * sim_vet_policy.c - see sim_vet.h: validates Leases, PodDisruptionBudgets and
 * HorizontalPodAutoscalers, without the metrics and behavior of these.
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

/* ---- HorizontalPodAutoscalers ---- */

/* Checks the reference to the object that is scaled. */
static void check_target(kl__vet *vet, const kl__node *spec)
{
    const kl__node *target = kl__node_get(spec, "scaleTargetRef");
    const char *version = kl__vet_text(target, "apiVersion");
    size_t mark = kl__vet_into(vet, "scaleTargetRef");

    kl__vet_required(vet, target, "kind");
    kl__vet_required(vet, target, "name");
    if (strchr(version, '/') == NULL &&
        strcmp(kl__vet_text(target, "kind"), "ReplicationController") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "apiVersion", version,
                      "apiVersion must specify API group");
    }
    kl__vet_back(vet, mark);
}

void kl__vet_autoscaler(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec");
    const kl__node *least = kl__node_get(spec, "minReplicas");
    const kl__node *most = kl__node_get(spec, "maxReplicas");
    int64_t number = kl__node_integer(most);
    size_t mark = kl__vet_into(vet, "spec");
    kl__edit *edit = kl__edit_new(NULL);

    if (edit == NULL) {
        vet->errors->failed = true;
    } else if (most == NULL) {
        most = kl__edit_integer(edit, 0);
    }
    if (least != NULL && kl__node_integer(least) < 1) {
        kl__vet_value(vet, KL__FIELD_INVALID, "minReplicas", least,
                      "must be greater than or equal to 1");
    }
    if (number == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "maxReplicas", NULL,
                      "must be set and greater than 0");
    } else if (number < 0) {
        kl__vet_value(vet, KL__FIELD_INVALID, "maxReplicas", most,
                      "must be greater than or equal to 1");
    }
    if (least != NULL && number < kl__node_integer(least)) {
        kl__vet_value(vet, KL__FIELD_INVALID, "maxReplicas", most,
                      "must be greater than or equal to `minReplicas`");
    }
    check_target(vet, spec);
    kl__edit_free(edit);
    kl__vet_back(vet, mark);
}
