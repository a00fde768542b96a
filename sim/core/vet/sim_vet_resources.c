/*
 * sim_vet_resources.c - see sim_vet.h: validates requests and limits of
 * containers.
 */
#include "sim/core/vet/sim_vet.h"

#include "sim/core/schema/quantity.h"

#include <stdio.h>
#include <string.h>

static bool is_standard(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 ||
           strcmp(name, "ephemeral-storage") == 0 ||
           strncmp(name, "hugepages-", 10) == 0;
}

static void check_amount(kl__vet *vet, const char *name, const char *text)
{
    size_t mark = kl__vet_key(vet, name);

    if (strchr(name, '/') == NULL && !is_standard(name)) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, name,
                      "must be a standard resource type or fully qualified");
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, name,
                      "must be a standard resource for containers");
    }
    if (kl__quantity_compare(text, "0") < 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, text,
                      "must be greater than or equal to 0");
    }
    kl__vet_back(vet, mark);
}

/* A request must not exceed its limit; for huge pages and extended resources it
 * must equal the limit. */
static void check_limit(kl__vet *vet, const char *name, const char *request,
                        const char *limit)
{
    bool shared = is_standard(name) && strncmp(name, "hugepages-", 10) != 0;
    char why[300];

    if (limit == NULL) {
        return;
    }
    if (shared ? kl__quantity_compare(request, limit) > 0
               : strcmp(request, limit) != 0) {
        snprintf(why, sizeof(why), "must be %s %.100s limit of %.60s",
                 shared ? "less than or equal to" : "equal to", name, limit);
        kl__vet_fault(vet, KL__FIELD_INVALID, "requests", request, why);
    }
}

void kl__vet_resources(kl__vet *vet, const kl__node *resources)
{
    static const char *const lists[] = {"limits", "requests"};
    const kl__node *limits = kl__node_get(resources, "limits");

    for (size_t i = 0; i < 2; i++) {
        const kl__node *list = kl__node_get(resources, lists[i]), *value;
        kl__node_iter iter = {0};
        const char *name;

        while ((value = kl__node_next(list, &iter, &name, NULL)) != NULL) {
            const char *text = kl__node_string(value, NULL);
            size_t mark = kl__vet_into(vet, lists[i]);

            check_amount(vet, name, text != NULL ? text : "");
            kl__vet_back(vet, mark);
            if (i == 1 && text != NULL) {
                check_limit(vet, name, text, kl__node_text(limits, name));
            }
        }
    }
}
