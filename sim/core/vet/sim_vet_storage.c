/*
 * sim_vet_storage.c - see sim_vet.h: validates PersistentVolumeClaims.
 */
#include "sim/core/vet/sim_vet.h"

#include "sim/core/schema/quantity.h"

#include <string.h>

static const char *const volume_modes[] = {"Block", "Filesystem", NULL};

/* The amount must be more than 0. */
static void check_amount(kl__vet *vet, const char *key, const char *amount)
{
    if (kl__quantity_compare(amount, "0") <= 0) {
        size_t mark = kl__vet_key(vet, key);

        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, amount,
                      "must be greater than zero");
        kl__vet_back(vet, mark);
    }
}

static void check_modes(kl__vet *vet, const kl__node *spec, const char *none)
{
    static const char *const modes[] = {"ReadOnlyMany", "ReadWriteMany",
                                        "ReadWriteOnce", "ReadWriteOncePod",
                                        NULL};
    const kl__node *list = kl__node_get(spec, "accessModes"), *mode;
    kl__node_iter iter = {0};
    bool alone = false, together = false;

    if (kl__node_size(list) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "accessModes", NULL, none);
    }
    while ((mode = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(mode, NULL);

        text = text != NULL ? text : "";
        kl__vet_unsupported(vet, "accessModes", text, modes);
        alone |= strcmp(text, modes[3]) == 0;
        for (size_t i = 0; i < 3; i++) {
            together |= strcmp(text, modes[i]) == 0;
        }
    }
    if (alone && together) {
        kl__vet_fault(vet, KL__FIELD_FORBIDDEN, "accessModes", NULL,
                      "may not use ReadWriteOncePod with other access modes");
    }
}

void kl__vet_claim(kl__vet *vet, const kl__node *object)
{
    const kl__node *spec = kl__node_get(object, "spec");
    const char *storage = kl__node_text(
        kl__node_get(kl__node_get(spec, "resources"), "requests"), "storage");
    size_t mark = kl__vet_into(vet, "spec"), inner;

    if (kl__node_size(kl__node_get(spec, "accessModes")) == 0) {
        check_modes(vet, spec, "at least 1 access mode is required");
        kl__vet_selector(vet, spec, "selector");
    } else {
        kl__vet_selector(vet, spec, "selector");
        check_modes(vet, spec, "");
    }
    if (storage == NULL) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, "resources[storage]", NULL, "");
    } else {
        inner = kl__vet_into(vet, "resources");
        check_amount(vet, "storage", storage);
        kl__vet_back(vet, inner);
    }
    kl__vet_subdomain(vet, spec, "storageClassName");
    kl__vet_enum(vet, spec, "volumeMode", volume_modes);
    kl__vet_subdomain(vet, spec, "volumeAttributesClassName");
    kl__vet_back(vet, mark);
}
