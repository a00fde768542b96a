/*
 * sim_vet_endpoints.c - see sim_vet.h: validates EndpointSlices.
 */
#include "sim/core/vet/sim_vet.h"

#include <string.h>

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

/* Checks one address of a slice, element `index` of its list; `type` is the
 * slice's addressType. */
static void check_typed(kl__vet *vet, const char *type, const char *text,
                        size_t index)
{
    bool is_six = strchr(text, ':') != NULL;
    size_t mark = kl__vet_at(vet, index);
    bool is_one;

    if (strcmp(type, "FQDN") == 0) {
        kl__vet_dns(vet, NULL, text);
        kl__vet_back(vet, mark);
        return;
    }
    is_one = kl__vet_address(vet, NULL, text);
    kl__vet_back(vet, mark);
    if (!is_one) {
        return;
    }
    if (is_six != (strcmp(type, "IPv6") == 0)) {
        kl__vet_fault(vet, KL__FIELD_INVALID, NULL, text,
                      is_six ? "must be an IPv4 address"
                             : "must be an IPv6 address");
    }
}

/* --- Slices. -------------------------------------------------------------- */

static void check_endpoint(kl__vet *vet, const kl__node *endpoint,
                           const char *type)
{
    const kl__node *list = kl__node_get(endpoint, "addresses"), *address;
    size_t outer = kl__vet_into(vet, "addresses"), index = 0;
    kl__node_iter iter = {0};

    if (kl__node_size(list) == 0) {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, NULL, NULL,
                      "must contain at least 1 address");
    }
    while ((address = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(address, NULL);

        check_typed(vet, type, text != NULL ? text : "", index++);
    }
    kl__vet_back(vet, outer);
    kl__vet_subdomain(vet, endpoint, "nodeName");
    kl__vet_label(vet, endpoint, "hostname");
}

static void check_ports(kl__vet *vet, const kl__node *object)
{
    const kl__node *list = kl__node_get(object, "ports"), *port;
    size_t outer = kl__vet_into(vet, "ports"), index = 0;
    kl__node_iter iter = {0};
    kl__map seen = {0};

    while ((port = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        kl__vet_label(vet, port, "name");
        kl__vet_unique(vet, &seen, "name", kl__vet_text(port, "name"));
        kl__vet_enum(vet, port, "protocol", protocols);
        if (kl__node_get(port, "appProtocol") != NULL) {
            kl__vet_qualified(vet, "appProtocol",
                              kl__vet_text(port, "appProtocol"));
        }
        kl__vet_back(vet, mark);
    }
    kl__map_deinit(&seen);
    kl__vet_back(vet, outer);
}

void kl__vet_slice(kl__vet *vet, const kl__node *object)
{
    static const char *const types[] = {"FQDN", "IPv4", "IPv6", NULL};
    const char *type = kl__vet_text(object, "addressType");
    const kl__node *list = kl__node_get(object, "endpoints"), *endpoint;
    kl__node_iter iter = {0};
    size_t outer, index = 0;

    if (!kl__vet_required(vet, object, "addressType")) {
        return;
    }
    kl__vet_unsupported(vet, "addressType", type, types);
    check_ports(vet, object);
    outer = kl__vet_into(vet, "endpoints");
    while ((endpoint = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        size_t mark = kl__vet_at(vet, index++);

        check_endpoint(vet, endpoint, type);
        kl__vet_back(vet, mark);
    }
    kl__vet_back(vet, outer);
}
