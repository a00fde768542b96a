/*
 * sim_vet_autoscale.c - see sim_vet.h: validates HorizontalPodAutoscalers,
 * without their metrics and behavior.
 */
#include "sim/core/vet/sim_vet.h"

#include <string.h>

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
